"""The journal: a file a day, and in it what happened, entry by entry.

An entry is a line `<!-- entry <time> <actor> <source> -->` and the text below it, up to the next such line.
A line of a text that looks like a marker, or like one of git's conflict markers, is written with one more
blank in front than it has, and read with one less; so no text can begin an entry or spoil the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote

from lanes import file_text
from lanes.errors import LaneError, Unreadable
from lanes.layout import JOURNAL
from lanes.names import cut, encode_crockford, single_line
from lanes.times import utc_time

_WORD_LIMIT = 200
_BY_HAND = "hand"

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HEADING = re.compile(r"\s*#[ \t]+(\d{4}-\d\d-\d\d)[^\S\n]*(?:\n|\Z)", re.ASCII)
_MARKER = re.compile(r"^<!-- entry (\S+) (\S+) (\S+) -->[^\S\n]*$", re.MULTILINE)
# Also after a lone carriage return, which some editors take for a line's end.
_LOOKS_LIKE = r" *(?:<!-- entry|(?:<{7}|={7}|>{7})(?=[ \r\n]|\Z))"
_TO_INDENT = re.compile(rf"(?:^|(?<=\r))(?={_LOOKS_LIKE})", re.MULTILINE)
_INDENTED = re.compile(rf"(?:^|(?<=\r)) (?={_LOOKS_LIKE})", re.MULTILINE)
_UNSAFE = re.compile(r"[ %<>]|(?<=-)-")
_LEADING_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that happened.

    `time` is ISO 8601 in UTC with whole seconds, empty for a text by hand in a file of no known day. `source`
    says where the entry came from: a door, a session. Time, source and body together are its identity.
    """

    time: str
    actor: str
    source: str
    body: str


@dataclass(frozen=True, slots=True)
class JournalDay:
    """A day's entries in the order of the file, and what stands before the first marker as it stands there."""

    day: str | None
    entries: tuple[Entry, ...]
    preamble: str


def day_of(time: str) -> str:
    """Return the UTC day of an ISO 8601 time; a LaneError for anything else."""
    return _time(time)[:10]


def journal_path(day: str) -> str:
    """Return where a day's journal lies inside its store; a LaneError for anything but `YYYY-MM-DD`."""
    if not _DAY.fullmatch(day):
        raise LaneError(f"{day!r} is not a day of the form YYYY-MM-DD")
    return f"{JOURNAL}/{day}.md"


def entry_id(entry: Entry) -> str:
    """Name an entry by its time, source and body, the same before it is written and after."""
    entry = _stored(entry)
    text = f"{entry.time}\n{entry.source}\n{entry.body}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return "j-" + encode_crockford(int.from_bytes(digest, "big"), 52)[:26]


def read_journal(data: bytes, day: str | None = None) -> JournalDay:
    """Read a day's file, also one that a person wrote without any marker. Raises `Unreadable`.

    `day` is the one that the file is named for; without it the heading tells. Text before the first marker
    counts as an entry of the user at the day's start, a marker without text as none.
    """
    return _read(_text(data)[1], day)


def raw_entries(data: bytes) -> tuple[str, list[tuple[Entry, str]]]:
    """Return what stands before the first marker, and each marked entry with its lines as they stand there.

    Raises `Unreadable`.
    """
    return _cut(_text(data)[1])


def append_entry(data: bytes | None, day: str, entry: Entry) -> bytes | None:
    """Put an entry into a day's file behind those that aren't later, leaving every other line alone.

    `data` is None when there is no file yet. Returns None when the entry is there already, or blank.
    Raises `Unreadable` for a file, or a text, that can't be read back.
    """
    entry = _stored(entry)
    if not entry.body:
        return None
    if "\0" in entry.body:
        raise Unreadable("NUL characters")
    mark, text = _text(data) if data and data.strip() else ("", f"# {day}\n")
    if _identity(entry) in map(_identity, _read(text, day).entries):
        return None
    newline = "\r\n" if re.match(r"[^\n]*\r\n", text) else "\n"
    heads = list(_heads(text))
    place = max((index for index, head in enumerate(heads, 1) if head.entry.time <= entry.time), default=0)
    position = heads[place].start if place < len(heads) else len(text)
    before, after = text[:position], text[position:]
    ends = before[len(before.rstrip()) :].count("\n")
    lead = newline * max(2 - ends, not before.endswith("\n")) if before else ""
    marker = f"<!-- entry {entry.time} {_token(entry.actor)} {_token(entry.source)} -->"
    block = f"{marker}{newline}{_TO_INDENT.sub(' ', entry.body)}{newline}" + (newline if after else "")
    return file_text.encode(mark + before + lead + block + after)


@dataclass(frozen=True, slots=True)
class _Head:
    """A marker: where it stands, and the entry that it opens, still without its body."""

    start: int
    end: int
    entry: Entry


def _text(data: bytes) -> tuple[str, str]:
    """Return the byte order mark, if there is one, and the text."""
    text = file_text.decode(data)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark, text.removeprefix(mark)


def _read(text: str, day: str | None) -> JournalDay:
    preamble, marked = _cut(text)
    heading = _HEADING.match(preamble)
    day = day or (heading[1] if heading else None)
    start = utc_time(f"{day}T00:00:00Z") or ""
    by_hand = Entry(start, "user", _BY_HAND, _body(preamble[heading.end() if heading else 0 :]))
    entries = (by_hand, *(entry for entry, _ in marked))
    return JournalDay(day, tuple(entry for entry in entries if entry.body), preamble)


def _cut(text: str) -> tuple[str, list[tuple[Entry, str]]]:
    heads = list(_heads(text))
    ends = [head.start for head in heads[1:]] + [len(text)]
    return text[: heads[0].start] if heads else text, [
        (replace(head.entry, body=_body(text[head.end : end])), text[head.start : end])
        for head, end in zip(heads, ends)
    ]


def _heads(text: str) -> Iterator[_Head]:
    """Yield the markers; a line that begins like one and tells no time is text."""
    for match in _MARKER.finditer(text):
        if time := utc_time(match[1]):
            entry = Entry(time, _word(unquote(match[2])), _word(unquote(match[3])), "")
            yield _Head(match.start(), match.end(), entry)


def _body(written: str) -> str:
    text = _INDENTED.sub("", written)
    lead = _LEADING_BLANK_LINES.match(text)
    return text[lead.end() if lead else 0 :].rstrip()


def _stored(entry: Entry) -> Entry:
    """Return an entry as it is read after it was written."""
    return Entry(_time(entry.time), _word(entry.actor), _word(entry.source), entry.body.strip())


def _identity(entry: Entry) -> tuple[str, str, str]:
    return entry.time, entry.source, entry.body


def _time(given: str) -> str:
    time = utc_time(given)
    if time is None:
        raise LaneError(f"{given!r} is not an ISO 8601 time")
    return time


def _word(text: str) -> str:
    return cut(single_line(text), _WORD_LIMIT) or "-"


def _token(word: str) -> str:
    """Write a word without blanks, and without what could end the marker."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", word)
