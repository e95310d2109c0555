"""Objects as files of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pygit2

from gitsync.loose import loose_objects_in, write_object
from gitsync.objects import blob_id


def test_an_object_is_read_by_libgit2_and_listed(tmp_path: Path) -> None:
    """A fact's object would be unreadable, writable by accident, or never be packed."""
    git = pygit2.init_repository(tmp_path)
    folder, data = str(tmp_path / ".git/objects"), b"fact\n"
    place = write_object(blob_id(data), b"blob", data, str(tmp_path / ".git"), folder)
    assert git[blob_id(data)].data == data
    assert os.stat(place).st_mode & 0o777 == 0o444 & ~_umask()
    assert [(oid, entry.path) for oid, entry in loose_objects_in(folder)] == [(blob_id(data), place)]


def test_writing_again_heals_an_empty_object(tmp_path: Path) -> None:
    """After a loss of power the same fact could never be committed again."""
    git = pygit2.init_repository(tmp_path)
    folder, data = tmp_path / ".git/objects", b"fact\n"
    oid = blob_id(data)
    (folder / oid[:2]).mkdir()
    (folder / oid[:2] / oid[2:]).write_bytes(b"")
    write_object(oid, b"blob", data, str(tmp_path / ".git"), str(folder))
    assert git[oid].data == data


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
