"""The tree as it was at a time and in a commit, and what differs between two."""

from __future__ import annotations

import pytest

from gitsync.line_diff import unified
from gitsync.snapshot import Difference, changes, commit_at, files_at
from tests.gitsync.tree import TIME, Tree

A, B = "global/knowledge/a.md", "projects/x/rules/b.md"


@pytest.fixture
def commits(tree: Tree) -> list[str]:
    """Three commits, ten seconds apart."""
    tree.write({A: b"1\n"}, "first", TIME)
    tree.write({A: b"2\n", B: b"b\n"}, "second", TIME + 10)
    tree.write({A: None}, "third", TIME + 20)
    return tree.git("log", "--format=%H", "--reverse").split()


def test_newest_commit_of_a_time(tree: Tree, commits: list[str]) -> None:
    """Yesterday's memory would be that of another day."""
    for time, expected in ((-1, None), (0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (10**6, 2)):
        assert commit_at(tree.repo, TIME + time) == (None if expected is None else commits[expected])


def test_time_within_a_merged_history(tree: Tree, commits: list[str]) -> None:
    """The memory of then would be a state that this machine never was in."""
    tree.git("checkout", "-qb", "side", commits[0])
    tree.edit("side.md", b"side\n")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "side", GIT_COMMITTER_DATE=f"{TIME + 15} +0000")
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-qm", "merge", "side", GIT_COMMITTER_DATE=f"{TIME + 30} +0000")
    tree.reopen()
    assert commit_at(tree.repo, TIME + 16) == commits[1]
    assert commit_at(tree.repo, TIME + 30) == tree.git("rev-parse", "main")


def test_nothing_was_committed(tree: Tree) -> None:
    """A new memory would answer with an error."""
    assert commit_at(tree.repo, TIME) is None


def test_files_of_a_folder(tree: Tree, commits: list[str]) -> None:
    """A store as it was would lack files, or hold those of another one."""
    assert list(files_at(tree.repo, commits[1], "global")) == [(A, b"2\n")]
    assert list(files_at(tree.repo, commits[1], "")) == [(A, b"2\n"), (B, b"b\n")]
    assert list(files_at(tree.repo, commits[2], "global")) == []


def test_links_arent_files(tree: Tree, commits: list[str]) -> None:
    """Where a link leads would be taken for a text."""
    (tree.root / "global").mkdir(exist_ok=True)
    (tree.root / "global" / "link.md").symlink_to("/etc/passwd")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "link")
    tree.reopen()
    assert list(files_at(tree.repo, tree.git("rev-parse", "main"), "global")) == []


def test_differences(tree: Tree, commits: list[str]) -> None:
    """What became of a file between two commits would be told wrong."""
    one, two = (tree.git("rev-parse", f"{commit}:{A}") for commit in commits[:2])
    assert changes(tree.repo, commits[0], commits[1], "global") == [Difference(A, one, two)]
    assert changes(tree.repo, commits[1], commits[2]) == [Difference(A, two, None)]
    assert changes(tree.repo, None, commits[0]) == [Difference(A, None, one)]
    assert changes(tree.repo, commits[0], commits[2], "projects/x/rules") == [
        Difference(B, None, tree.git("rev-parse", f"{commits[1]}:{B}"))
    ]


def test_unified_diff_can_be_applied(tree: Tree) -> None:
    """A diff that is shown couldn't be used with `patch` or `git apply`."""
    before = "".join(f"line {n}\n" for n in range(20)).encode()
    after = before.replace(b"line 3\n", b"").replace(b"line 15\n", b"line 15\r\nmore\n") + b"no end"
    tree.edit("a.md", before)
    text = unified("a.md", before, after)
    assert text and text.startswith("--- a/a.md\n+++ b/a.md\n@@ ")
    (tree.root / "change.patch").write_text(text, newline="")
    tree.git("apply", "--whitespace=nowarn", "change.patch")
    assert tree.read("a.md") == after


def test_unified_diff_of_a_whole_file() -> None:
    """A file that came or went would be shown as if it had been changed."""
    assert unified("a.md", None, b"x\n") == "--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+x\n"
    assert unified("a.md", b"x\n", None) == "--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert unified("a.md", b"", None) == "--- a/a.md\n+++ /dev/null\n"
    assert unified("a.md", b"a\0", b"b") is None
