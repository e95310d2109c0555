"""Trees that somebody made to do harm: each is refused before anything of it is written or even inflated."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ObjectType

from gitsync import vet as vetting
from gitsync.errors import Damaged
from gitsync.objects import Objects
from gitsync.vet import Vetted, is_gits, vet

FILE, FOLDER, LINK, MODULE = b"100644", b"40000", b"120000", b"160000"
Entry = tuple[bytes, bytes, str]


class Remote:
    """A repository that holds whatever its owner wants it to."""

    def __init__(self, root: Path) -> None:
        self.git = pygit2.init_repository(str(root), bare=True)
        self.root = root
        self.objects = Objects(self.git)
        self.blob = self.write(ObjectType.BLOB, b"text\n")
        self.judged: list[str] = []

    def write(self, kind: ObjectType, data: bytes) -> str:
        return str(self.git.odb.write(kind, data))

    def tree(self, *entries: Entry) -> str:
        """Write a tree byte for byte as given, in the order given."""
        content = b"".join(mode + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
        return self.write(ObjectType.TREE, content)

    def files(self, names: Iterable[bytes]) -> str:
        return self.tree(*((FILE, name, self.blob) for name in sorted(names)))

    def vet(self, tree: str, known: str | None = None) -> Vetted:
        self.judged.clear()

        def judge(path: str, oid: str) -> str | None:
            self.judged.append(path)
            return "isn't wanted" if path.endswith(".exe") else None

        return vet(self.objects, known, tree, judge)

    def refused(self, *entries: Entry, below: bytes = b"") -> list[tuple[str, str]]:
        tree = self.tree(*entries)
        return self.vet(self.tree((FOLDER, below, tree)) if below else tree).refused


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remote")


def test_plain_files_in_plain_folders_come_in(remote: Remote) -> None:
    """Memory itself would be refused."""
    inner = remote.tree((FILE, b"a.md", remote.blob), (b"100755", b"b.md", remote.blob))
    tree = remote.tree((FILE, b"README.md", remote.blob), (FOLDER, b"global", inner))
    vetted = remote.vet(tree)
    assert vetted == Vetted([], ["README.md", "global/a.md", "global/b.md"]) and remote.judged == vetted.files
    assert remote.vet("4b825dc642cb6eb9a060e54bf8d69288fbee4904") == Vetted()


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        (LINK, "is a symbolic link"),
        (MODULE, "is a submodule"),
        (b"100000", "is neither a file nor a folder"),
        (b"040000", "is neither a file nor a folder"),
        (b"140000", "is neither a file nor a folder"),
        (b"644", "is neither a file nor a folder"),
        (b"", "is neither a file nor a folder"),
    ],
)
def test_only_files_and_folders(remote: Remote, mode: bytes, reason: str) -> None:
    """A link in a tree from elsewhere could show or overwrite any file of the user's."""
    assert remote.refused((mode, b"a.md", remote.blob)) == [("a.md", reason)]
    assert remote.refused((mode, b"a.md", remote.blob), below=b"x") == [("x/a.md", reason)]


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b".giT",
        b"git~1",
        b"GIT~2",
        b".git ",
        b".git.",
        b".git...",
        b".git. .",
        b".git::$INDEX_ALLOCATION",
        b".git:x",
        ".g\u200cit".encode(),
        "\ufeff.git".encode(),
        ".git\u202e\u206f".encode(),
        b".gitmodules",
        b".GitModules",
        b"gitmod~1",
        b"..",
        b".",
        b"",
        b"a/b",
        b"/etc",
        b"../../x",
    ],
)
@pytest.mark.parametrize("mode", [FILE, FOLDER])
def test_names_that_git_keeps(remote: Remote, name: bytes, mode: bytes) -> None:
    """A remote could put hooks and settings into the repository, or write outside the tree."""
    oid = remote.blob if mode == FILE else remote.files([b"config"])
    shown = name.decode()
    assert remote.refused((mode, name, oid)) == [(shown, "has a name that git keeps for itself")]
    assert remote.refused((mode, name, oid), below=b"k")[0][0] == f"k/{shown}"
    assert remote.judged == []


