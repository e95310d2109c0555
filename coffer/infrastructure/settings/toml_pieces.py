"""Put a line, a table or a member of an inline table into a TOML text, and take it out again.

Each pair of functions gives back the text that it began with, whether its last line is ended or not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coffer.infrastructure.settings.document import newline

_LAST_END = re.compile(r"\r?\n\Z")
_FIRST_END = re.compile(r"\A\r?\n")
_TWO_ENDS_LAST = re.compile(r"(?:\r?\n){1,2}\Z")
_TWO_ENDS_FIRST = re.compile(r"\A(?:\r?\n){1,2}")


def line_end(text: str, at: int) -> int:
    """Return where the line that holds a place ends, before the characters that end it."""
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if end > at and text[end - 1] == "\r" else end


def put_line(text: str, start: int, end: int, line: str) -> str:
    """Put a line below the stretch of another one, as far in as that one."""
    first = text.rfind("\n", 0, start) + 1
    end = line_end(text, end)
    return text[:end] + newline(text) + text[first:start] + line + text[end:]


def take_line(text: str, start: int, end: int) -> str:
    """Take out the line that holds a stretch, with the line end before it."""
    above = text[: text.rfind("\n", 0, start) + 1]
    below = text[line_end(text, end) :]
    return _LAST_END.sub("", above) + below if above else _FIRST_END.sub("", below)


def put_table(text: str | None, lines: Sequence[str]) -> str:
    """Put a header and its lines at the end, behind an empty line; into a new file when there is none."""
    if text is None:
        return "\n".join(lines) + "\n"
    end = newline(text)
    last = _LAST_END.search(text)
    kept = text[: last.start()] if last else text
    return kept + end + end + end.join(lines) + text[len(kept) :]


def take_table(text: str, start: int, end: int) -> str | None:
    """Take out the lines from a header to the last of its keys; None when there was nothing before nor is after."""
    above, below = text[: text.rfind("\n", 0, start) + 1], text[line_end(text, end) :]
    if above:
        return _TWO_ENDS_LAST.sub("", above) + below
    return _TWO_ENDS_FIRST.sub("", below) or None


def put_member(text: str, start: int, end: int, member: str) -> str:
    """Put a member last into the inline table that is `text[start:end]`."""
    inner = text[start + 1 : end - 1].rstrip(" \t")
    place = start + 1 + len(inner)
    return (
        text[:place] + f", {member}" + text[place:]
        if inner
        else text[: start + 1] + member + text[start + 1 :]
    )


def take_member(text: str, start: int, end: int) -> str:
    """Take out the member `text[start:end]` of an inline table, with one of the commas beside it."""
    before, after = text[:start].rstrip(" \t"), text[end:].lstrip(" \t")
    if before.endswith(","):
        return before[:-1] + text[end:]
    return text[:start] + (after[1:].lstrip(" \t") if after.startswith(",") else text[end:])
