"""Blobs, trees and commits made from bytes are the ones that git and dulwich would make."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest
from dulwich.index import commit_tree
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.errors import Damaged
from gitsync.objects import EMPTY_TREE, Objects, blob_id

NAMES = st.sampled_from(["a", "b", "a.md", "a-b", "a0", "inbox", "2026-10", "Übung", "x y", "100644 a"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
EDITS = st.dictionaries(PATHS, st.one_of(st.none(), st.binary(max_size=3)), max_size=6)


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> pygit2.Repository:
    return pygit2.init_repository(tmp_path_factory.mktemp("objects"))


def after(files: dict[str, bytes], edits: dict[str, bytes | None]) -> dict[str, bytes] | None:
    """Return the files after `edits`; None when a file and a folder would have one name."""
    files = {path: data for path, data in (files | edits).items() if data is not None}
    clash = any(other.startswith(path + "/") for path in files for other in files)
    return None if clash else files


@settings(max_examples=60)
@given(st.lists(EDITS, min_size=1, max_size=4))
def test_trees_are_those_of_another_implementation(
    git: pygit2.Repository, changes: list[dict[str, bytes | None]]
) -> None:
    """git would call a tree corrupt, or a folder's files be missing from it, after some edit."""
    objects, files, tree = Objects(git), dict[str, bytes](), EMPTY_TREE
    for edits in changes:
        expected = after(files, edits)
        if expected is None:
            continue
        files = expected
        tree = objects.add_tree(
            tree, {path: None if data is None else objects.add_blob(data) for path, data in edits.items()}
        )
        store = MemoryObjectStore()
        blobs = []
        for path, data in files.items():
            blob = Blob.from_string(data)
            store.add_object(blob)
            blobs.append((path.encode(), blob.id, 0o100644))
        assert tree == commit_tree(store, blobs).decode()
        assert {path: objects.read(oid) for path, _, oid in objects.files(tree)} == files
        for path, data in files.items():
            assert objects.blob_at(tree, path) == blob_id(data)
        assert objects.blob_at(tree, "none") is None


@settings(max_examples=40)
@given(EDITS, EDITS)
def test_differences_are_what_differs(
    git: pygit2.Repository, first: dict[str, bytes | None], second: dict[str, bytes | None]
) -> None:
    """A changed path would be missing from history, or a waiting commit be replayed in part."""
    objects = Objects(git)
    old, new = after({}, first), after(after({}, first) or {}, second)
    if old is None or new is None:
        return
    trees = [
        objects.add_tree(None, {path: objects.add_blob(data) for path, data in files.items()})
        for files in (old, new)
    ]
    found = {path: (was, now) for path, was, now in objects.differences(*trees)}
    assert found == {
        path: tuple(blob_id(side[path]) if path in side else None for side in (old, new))
        for path in old.keys() | new.keys()
        if old.get(path) != new.get(path)
    }
    assert list(objects.differences(*trees)) == sorted(objects.differences(*trees))


def test_more_folders_than_are_kept_in_memory(
    git: pygit2.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A very long chain of commits would fail in the middle."""
    monkeypatch.setattr("gitsync.objects._FOLDERS_KEPT", 3)
    objects, tree = Objects(git), EMPTY_TREE
    for number in range(9):
        tree = objects.add_tree(tree, {f"{number}/x/y": objects.add_blob(b"%d" % number)})
    tree = objects.add_tree(tree, {f"{number}/x/y": None for number in range(9)})
    assert tree == EMPTY_TREE
    assert list(objects.files(tree)) == []


def test_a_file_takes_the_place_of_a_folder_and_back(git: pygit2.Repository) -> None:
    """A tree with a file and a folder of one name would be written, which git refuses to check out."""
    objects = Objects(git)
    blob = objects.add_blob(b"x")
    tree = objects.add_tree(None, {"a/b": blob, "a/c": blob})
    tree = objects.add_tree(tree, {"a": blob})
    assert [path for path, _, _ in objects.files(tree)] == ["a"]
    tree = objects.add_tree(tree, {"a/d/e": blob})
    assert [path for path, _, _ in objects.files(tree)] == ["a/d/e"]
    assert objects.add_tree(tree, {"a": None}) == tree, "removing a file must not remove a folder"


def test_a_name_inside_another_name_is_not_found(git: pygit2.Repository) -> None:
    """The history of `bar` would show that of a file called `x 100644 bar`."""
    objects = Objects(git)
    blob = objects.add_blob(b"x")
    tree = objects.add_tree(None, {"x 100644 bar": blob, "zz/y": blob})
    assert objects.child(tree, "bar") is None
    assert objects.child(tree, "x 100644 bar") == blob
    assert objects.child(tree, "zz") == objects.folder(tree).find("zz", folder=True)
    assert objects.folder(tree).find("zz", folder=False) is None


@pytest.mark.parametrize(
    "broken", [b"100644 a", b"100644 a\0short", b"no nul at all", b"100644\0" + bytes(20)]
)
def test_a_malformed_tree_is_damage(git: pygit2.Repository, broken: bytes) -> None:
    """A tree that some program wrote wrongly would hang or crash every read."""
    objects = Objects(git)
    objects.fresh["1" * 40] = (b"tree", broken)
    with pytest.raises(Damaged, match="malformed"):
        objects.folder("1" * 40)


def test_a_missing_or_wrong_object_is_damage(git: pygit2.Repository) -> None:
    """A missing object would surface as an error that nobody understands."""
    objects = Objects(git)
    with pytest.raises(Damaged, match=f"git object {'2' * 40} can't be read"):
        objects.read("2" * 40)
    with pytest.raises(Damaged, match="isn't a commit"):
        objects.commit(objects.add_blob(b"tree x\n\nno"))


def test_a_commit_reads_back(git: pygit2.Repository, tmp_path: Path) -> None:
    """Author, time or message of a waiting commit would change when it is finally made."""
    objects = Objects(git)
    author = b"A \xff <a@b> 5 +0200"
    oid = objects.add_commit(EMPTY_TREE, (), author, b"C <c@d> 7 +0000", b"subject\n\nbody\n")
    commit = objects.commit(oid)
    assert (commit.tree, commit.parents, commit.author, commit.time) == (EMPTY_TREE, (), author, 7)
    assert (commit.subject, commit.message) == ("subject", b"subject\n\nbody\n")
    child = objects.add_commit(EMPTY_TREE, (oid,), author, b"C <c@d> 8 +0000", b"next\n")
    assert [one.id for one in objects.first_parents(child, None)] == [oid, child]
    assert objects.first_parents(child, child) == []
    with pytest.raises(Damaged, match="doesn't descend"):
        objects.first_parents(oid, child)
