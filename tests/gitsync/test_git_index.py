"""Splicing entries into git's index, and what git says about the result."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

import pytest

from gitsync.errors import Blocked, Damaged
from gitsync.git_index import GitIndex
from gitsync.index_format import Listing, encoded, encoded_entry, parsed, without_trees
from gitsync.objects import blob_id
from tests.gitsync.tree import Tree

FILES = ["a.md", "a/b.md", "a/c/d.md", "a0.md", "long/" + "n" * 200 + ".md", "z/Übung.md"]


@pytest.fixture
def index(tree: Tree) -> GitIndex:
    """The index of a tree whose files git added and committed itself."""
    for path in FILES:
        tree.edit(path, path.encode())
    tree.git("add", "-A")
    tree.git("commit", "-qm", "start")
    return GitIndex(str(tree.root / ".git/index"))


def put(index: GitIndex, tree: Tree, changes: dict[str, bytes | None]) -> None:
    entries: dict[str, bytes | None] = {}
    for path, data in changes.items():
        if data is None:
            entries[path] = None
        else:
            tree.edit(path, data)
            oid = tree.git("hash-object", "-w", "--no-filters", path)
            entries[path] = encoded_entry(path.encode(), 0o100644, oid, os.lstat(tree.root / path))
    assert index.load()
    body, checksum = index.splice(entries)
    written = Path(index.path + ".new")
    written.write_bytes(body + checksum)
    index.install(str(written), checksum)


def listing(tree: Tree) -> list[str]:
    return tree.git("-c", "core.quotePath=false", "ls-files").splitlines()


@pytest.mark.parametrize("version", [2, 3, 4])
def test_reading_and_writing_changes_nothing(index: GitIndex, tree: Tree, version: int) -> None:
    """Some entry of the user's would change by passing through our hands."""
    if version == 3:
        tree.edit("todo.md", b"x")
        tree.git("add", "-N", "todo.md")
    tree.git("update-index", "--index-version", str(version))
    before = tree.git("ls-files", "-s", "--debug"), tree.git("diff", "--cached")
    put(index, tree, {})
    assert (tree.git("ls-files", "-s", "--debug"), tree.git("diff", "--cached")) == before
    data = Path(index.path).read_bytes()
    assert data[7] == (3 if version == 3 else 2)
    assert b"".join(encoded(parsed(data))) == data


def test_set_replace_and_drop(index: GitIndex, tree: Tree) -> None:
    """git would see our files in another order, with another content, or as deleted."""
    put(
        index, tree, {"a.md": b"new", "a/c/a.md": b"added", "zz.md": b"last", "0.md": b"first", "a0.md": None}
    )
    assert listing(tree) == sorted({*FILES, "a/c/a.md", "zz.md", "0.md"} - {"a0.md"})
    assert tree.git("diff", "--name-only") == ""
    oid = tree.git("write-tree")
    assert tree.git("show", f"{oid}:a/c/a.md") == "added"
    assert tree.git("fsck", "--strict", "--no-dangling") == ""
    put(index, tree, {"zz.md": None, "0.md": None, "a/c/a.md": None, "a/c/d.md": None})
    assert "a/c" not in tree.git("ls-tree", "-r", "--name-only", tree.git("write-tree"))


@pytest.mark.parametrize("length", [1, 7, 8, 4094, 4095, 4096, 6000])
def test_names_of_any_length(length: int) -> None:
    """The entries after a very long name would be read from the wrong place."""
    listing = Listing()
    for name in (b"n" * length, b"o"):
        listing.names.append(name)
        listing.entries.append(encoded_entry(name, 0o100644, "1" * 40, None))
    assert parsed(b"".join(encoded(listing))) == listing


def test_what_is_looked_up_is_what_git_has(index: GitIndex, tree: Tree) -> None:
    """A path staged by the user would pass for unstaged."""
    assert index.load()
    for path in FILES:
        found = index.find(path)
        assert found and found[0] == blob_id(path.encode())
    assert index.find("a") is None
    assert index.find("zzz") is None
    assert not index.unmerged


def test_a_file_in_the_place_of_a_folder_and_back(index: GitIndex, tree: Tree) -> None:
    """The index would hold a file and a folder of one name, which git can't make a tree of."""
    assert index.load()
    index.splice({"a": encoded_entry(b"a", 0o100644, "1" * 40, None)})
    assert index.find("a/b.md") is None and index.find("a.md") and index.find("a0.md")
    index.splice({"a/c/x": encoded_entry(b"a/c/x", 0o100644, "1" * 40, None)})
    assert index.find("a") is None


