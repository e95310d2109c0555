"""Lay answers out for a person: aligned tables, and stored text that can't drive the terminal."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence

# Controls, bidirectional marks, invisible characters, tags and lone surrogates. The two joiners are not
# among them: Persian, Hindi and family emoji are written with them.
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Return `text` with every character that a terminal could obey or hide written out, as `\x1b`."""
    return _UNSAFE.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return `text` on one line, runs of white space as one blank."""
    return visible(" ".join(text.split()))


def indented(text: str, by: int = 4) -> str:
    """Return `text` with each line moved right, so that it can't be taken for a line of ours."""
    return "\n".join(" " * by + line if line else "" for line in visible(text).split("\n"))


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows under headers in columns; a column of numbers stands to the right."""
    values = [list(row) for row in rows]
    grid = [list(headers), *[[_cell(value) for value in row] for row in values]]
    columns = range(len(headers))
    widths = [max(_width(line[column]) for line in grid) for column in columns]
    numbers = [all(isinstance(row[column], int | float) for row in values) for column in columns]
    lines = []
    for line in grid:
        padded = []
        for column in columns:
            space = " " * (widths[column] - _width(line[column]))
            padded.append(space + line[column] if numbers[column] else line[column] + space)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def fields(pairs: Iterable[tuple[str, object]]) -> str:
    """Return one aligned line a pair, without those that have no value."""
    kept = [(name, _cell(value)) for name, value in pairs if value not in (None, "", [])]
    widest = max((len(name) for name, _ in kept), default=0)
    return "\n".join(f"{name + ':':<{widest + 1}} {value}" for name, value in kept)


def print_json(body: bytes) -> None:
    r"""Write a JSON answer as it came; what could drive a terminal is spelled `\u…`, which means the same."""
    text = _UNSAFE.sub(_json_escaped, body.decode("utf-8", "replace"))
    # Past the text layer: JSON is UTF-8 whatever the locale says.
    sys.stdout.flush()
    sys.stdout.buffer.write(text.rstrip("\n").encode() + b"\n")


def author(entry: dict[str, object]) -> object:
    """Return who wrote something: the agent by name when one is known, else the kind of actor."""
    return entry.get("agent") or entry.get("actor")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, dict):
        value = " ".join(f"{name}={item}" for name, item in value.items())
    elif isinstance(value, list):
        value = ", ".join(map(str, value))
    return "" if value is None else one_line(str(value))


def _width(text: str) -> int:
    """Return how many columns a terminal needs; Chinese, Japanese and Korean take two a character."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(match: re.Match[str]) -> str:
    """Return one `\\uXXXX` for each UTF-16 unit, as JSON has it."""
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return re.sub("....", r"\\u\g<0>", units)
