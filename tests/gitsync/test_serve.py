"""What another git is offered and told; the packs themselves are made by git, or by dulwich where there is none."""

from __future__ import annotations

import pytest

from gitsync.refs import BRANCH, NO_COMMIT
from gitsync.serve import NotAPush, announced, push_refs, read_push, report, upload_by_library, upload_command
from tests.gitsync.tree import Tree

OLD, NEW = "1" * 40, "2" * 40


def line(text: str) -> bytes:
    data = text.encode()
    return b"%04x" % (len(data) + 4) + data


def test_a_push_is_taken_apart() -> None:
    """A push of the user's own git would be refused, or land something else."""
    body = line(f"{OLD} {NEW} {BRANCH}\0 report-status agent=git/2.39\n") + b"0000" + b"PACK..."
    push = read_push(body)
    assert (push.old, push.new, push.pack) == (OLD, NEW, b"PACK...")
    assert read_push(line(f"{NO_COMMIT} {NEW} {BRANCH}\0\n") + b"0000").old is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"0000",
        b"rubbish",
        b"0004",
        b"ffff0000",
        line(f"{OLD} {NEW} refs/heads/other\0\n") + b"0000",
        line(f"{OLD} {NEW} refs/tags/x\0\n") + b"0000",
        line(f"{OLD} {NO_COMMIT} {BRANCH}\0\n") + b"0000",
        line(f"{OLD} {NEW}\0\n") + b"0000",
        line(f"{OLD} {NEW} {BRANCH}\0\n") + line(f"{OLD} {NEW} refs/heads/other\n") + b"0000",
        line(f"{OLD} {NEW} {BRANCH}\0\n"),
    ],
)
def test_anything_else_is_no_push(body: bytes) -> None:
    """A branch could be deleted, or another one made, by whoever may push."""
    with pytest.raises(NotAPush):
        read_push(body)


def test_a_refusal_is_one_line() -> None:
    """Git would show half of a reason, or take the push for done."""
    assert report(None) == line("unpack ok\n") + line(f"ok {BRANCH}\n") + b"0000"
    assert report("fetch\nfirst") == line("unpack ok\n") + line(f"ng {BRANCH} fetch first\n") + b"0000"


def test_only_the_branch_is_offered(tree: Tree) -> None:
    """Whatever else a person keeps in the repository would be cloned along, or could be pushed to."""
    assert b"capabilities^{}" in push_refs(tree.repo)
    tree.write({"a.md": b"one\n"})
    tree.git("branch", "private")
    tree.git("update-ref", "refs/coffer/x", "HEAD")
    head = tree.git("rev-parse", "HEAD").strip()
    assert f"{head} {BRANCH}\0".encode() in push_refs(tree.repo)
    for answer in (
        b"".join(upload_by_library(tree.repo.root, b"", advertise=True)),
        push_refs(tree.repo),
    ):
        assert head.encode() in answer and b"private" not in answer and b"coffer/x" not in answer
    assert announced("git-upload-pack").endswith(b"0000")
    command = upload_command(tree.repo.folder, advertise=True)
    assert command is not None and "--advertise-refs" in command
