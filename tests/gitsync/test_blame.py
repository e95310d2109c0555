"""Who wrote each line, held against what git itself says."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.blame import Line, blame
from gitsync.line_diff import common_lines
from tests.gitsync.tree import TIME, Tree

A, B = "global/knowledge/a.md", "global/superseded/a-1.md"


def lines(*words: str) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


def told(tree: Tree, path: str) -> list[tuple[str, str]]:
    """Return subject and text of each line."""
    found = blame(tree.repo, path)
    assert found is not None
    subjects = dict(line.split(" ", 1) for line in tree.git("log", "--all", "--format=%H %s").splitlines())
    return [(subjects[line.commit].removeprefix("remember: "), line.text.decode()) for line in found]


def as_git_has_it(tree: Tree, path: str) -> list[Line]:
    said = tree.git(
        "-c", "blame.showRoot=true", "blame", "-l", "--root", "--line-porcelain", "main", "--", path
    )
    commits = re.findall(r"^([0-9a-f]{40}) \d+ \d+", said, re.MULTILINE)
    texts = re.findall(r"^\t(.*)$", said, re.MULTILINE)
    return [Line(commit, text.encode()) for commit, text in zip(commits, texts, strict=True)]


def test_lines_keep_their_commit(tree: Tree) -> None:
    """Every line would seem to be written by whoever saved the file last."""
    tree.write({A: lines("one", "two", "three")}, "first", TIME)
    tree.write({B: b"other\n"}, "beside", TIME + 1)
    tree.write({A: lines("zero", "one", "two, mended", "three")}, "second", TIME + 2)
    tree.write({A: lines("zero", "two, mended", "three", "four")}, "third", TIME + 3)
    assert told(tree, A) == [
        ("second", "zero"),
        ("second", "two, mended"),
        ("first", "three"),
        ("third", "four"),
    ]
    assert blame(tree.repo, A) == as_git_has_it(tree, A)


def test_a_file_that_moved(tree: Tree) -> None:
    """What was moved to the archive would seem to be written by the one who moved it."""
    tree.write({A: lines("one", "two")}, "first", TIME)
    tree.write({A: lines("one", "2")}, "second", TIME + 1)
    tree.write({A: None, B: lines("one", "2")}, "moved", TIME + 2)
    tree.write({B: lines("one", "2", "3")}, "third", TIME + 3)
    assert told(tree, B) == [("first", "one"), ("second", "2"), ("third", "3")]
    assert blame(tree.repo, A) is None


def test_both_sides_of_a_merge(tree: Tree) -> None:
    """After a sync every line of the other machine would seem to be written by the sync."""
    tree.write({A: lines("one", "two", "three", "four")}, "first", TIME)
    tree.git("checkout", "-qb", "side")
    tree.edit(A, lines("one", "two", "three", "four", "theirs"))
    tree.git("commit", "-qam", "side")
    tree.git("checkout", "-q", "main")
    tree.edit(A, lines("ours", "one", "two", "three", "four"))
    tree.git("commit", "-qam", "main")
    tree.git("merge", "-q", "-m", "merge", "side")
    tree.reopen()
    assert told(tree, A) == [
        ("main", "ours"),
        ("first", "one"),
        ("first", "two"),
        ("first", "three"),
        ("first", "four"),
        ("side", "theirs"),
    ]


def test_files_that_arent_text(tree: Tree) -> None:
    """A stray byte would make the whole answer fail."""
    tree.write({A: b"a\0b\r\nc\xff"}, "first", TIME)
    found = blame(tree.repo, A)
    assert found and [line.text for line in found] == [b"a\0b\r", b"c\xff"]
    tree.write({A: b""}, "emptied", TIME + 1)
    assert blame(tree.repo, A) == []


WORDS = st.lists(st.sampled_from("abc"), max_size=8)


@settings(max_examples=50, deadline=None)
@given(old=WORDS, new=WORDS, ends=st.tuples(st.booleans(), st.booleans()))
def test_common_lines(old: list[str], new: list[str], ends: tuple[bool, bool]) -> None:
    """A line would be ascribed to the commit of another one."""
    texts = [lines(*words)[: None if end else -1] for words, end in zip((old, new), ends, strict=True)]
    parts = [text.splitlines(keepends=True) for text in texts]
    reached = [0, 0]
    for at_old, at_new, count in common_lines(*texts):
        assert count and at_old >= reached[0] and at_new >= reached[1]
        assert parts[0][at_old : at_old + count] == parts[1][at_new : at_new + count]
        reached = [at_old + count, at_new + count]
    if texts[0] == texts[1]:
        assert reached == [len(parts[0])] * 2


def test_a_megabyte_of_equal_lines() -> None:
    """A file like that would keep the daemon busy for minutes."""
    text = b"same\n" * 200_000
    assert list(common_lines(text, b"x\n" + text + b"y\n")) == [(0, 1, 200_000)]


@pytest.mark.parametrize("seed", range(3))
def test_as_git_tells_it(tmp_path: Path, seed: int) -> None:
    """What we say of a line and what `git blame` says would be two things."""
    chance = random.Random(seed)
    tree = Tree(tmp_path / "tree", tmp_path)
    held = [f"line {number}" for number in range(6)]
    for step in range(12):
        for _ in range(chance.randrange(1, 3)):
            place = chance.randrange(len(held) + 1)
            held[place : place + chance.randrange(2)] = [f"step {step} {chance.random()}"]
        tree.write({A: lines(*held)}, f"step {step}", TIME + step)
    assert blame(tree.repo, A) == as_git_has_it(tree, A)
