"""The block between two `---` lines at the top of a file, read and edited without losing anything.

Files with Windows line ends, a byte order mark, blanks after a fence, `...` as the closing fence, or the end
of the file right after it are all read. A first line `---` that nothing closes is a damaged file, not prose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lanes import checked_yaml, yaml_edit
from lanes.checked_yaml import Value
from lanes.errors import Unreadable

_OPENING = re.compile(r"\ufeff?---[ \t]*(\r?\n|\r?\Z)")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$\n?", re.MULTILINE)
_EMPTY_LINE = re.compile(r"[ \t]*\r?\n")

# One-line scalars in one or two levels: what Coffer writes, and what nearly every header consists of.
# The letters that may stand in a value are those that YAML neither refuses nor takes for a line's end.
_INNER = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_SIMPLE_LINE = re.compile(
    r"(  )?([A-Za-z_][A-Za-z0-9_-]{0,63}):"
    rf'(?: (?:"([^"\\{_INNER}]*)"|([^\W_][^:#{_INNER}]*+(?::(?!\s)[^:#{_INNER}]*+)*+(?<! ))))?\r?\n'
)
_MAX_SIMPLE_LINES = 48


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Hold a file's fields and its body (without the empty line that divides the two)."""

    fields: Mapping[str, Value]
    body: str


@dataclass(frozen=True, slots=True)
class _Parts:
    """The file cut in three: `opening + header + rest` is the text, `rest` begins with the closing fence."""

    opening: str
    header: str
    rest: str
    body_start: int  # in rest: after the closing fence

    @property
    def newline(self) -> str:
        return "\r\n" if self.opening.endswith("\r\n") else "\n"


def parse(text: str) -> Frontmatter:
    """Read a file; without an opening `---` there are no fields and the whole text is the body.

    Raises `Unreadable` for a header that isn't closed, isn't YAML, or could harm its reader.
    """
    parts = _split(text)
    if parts is None:
        return Frontmatter({}, text.removeprefix("\ufeff"))
    body_start = parts.body_start
    if gap := _EMPTY_LINE.match(parts.rest, body_start):
        body_start = gap.end()
    return Frontmatter(_fields(parts.header), parts.rest[body_start:])


def render(fields: Mapping[str, Value], body: str) -> str:
    """Write a new file: fields in their order, an empty line, the body and a final newline.

    Raises `Unreadable` when `parse` would not read the same back (more than 8 KiB of fields, say).
    """
    values = dict(fields)
    text = f"---\n{yaml_edit.dump(values)}---\n" + _after_fence(body, "\n")
    _check(text, values, _ended(body, "\n"))
    return text


def update(text: str, changes: Mapping[str, Value | None], body: str | None = None) -> str:
    """Set (or with None: remove) fields and replace the body, keeping every other byte of the file.

    A key may be dotted once (`metadata.actor`). A body of None stays byte for byte. A file without a header
    gets one. The result is read again: if anything else than what was asked for differs, `Unreadable`.
    """
    old = parse(text)
    parts = _split(text)
    if parts is None:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        newline = "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
        parts = _Parts(f"{mark}---{newline}", "", f"---{newline}{newline}{old.body}", 3 + len(newline))
    expected = dict(old.fields)
    header = parts.header
    try:
        for path, value in changes.items():
            expected = yaml_edit.changed(expected, path, value)
            header = yaml_edit.change(header, path, value, parts.newline)
    except Unreadable as error:
        raise Unreadable(f"front matter: {error.reason}") from None
    rest = parts.rest
    if body is not None:
        fence = rest[: parts.body_start]
        fence += "" if fence.endswith("\n") else parts.newline
        rest = fence + _after_fence(body, parts.newline)
        body = _ended(body, parts.newline)
    result = parts.opening + header + rest
    _check(result, expected, old.body if body is None else body)
    return result


def _split(text: str) -> _Parts | None:
    opening = _OPENING.match(text)
    if opening is None:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise Unreadable("front matter isn't closed by a second `---`")
    start = closing.start()
    return _Parts(text[: opening.end()], text[opening.end() : start], text[start:], closing.end() - start)


def _fields(header: str) -> dict[str, Value]:
    simple = _simple_fields(header)
    if simple is not None:
        return simple
    try:
        return checked_yaml.load("\n" + header)  # so that lines are counted from the file's first
    except Unreadable as error:
        raise Unreadable(f"front matter: {error.reason}") from None


def _simple_fields(header: str) -> dict[str, Value] | None:
    """Read a header of plain `key: value` lines as YAML would, ten times faster; None when in any doubt."""
    if len(header) > checked_yaml.MAX_BYTES // 4:
        return None
    fields: dict[str, Value] = {}
    into: dict[str, Value] | None = None
    opened = ""
    position = 0
    for _ in range(_MAX_SIMPLE_LINES):
        if position == len(header):
            return fields
        line = _SIMPLE_LINE.match(header, position)
        if line is None:
            return None
        position = line.end()
        indented, key, quoted, plain = line.groups()
        value = quoted if quoted is not None else plain or ""
        if indented:
            if into is None:
                if not opened:
                    return None
                fields[opened] = into = {}
            if key in into:
                return None
            into[key] = value
            continue
        if key in fields:
            return None
        fields[key] = value
        into, opened = None, key if quoted is None and plain is None else ""
    return None


def _ended(body: str, newline: str) -> str:
    return body if not body or body.endswith("\n") else body + newline


def _after_fence(body: str, newline: str) -> str:
    return newline + _ended(body, newline) if body else ""


def _check(text: str, fields: dict[str, Value], body: str) -> None:
    result = parse(text)
    if result.fields != fields or result.body != body:
        raise Unreadable("front matter: can't be changed without losing something")