@pytest.mark.parametrize(
    "name", [b".github", b"git", b"gi.git", b".gi", b"git-notes.md", b"git.md", b"agit~1", "gït~1".encode()]
)
def test_names_that_git_leaves_alone(name: bytes) -> None:
    """Notes about git would be refused."""
    assert not is_gits(name)


def test_a_name_that_is_not_utf8(remote: Remote) -> None:
    """A name that this machine can't write down would stop every sync with an error of ours."""
    assert remote.refused((FILE, b"a\xff.md", remote.blob)) == [("a\\xff.md", "has a name that isn't UTF-8")]
    assert remote.refused((FILE, b"\xed\xa0\x80.md", remote.blob))[0][1] == "has a name that isn't UTF-8"


@pytest.mark.parametrize(
    "names",
    [
        [b"b.md", b"a.md"],
        [b"a.md", b"a.md"],
        [b"a", b"a.md", b"a/"],
        [b"a/", b"a.md"],
    ],
)
def test_a_tree_out_of_order(remote: Remote, names: list[bytes]) -> None:
    """A file that can't be found where it is would be there for git and missing here, or be two at once."""
    inner = remote.files([b"x.md"])
    entries = [
        (FOLDER, name[:-1], inner) if name.endswith(b"/") else (FILE, name, remote.blob) for name in names
    ]
    assert remote.refused(*entries) == [(".", "has names twice, or not in git's order")]
    assert remote.refused(*entries, below=b"k") == [("k/", "has names twice, or not in git's order")]


def test_what_the_caller_does_not_want(remote: Remote) -> None:
    """Settings of git that would change how files are written, `.gitattributes`, couldn't be kept out."""
    assert remote.refused((FILE, b"a.exe", remote.blob), (FILE, b"b.md", remote.blob)) == [
        ("a.exe", "isn't wanted")
    ]


def test_long_names_and_deep_folders(remote: Remote) -> None:
    """A tree deeper than the stack would end the daemon."""
    assert remote.refused((FILE, b"n" * 300, remote.blob)) == []
    assert remote.judged == ["n" * 300], "that is the caller's to judge"
    tree = remote.files([b"a.md"])
    for _ in range(5000):
        tree = remote.tree((FOLDER, b"d", tree))
    assert remote.vet(tree).refused == [("d/" * 41, "is more than 40 folders deep")]
    assert remote.judged == []


def test_twenty_thousand_files(remote: Remote) -> None:
    """A large memory would be refused, or looking at it take minutes."""
    names = [b"%05d.md" % number for number in range(20_000)]
    assert len(remote.vet(remote.files(names)).files) == 20_000
    many = remote.vet(remote.files(name + b".exe" for name in names))
    assert len(many.refused) == 20, "as many as anybody reads"


