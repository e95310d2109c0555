"""Packs that we write are read by git and by dulwich alike."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from dulwich.object_format import SHA1
from dulwich.pack import Pack, apply_delta
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync import packfile
from gitsync.packfile import ids_in, objects_in, write_pack


def hashed(kind: bytes, content: bytes) -> str:
    return hashlib.sha1(b"%b %d\0%b" % (kind, len(content), content)).hexdigest()


def written(
    tmp_path: Path, contents: list[tuple[bytes, bytes]], chain: bool
) -> tuple[Path, dict[str, bytes]]:
    objects = {hashed(kind, content): (kind, content) for kind, content in contents}
    ids = list(objects)
    bases = dict(zip(ids[1:], ids)) if chain else {}
    pack, index = write_pack(objects, bases, str(tmp_path), str(tmp_path / "pack"))
    assert (pack.endswith(".pack"), index.endswith(".idx")) == (True, True)
    return Path(index), {oid: content for oid, (_, content) in objects.items()}


def test_git_and_dulwich_read_a_pack_of_differences(tmp_path: Path) -> None:
    """Commits made together would be unreadable to the user's git, or only to it."""
    base = b"".join(b"100644 fact-%04d.md\0%b" % (n, hashlib.sha1(b"%d" % n).digest()) for n in range(3000))
    trees = [base]
    for number in range(100):
        at = 40 * number
        trees.append(
            trees[-1][:at] + b"100644 fact-%04d.md\0%b" % (9000 + number, bytes(20)) + trees[-1][at:]
        )
    index, objects = written(tmp_path, [(b"tree", data) for data in trees], chain=True)
    subprocess.run(["git", "verify-pack", index], check=True)
    assert objects_in(str(index)) == 101
    assert ids_in(str(index)) == sorted(objects)
    with Pack(str(index).removesuffix(".idx"), object_format=SHA1) as pack:
        assert {oid: pack[oid.encode()].as_raw_string() for oid in objects} == objects
    assert index.with_suffix(".pack").stat().st_size < 3 * len(base), (
        "a hundred versions, hardly more than one"
    )


def test_objects_of_any_size_and_kind(tmp_path: Path) -> None:
    """A large fact, or an empty one, would spoil the pack that it is in."""
    contents = [(b"blob", bytes(size)) for size in (0, 1, 15, 16, 2047, 2048, 70_000, 3_000_000)]
    who = b"A <a@b> 1 +0000"
    tree = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    contents.append((b"commit", b"%b\nauthor %b\ncommitter %b\n\nm\n" % (tree, who, who)))
    index, objects = written(tmp_path, contents, chain=False)
    with Pack(str(index).removesuffix(".idx"), object_format=SHA1) as pack:
        pack.check()
        assert {oid: pack[oid.encode()].as_raw_string() for oid in objects} == objects


@settings(max_examples=80)
@given(st.binary(max_size=400), st.binary(max_size=300), st.binary(max_size=400), st.integers(1, 400))
def test_a_difference_rebuilds_the_new_version(start: bytes, middle: bytes, end: bytes, times: int) -> None:
    """A tree would come back with other entries than it was written with."""
    old, new = start * times + end, start * times + middle + end
    for one, other in ((old, new), (new, old), (old, old), (b"", new), (new, b"")):
        assert b"".join(apply_delta(one, packfile._delta(one, other))) == other


def test_what_is_not_a_pack_index_counts_as_empty(tmp_path: Path) -> None:
    """A half-written file in the pack folder would stop packing for ever."""
    (tmp_path / "x.idx").write_bytes(b"short")
    assert objects_in(str(tmp_path / "x.idx")) == 0
    (tmp_path / "x.idx").write_bytes(bytes(2000))
    assert objects_in(str(tmp_path / "x.idx")) == 0
