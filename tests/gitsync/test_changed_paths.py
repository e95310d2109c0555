"""What each commit changed, worked out, kept and read again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.changed_paths import FILE, Changed, keep_up, past
from gitsync.maintenance import pack
from gitsync.objects import Objects
from tests.gitsync.tree import TIME, Tree


@pytest.fixture
def kept(tree: Tree) -> Path:
    return Path(tree.repo.scratch) / FILE


def as_git_has_it(tree: Tree) -> list[Changed]:
    found = []
    for line in tree.git("log", "--date-order", "--format=%H %ct %P").splitlines():
        commit, time, *parents = line.split()
        before = parents[:1] or ["4b825dc642cb6eb9a060e54bf8d69288fbee4904"]
        paths = tree.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", *before, commit)
        found.append(Changed(commit, int(time), tuple(parents), tuple(paths.rstrip("\0").split("\0"))))
    return found


def test_as_git_tells_it(tree: Tree, kept: Path) -> None:
    """A commit would be missing in a history, or stand in another's."""
    many = {f"global/knowledge/inbox/2026-01/fact-{n:03}-100644 x.md": b"%d" % n for n in range(300)}
    tree.write(many, "many", TIME)
    tree.write({"global/knowledge/inbox/2026-01/fact-150.md": b"new"}, "one", TIME + 1)
    tree.write({"global/knowledge/inbox/2026-01/fact-299-100644 x.md": None, "z": b"z"}, "two", TIME + 2)
    tree.edit("z", None)
    tree.edit("z/a.md", b"folder")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "three")
    tree.reopen()
    tree.write({"global/knowledge/inbox/2026-01/fact-000-100644 x.md": b"changed"}, "four", TIME + 4)
    tree.git("checkout", "-qb", "side", "main~2")
    tree.edit("side.md", b"side")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "side")
    tree.git("checkout", "-q", "main")
    tree.git("merge", "-qm", "merge", "side")
    tree.reopen()
    found = list(past(tree.repo))
    assert sorted(found, key=str) == sorted(as_git_has_it(tree), key=str)
    assert len(kept.read_bytes().splitlines()) == len(found)
    tree.reopen()
    assert list(past(tree.repo)) == found
    pack(tree.repo)
    kept.unlink()
    tree.reopen()
    assert list(past(tree.repo)) == found


def test_what_is_kept_isnt_worked_out_again(tree: Tree, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The history of one fact among ten thousand would take half a minute every time."""
    tree.write({"a.md": b"1"}, "first", TIME)
    tree.write({"a.md": b"2"}, "second", TIME + 1)
    found = list(past(tree.repo))
    tree.write({"a.md": b"3"}, "third", TIME + 2)
    assert next(past(tree.repo)).paths == ("a.md",)
    monkeypatch.setattr(Objects, "commit", None)
    tree.reopen()
    assert list(past(tree.repo))[1:] == found


def test_new_commits_are_worked_out_ahead(tree: Tree, kept: Path) -> None:
    """Whoever asks for history first would wait for what could have been done while nothing else was."""
    keep_up(tree.repo)
    tree.write({"a.md": b"1"}, "first", TIME)
    tree.write({"a.md": b"2"}, "second", TIME + 1)
    keep_up(tree.repo)
    assert len(kept.read_bytes().splitlines()) == 2
    tree.write({"b.md": b"3"}, "third", TIME + 2)
    keep_up(tree.repo)
    keep_up(tree.repo)
    lines = kept.read_bytes().splitlines()
    assert len(lines) == 3 and b'["b.md"]' in lines[-1]


def test_a_kept_file_that_is_damaged(tree: Tree, kept: Path) -> None:
    """A crash while the file was written would make history fail from then on."""
    tree.write({"a.md": b"1"}, "first", TIME)
    tree.write({"a.md": b"2"}, "second", TIME + 1)
    found = list(past(tree.repo))
    whole = kept.read_bytes()
    for damaged in (
        whole[:-30],
        b"\xff" + whole,
        whole.replace(b"\n", b""),
        whole.replace(b",[", b",{"),
        b"",
    ):
        kept.write_bytes(damaged)
        tree.reopen()
        assert list(past(tree.repo)) == found


def test_nothing_can_be_kept(tree: Tree, kept: Path) -> None:
    """History couldn't be read on a disk that is full or read-only."""
    tree.write({"a.md": b"1"}, "first", TIME)
    kept.parent.mkdir(exist_ok=True)
    kept.mkdir()
    assert [changed.paths for changed in past(tree.repo)] == [("a.md",)]


@settings(max_examples=25, deadline=None)
@given(states=st.lists(st.dictionaries(st.integers(0, 60), st.integers(0, 1)), min_size=2, max_size=3))
def test_any_two_folders(tmp_path_factory: pytest.TempPathFactory, states: list[dict[int, int]]) -> None:
    """A change at the edge of what two folders have in common would be overlooked."""
    home = tmp_path_factory.mktemp("states")
    tree = Tree(home / "tree", home)
    held: dict[str, bytes] = {}
    expected = []
    for number, state in enumerate(states):
        after = {f"{'long name ' * 4}{name:02}.md": b"%d" % text for name, text in state.items()}
        changed = sorted(path for path in held.keys() | after.keys() if held.get(path) != after.get(path))
        if changed:
            tree.write({path: after.get(path) for path in changed}, "state", TIME + number)
            expected.insert(0, tuple(changed))
        held = after
    assert [changed.paths for changed in past(tree.repo)] == expected
