from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanes.errors import Unreadable
from lanes.file_text import MAX_FILE_BYTES, decode, encode, has_conflict_markers, indent_conflict_markers

CONFLICT = "\n".join(["<<<<<<< HEAD", "ours", "=======", "theirs", ">>>>>>> branch", ""])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b" \r\n\n", "empty file"),
        (b"half saved\0\0\0", "NUL bytes"),
        (b"caf\xe9", "not UTF-8"),
        ("a note".encode("utf-16"), "NUL bytes"),
        (b"x" * (MAX_FILE_BYTES + 1), "larger than 1 MiB"),
        (CONFLICT.encode(), "merge conflict markers"),
        (CONFLICT.replace("\n", "\r\n").encode(), "merge conflict markers"),
    ],
)
def test_damaged_files_say_what_is_wrong(data: bytes, reason: str) -> None:
    """A half-saved or conflicted file would be indexed as if a person had meant it."""
    with pytest.raises(Unreadable) as caught:
        decode(data)

    assert caught.value.reason.startswith(reason)
    assert str(caught.value) == caught.value.reason


def test_a_file_of_exactly_the_limit_is_read() -> None:
    """A file at the limit would be reported as damaged."""
    assert decode(b"x" * MAX_FILE_BYTES) == "x" * MAX_FILE_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "Title\n=======\ntext",
        "<<<<<<< HEAD\nours",
        "=======\n>>>>>>> b\n<<<<<<< a\n=======\n",
        " <<<<<<< HEAD\n =======\n >>>>>>> b",
        "<<<<<<<<< a\n=========\n>>>>>>>>> b",
    ],
)
def test_single_markers_are_prose(text: str) -> None:
    """A note with an underlined heading would be taken for an unfinished merge."""
    assert not has_conflict_markers(text)
    assert text == indent_conflict_markers(text)


@given(st.lists(st.sampled_from(["<<<<<<< a", "=======", ">>>>>>> b", "x", "<<<<<<<"])).map("\n".join))
def test_indented_markers_are_never_a_conflict(text: str) -> None:
    """A note about a merge conflict would be written and never be read again."""
    assert not has_conflict_markers(indent_conflict_markers(text))


def test_lone_surrogates_are_refused() -> None:
    """A write would end in a traceback instead of a reason."""
    with pytest.raises(Unreadable, match="not valid Unicode"):
        encode("\ud800")
