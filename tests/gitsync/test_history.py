"""What was committed, of a path, a folder or the whole tree."""

from __future__ import annotations

from itertools import pairwise

import pytest
from dulwich.repo import Repo as DulwichRepo

from gitsync.commit import commit
from gitsync.errors import UnknownCommit
from gitsync.history import blob_id, deleted_path, history, read_at
from gitsync.repo import Signature
from tests.gitsync.tree import AGENT, TIME, Tree, adopt, step

A, B = "global/knowledge/inbox/2026-10/a.md", "projects/x/rules/b.md"


@pytest.fixture
def told(tree: Tree) -> Tree:
    """A tree with a little past: two facts, an edit, a deletion, and something of the user's."""
    tree.write({A: b"1\n"}, "first", TIME)
    tree.write({B: b"b\n"}, "second", TIME + 1)
    tree.write({A: b"2\n"}, "third", TIME + 2)
    tree.write({A: None, B: b"bb\n"}, "fourth", TIME + 3)
    return tree


def subjects(tree: Tree, *where: str) -> list[str]:
    return [entry.subject.removeprefix("remember: ") for entry in history(tree.repo, *where)]


def test_newest_first_with_everything_told(told: Tree) -> None:
    """The history page would lack who did what, when and to which files."""
    entry = history(told.repo)[0]
    assert entry.commit == told.git("rev-parse", "main")
    assert (entry.time, entry.subject, entry.author) == (TIME + 3, "remember: fourth", AGENT)
    assert entry.trailers == {"Coffer-Op": "remember", "Coffer-Agent": "claude-code"}
    assert entry.paths == (A, B)
    assert subjects(told) == ["fourth", "third", "second", "first"]


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        (A, ["fourth", "third", "first"]),
        ("global", ["fourth", "third", "first"]),
        ("global/", ["fourth", "third", "first"]),
        ("projects/x", ["fourth", "second"]),
        (B, ["fourth", "second"]),
        ("projects/x/rules/b", []),
        ("none/at/all", []),
    ],
)
def test_of_a_path(told: Tree, prefix: str, expected: list[str]) -> None:
    """A fact's history would show other facts' commits, or miss some of its own."""
    assert subjects(told, prefix) == expected
    git = told.git("log", "--format=%s", "main", "--", prefix).splitlines()
    assert [f"remember: {subject}" for subject in expected] == git


def test_paths_are_those_below_the_prefix(told: Tree) -> None:
    """A store's history would name files of other stores."""
    assert history(told.repo, "projects")[0].paths == (B,)


def test_page_by_page(told: Tree) -> None:
    """Going on to the next page would repeat or skip a commit."""
    page = history(told.repo, limit=2)
    rest = history(told.repo, limit=50, before=page[-1].commit)
    assert [entry.subject for entry in page + rest] == [entry.subject for entry in history(told.repo)]
    assert history(told.repo, A, 1, page[0].commit[:10])[0].subject == "remember: third"
    with pytest.raises(UnknownCommit):
        history(told.repo, before="f" * 40)


def test_a_merge_and_both_its_sides(told: Tree) -> None:
    """After a pull the other machine's commits would be missing."""
    told.git("checkout", "-qb", "side", "main~1")
    told.edit("side.md", b"side\n")
    told.git("add", "side.md")
    told.git("commit", "-qm", "side", GIT_COMMITTER_DATE=f"{TIME + 2} +0000")
    told.git("checkout", "-q", "main")
    told.git("merge", "-q", "--no-edit", "side")
    assert subjects(told)[0] == "Merge branch 'side'"
    assert sorted(subjects(told)[1:]) == ["first", "fourth", "second", "side", "third"]
    assert subjects(told, "side.md") == ["side"]
    assert subjects(told, A) == ["fourth", "third", "first"]


def test_read_as_it_was(told: Tree) -> None:
    """Restoring an old version would bring back another, or another file."""
    third, first = (history(told.repo, A)[n].commit for n in (1, 2))
    assert read_at(told.repo, third, A) == b"2\n"
    assert read_at(told.repo, first[:8].upper(), A) == b"1\n"
    assert read_at(told.repo, first, B) is None
    assert read_at(told.repo, first, "global") is None
    blob = told.git("rev-parse", f"main:{B}")
    for unknown in ("", "abc", "main", "HEAD~1", "f" * 40, "0" * 40, "z" * 40, blob, "f" * 41, "../x"):
        with pytest.raises(UnknownCommit) as refused:
            read_at(told.repo, unknown, A)
        assert refused.value.commit == unknown


