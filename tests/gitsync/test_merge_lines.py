"""Line merges keep every byte, never write a marker, and don't depend on which side is asked first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitsync.merge_lines import merge_lines

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


def text(lines: list[str], end: bool = True) -> bytes:
    return ("\n".join(lines) + ("\n" if end and lines else "")).encode()


TEXTS = st.builds(text, LINES, st.booleans())


@pytest.mark.parametrize(
    ("base", "one", "other", "merged"),
    [
        (b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\nC\n", b"A\nb\nC\n"),
        (b"a\nb\nc\n", b"b\nc\n", b"a\nb\nc\nd\n", b"b\nc\nd\n"),
        (b"a\nb\nc\n", b"a\nb\nX\n", b"a\nb\nX\n", b"a\nb\nX\n"),
        (b"a\r\nb\r\nc\r\n", b"A\r\nb\r\nc\r\n", b"a\r\nb\r\nC\r\n", b"A\r\nb\r\nC\r\n"),
        (b"a\nb\nc", b"A\nb\nc", b"a\nb\nC", b"A\nb\nC"),
        (b"a\nb\nc\n", "a\rä\nb\nc\n".encode(), "a\nb\n\x85😀\n".encode(), "a\rä\nb\n\x85😀\n".encode()),
        (b"a\nb\n", b"a\nX\n", b"a\nY\n", None),
        (b"a\n", b"a\nx\n", b"a\ny\n", None),
        (b"", b"a\n", b"b\n", None),
        (b"a\nb\nc\n", b"A\nb\nc\n", b"a\nb\n", b"A\nb\n"),
        (b"a\nb\nc\n", b"\xff\nb\nc\n", b"a\nb\nC\n", None),
        (b"a\nb\nc\n", b"A\0\nb\nc\n", b"a\nb\nC\n", None),
        (b"\xff", b"\xff", b"a\n", b"a\n"),
        (b"a", b"", b"a", b""),
    ],
)  # fmt: skip
def test_what_merges_and_what_does_not(base: bytes, one: bytes, other: bytes, merged: bytes | None) -> None:
    """If this failed, an edit would be lost, changed in passing, or needlessly be called a conflict."""
    assert merge_lines(base, one, other) == merged
    assert merge_lines(base, other, one) == merged


@settings(max_examples=50)
@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_is_symmetric_and_made_of_lines_that_were_written(
    base: bytes, one: bytes, other: bytes
) -> None:
    """If this failed, two machines would end with different files, or with lines that nobody wrote."""
    merged = merge_lines(base, one, other)
    assert merged == merge_lines(base, other, one)
    assert merge_lines(base, one, base) == one
    if merged is None:
        return
    written = set((base + b"\n" + one + b"\n" + other).splitlines())
    assert set(merged.splitlines()) <= written
    added = (set(one.splitlines()) | set(other.splitlines())) - set(base.splitlines())
    assert added <= set(merged.splitlines())
    for side in (one, other):
        assert merge_lines(side, merged, side) == merged


def test_files_of_a_mebibyte_merge() -> None:
    """If this failed, a long file would be kept twice although the edits are far apart."""
    base = b"".join(b"%063d\n" % number for number in range(16_000))
    assert merge_lines(base, b"x\n" + base, base + b"y\n") == b"x\n" + base + b"y\n"
