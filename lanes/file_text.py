"""The bytes of a lane file as text and back, refusing what a person or a crash left half done."""

from __future__ import annotations

import re

from lanes.errors import Unreadable

MAX_FILE_BYTES = 1024 * 1024

_MARKER = re.compile(r"^(?:<{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
# Never the first line: a text is stripped before it is stored.
_CLOSING_MARKER = re.compile(r"(?<=\n)>{7}(?=[ \r\n]|\Z)")


def decode(data: bytes) -> str:
    """Return a lane file's text, a byte order mark included; raise `Unreadable` when it isn't one."""
    if len(data) > MAX_FILE_BYTES:
        raise Unreadable("larger than 1 MiB")
    if not data.strip():
        raise Unreadable("empty file")
    if b"\0" in data:
        raise Unreadable("NUL bytes, as a crash leaves them")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("not UTF-8") from None
    if has_conflict_markers(text):
        raise Unreadable("merge conflict markers")
    return text


def encode(text: str) -> bytes:
    """Return the bytes of a lane file; raise `Unreadable` when `decode` would not take them back."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        raise Unreadable("not valid Unicode (a lone surrogate)") from None
    decode(data)
    return data


def has_conflict_markers(text: str) -> bool:
    """Tell whether git's three conflict markers stand at line starts, one after the other."""
    if "<<<<<<<" not in text:
        return False
    expected = "<=>"
    found = 0
    for match in _MARKER.finditer(text):
        if text[match.start()] == expected[found]:
            found += 1
            if found == len(expected):
                return True
    return False


def indent_conflict_markers(text: str) -> str:
    """Move git's closing markers one space in, so that a note *about* a conflict isn't taken for one."""
    return _CLOSING_MARKER.sub(r" \g<0>", text) if has_conflict_markers(text) else text