def test_an_ambiguous_abbreviation_is_unknown(tree: Tree) -> None:
    """Of two commits whose ids begin alike, one would be restored at random."""
    steps = [step({f"{n}.md": b"x"}) for n in range(1000)]  # some two of these begin alike: 1 - e^-7
    ids = sorted(commit(tree.repo, steps, lambda: None, adopt).commits)
    one, two = next((a, b) for a, b in pairwise(ids) if a[:4] == b[:4])
    with pytest.raises(UnknownCommit):
        read_at(tree.repo, one[:4], "0.md")
    assert read_at(tree.repo, one, "0.md") == read_at(tree.repo, two, "0.md") == b"x"


def test_where_a_deleted_file_was(told: Tree) -> None:
    """A fact that was deleted could not be restored by its id."""
    assert deleted_path(told.repo, "global", "a.md") == A
    assert deleted_path(told.repo, "", "/a.md") == A
    assert deleted_path(told.repo, "projects/x", "b.md") == B
    told.write({"projects/x/rules/moved-b.md": b"bb\n", B: None}, "moved")
    assert deleted_path(told.repo, "projects/x", "-b.md") == "projects/x/rules/moved-b.md"
    assert deleted_path(told.repo, "projects/x/", "rules/b.md") == B
    assert deleted_path(told.repo, "projects/y", "b.md") is None
    assert deleted_path(told.repo, "global", "b.md") is None


def test_before_the_first_commit(tree: Tree) -> None:
    """A fresh tree's history page would be an error."""
    assert history(tree.repo) == []
    assert deleted_path(tree.repo, "", "x") is None


def test_strange_messages(tree: Tree) -> None:
    """A commit by the user's own hand would break the history page."""
    messages = [
        "only a subject",
        "a\n\nKey: v\nnot a trailer",
        "b\n\nbody\n\nKey: v\nOther-Key: w: x",
        "Key: v",
    ]
    for number, text in enumerate(messages):
        tree.edit("x.txt", b"%d" % number)
        tree.git("add", "x.txt")
        tree.git("commit", "-qm", text)
    tree.edit("x.txt", b"encoded")
    tree.git("-c", "i18n.commitEncoding=latin1", "commit", "-qam", "caf\udce9", GIT_AUTHOR_NAME="\udce9")
    entries = history(tree.repo)
    assert [dict(entry.trailers) for entry in entries] == [{}, {}, {"Key": "v", "Other-Key": "w: x"}, {}, {}]
    assert entries[0].subject == "caf\N{REPLACEMENT CHARACTER}"
    assert entries[1].author == Signature("Ann", "ann@example.com")


def test_other_commits_are_passed_by_quickly(tree: Tree) -> None:
    """A fact's history would read every tree of the repository."""
    tree.write({A: b"old\n"}, "oldest")
    steps = [step({f"projects/p{n % 7}/2026-{n % 12:02}/{n}.md": b"%d" % n}, "filler") for n in range(1000)]
    assert commit(tree.repo, steps, lambda: None, adopt).pending is None
    reads = []
    original = tree.repo.objects.read
    tree.repo.objects.read = lambda oid: (reads.append(oid), original(oid))[1]  # type: ignore[method-assign]
    assert [entry.subject for entry in history(tree.repo, A)] == ["remember: oldest"]
    assert len(reads) < 3 * 1010, "more than the commit and its root, before and after"


@pytest.mark.report("B55")
def test_dulwich_reads_the_same(told: Tree) -> None:
    """Another program than git and libgit2 could not read the memory."""
    told.write({"global/Über uns 部署.md": b"\xff\x00"}, "bytes", TIME + 9)
    with DulwichRepo(str(told.root)) as repo:
        head = repo[repo.refs[b"refs/heads/main"]]
        entries = [walk.commit for walk in repo.get_walker()]
        assert [commit.id.decode() for commit in entries] == [entry.commit for entry in history(told.repo)]
        assert head.message.decode().startswith("remember: bytes")
        assert (head.author.decode(), head.author_time) == (f"{AGENT.name} <{AGENT.email}>", TIME + 9)
        mode, blob = repo[head.tree].lookup_path(repo.__getitem__, "global/Über uns 部署.md".encode())
        assert (mode, repo[blob].data) == (0o100644, b"\xff\x00")
        assert blob.decode() == blob_id(b"\xff\x00")
        assert {path.decode() for path in repo.open_index()} == {B, "global/Über uns 部署.md"}