def test_a_small_tree_that_unfolds_without_end(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes that name each other ten billion times over would fill memory and disk."""
    monkeypatch.setattr(vetting, "MAX_ENTRIES", 5000)
    tree = remote.files([b"%d.md" % number for number in range(10)])
    for _ in range(10):
        tree = remote.tree(*((FOLDER, b"%d" % number, tree) for number in range(10)))
    vetted = remote.vet(tree)
    assert [reason for _, reason in vetted.refused] == [
        "comes after 5000 others, which is more than a memory holds"
    ]
    assert len(vetted.files) <= 5000


def test_a_huge_file_is_measured_and_never_inflated(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gigabyte of zeros in a pack of a few bytes would take all memory."""
    size = vetting.MAX_BYTES + 1
    huge = remote.write(ObjectType.BLOB, bytes(size))
    largest = remote.write(ObjectType.BLOB, bytes(size - 1))
    pack = remote.root / "objects" / "pack"
    builder = pygit2.PackBuilder(remote.git)
    for oid in (huge, largest):
        builder.add(pygit2.Oid(hex=oid))
    builder.write(str(pack))
    for oid in (huge, largest):
        (remote.root / "objects" / oid[:2] / oid[2:]).unlink()
    assert sum(file.stat().st_size for file in pack.glob("*.pack")) < 40_000
    remote.objects = Objects(pygit2.Repository(str(remote.root)))
    read: list[str] = []
    inner = remote.objects.read
    monkeypatch.setattr(remote.objects, "read", lambda oid: (read.append(oid), inner(oid))[1])
    tree = remote.tree((FILE, b"a.md", largest), (FILE, b"b.md", huge))
    assert remote.vet(tree).refused == [("b.md", "is larger than 8 MiB")]
    assert read == [tree]
    assert remote.judged == ["a.md"]


def test_many_large_files_together(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are all just small enough would fill the disk."""
    monkeypatch.setattr(vetting, "MAX_TOTAL_BYTES", 3 << 20)
    large = remote.write(ObjectType.BLOB, bytes(1 << 20))
    entries = [(FILE, b"%d.md" % number, large) for number in range(5)]
    assert remote.refused(*entries) == [
        (f"{number}.md", "comes after more than 3 MiB of new files") for number in (3, 4)
    ]


def test_a_tree_object_that_is_too_large_is_not_read(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """One folder of a hundred million names would be taken apart before anybody counted them."""
    monkeypatch.setattr(vetting, "MAX_TREE_BYTES", 100)
    tree = remote.files([b"%d.md" % number for number in range(9)])
    inner = Objects(remote.git).folder
    monkeypatch.setattr(remote.objects, "folder", lambda oid: pytest.fail() if oid == tree else inner(oid))
    assert remote.vet(tree).refused == [(".", "holds too many files")]
    assert remote.vet(remote.tree((FOLDER, b"x", tree))).refused == [("x/", "holds too many files")]


def test_only_what_is_new_is_looked_at(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sync would look at all of memory, or an old sin that everybody has would stop every sync."""
    old = remote.files([b"a.md", b"b.exe"])
    changed = remote.write(ObjectType.BLOB, b"changed\n")
    new = remote.tree((FILE, b"a.md", changed), (FILE, b"b.exe", remote.blob))
    known = remote.tree((FOLDER, b"x", old), (FOLDER, b"y", old))
    tree = remote.tree((FOLDER, b"x", old), (FOLDER, b"y", new), (FOLDER, b"z", old))
    assert remote.vet(tree, known) == Vetted([("z/b.exe", "isn't wanted")], ["y/a.md", "z/a.md", "z/b.exe"])
    assert remote.vet(tree, tree) == Vetted()
    moved = remote.tree((FOLDER, b"w", old), (FOLDER, b"x", old))
    assert remote.vet(moved, known).files == ["w/a.md", "w/b.exe"]
    # A file that turns executable, or a folder that turns into a file, is something new.
    assert remote.vet(remote.tree((b"100755", b"a.md", remote.blob)), old).files == ["a.md"]
    assert remote.vet(remote.tree((LINK, b"a.md", remote.blob)), old).refused


@pytest.mark.parametrize("content", [b"100644 a.md", b"no nul", b"100644 a\0short", b"100644\0" + bytes(20)])
def test_a_tree_that_cannot_be_read(remote: Remote, content: bytes) -> None:
    """A tree that is none would hang or end the daemon."""
    # libgit2 doesn't write such a tree itself.
    whole = b"tree %d\0%b" % (len(content), content)
    oid = hashlib.sha1(whole).hexdigest()
    place = remote.root / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(whole))
    with pytest.raises(Damaged):
        remote.vet(oid)
    with pytest.raises(Damaged):
        remote.vet(remote.tree((FOLDER, b"x", oid)))
    with pytest.raises(Damaged):
        remote.vet(remote.tree((FILE, b"missing.md", "1" * 40)))


def test_an_object_of_another_kind(remote: Remote) -> None:
    """Half of git's own data would be written as a file, and the repository be one that git can't read."""
    tree = remote.files([b"a.md"])
    like_a_tree = remote.write(ObjectType.BLOB, b"100644 a.md\0" + bytes(20))
    with pytest.raises(Damaged, match=f"^git object {tree} isn't a blob"):
        remote.vet(remote.tree((FILE, b"a.md", tree)))
    with pytest.raises(Damaged, match=f"^git object {like_a_tree} isn't a tree"):
        remote.vet(remote.tree((FOLDER, b"x", like_a_tree)))