def test_parsed_again_only_when_it_changed(
    index: GitIndex, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every commit in a large tree would read ten thousand entries, or miss what the user has just staged."""
    reads = []
    monkeypatch.setattr("gitsync.git_index.parsed", lambda data: (reads.append(1), parsed(data))[1])
    put(index, tree, {"a.md": b"one"})
    put(index, tree, {"a.md": b"two"})
    assert len(reads) == 1
    tree.edit("b.md", b"theirs")
    tree.git("add", "b.md")
    assert index.load() and index.find("b.md")
    assert len(reads) == 2


def test_a_change_that_keeps_time_and_size_is_noticed(index: GitIndex, tree: Tree) -> None:
    """On a file system with a coarse clock what the user stages right after us would be thrown away."""
    assert index.load()
    before = os.stat(index.path)
    data = bytearray(Path(index.path).read_bytes()[:-20])
    at = data.index(bytes.fromhex(blob_id(b"a.md")))
    data[at : at + 20] = bytes.fromhex(blob_id(b"x"))
    with open(index.path, "r+b") as file:
        file.write(data + hashlib.sha1(data).digest())
    os.utime(index.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert os.stat(index.path).st_ino == before.st_ino
    assert index.load()
    found = index.find("a.md")
    assert found and found[0] == blob_id(b"x")


def test_the_untracked_cache_survives_and_monitor_and_offsets_go(index: GitIndex, tree: Tree) -> None:
    """git would believe files unchanged by positions that our entry has moved."""
    tree.git("update-index", "--untracked-cache")
    tree.git("status")
    data = Path(index.path).read_bytes()
    assert b"UNTR" in data and b"TREE" in data
    extra = b"".join(kind + struct.pack(">I", 4) + b"\0" * 4 for kind in (b"FSMN", b"EOIE", b"IEOT"))
    data = data[:-20] + extra
    Path(index.path).write_bytes(data + hashlib.sha1(data).digest())
    put(index, tree, {"new.md": b"new"})
    kinds = [kind for kind, _ in parsed(Path(index.path).read_bytes()).extensions]
    assert kinds == [b"TREE", b"UNTR"]
    tree.edit("untracked.md", b"x")
    assert tree.git("status", "--porcelain").split("\n") == ["A  new.md", "?? untracked.md"]


def test_a_checksum_of_zeros_is_as_good_as_none(index: GitIndex, tree: Tree) -> None:
    """A user's `index.skipHash` would be taken for damage."""
    Path(index.path).write_bytes(Path(index.path).read_bytes()[:-20] + bytes(20))
    assert index.load()
    assert index.find("a.md")


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"short",
        b"JUNK" + bytes(60),
        struct.pack(">4sII", b"DIRC", 7, 0) + bytes(20),
        struct.pack(">4sII", b"DIRC", 2, 9) + bytes(20),
        struct.pack(">4sII", b"DIRC", 4, 9) + bytes(80),
        struct.pack(">4sII", b"DIRC", 2, 0) + b"x" * 20,
    ],
)
def test_what_is_not_an_index_is_damage(tmp_path: Path, damage: bytes) -> None:
    """A broken index would crash the daemon instead of being set aside."""
    (tmp_path / "index").write_bytes(damage)
    with pytest.raises(Damaged, match="the git index is damaged"):
        GitIndex(str(tmp_path / "index")).load()


@pytest.mark.parametrize(("kind", "reason"), [(b"sdir", "sparse"), (b"xyzw", "unknown part")])
def test_what_must_be_understood_is_left_alone(tmp_path: Path, kind: bytes, reason: str) -> None:
    """An index of a later git would be rewritten without what makes it valid."""
    data = struct.pack(">4sII", b"DIRC", 2, 0) + kind + struct.pack(">I", 0)
    (tmp_path / "index").write_bytes(data + hashlib.sha1(data).digest())
    with pytest.raises(Blocked, match=reason):
        GitIndex(str(tmp_path / "index")).load()


def test_no_index_is_not_an_error(tmp_path: Path) -> None:
    """The very first commit would fail."""
    assert not GitIndex(str(tmp_path / "index")).load()


def test_a_strange_tree_cache_is_made_anew() -> None:
    """An index of an unusual git would stop commits for the sake of a cache."""
    assert without_trees(b"nonsense", {b""}) == b"\0-1 0\n"
