"""The notes about chains that no branch holds yet."""

from __future__ import annotations

import os
from pathlib import Path

from gitsync.records import Record, records, write_record

ONE, TWO, THREE = "1" * 40, "2" * 40, "3" * 40


def test_found_again_in_order(tmp_path: Path) -> None:
    """After a crash two chains would be committed in the wrong order, or one be forgotten."""
    late, early = write_record(str(tmp_path), ONE, TWO), write_record(str(tmp_path), None, ONE)
    os.utime(early.path, (1, 1))
    assert [(found.base, found.tip) for found in records(str(tmp_path))] == [(None, ONE), (ONE, TWO)]
    late.keep()
    assert [(found.tip, found.installed) for found in records(str(tmp_path))] == [(TWO, True), (ONE, False)]
    for found in records(str(tmp_path)):
        found.drop()
        found.drop()
    assert records(str(tmp_path)) == []


def test_the_record_is_what_the_branch_will_be(tmp_path: Path) -> None:
    """The branch would get a content that git can't read."""
    assert Path(write_record(str(tmp_path), ONE, TWO).path).read_text() == TWO + "\n"


def test_other_files_are_not_records(tmp_path: Path) -> None:
    """A scratch file would be taken for a chain."""
    (tmp_path / "owner-1").touch()
    (tmp_path / "prepared-x").touch()
    assert records(str(tmp_path)) == records(str(tmp_path / "none")) == list[Record]()
