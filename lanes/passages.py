"""Markdown into passages: pieces short enough to quote, cut where a reader would cut.

Two questions are kept apart. *Where may nothing be cut, and where does a section begin?* is answered by
landmarks: headings, fenced code, tables. *Where between them is the best place to cut?* is answered by blank
lines, list items, sentences and words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from lanes.landmarks import Landmark, landmarks
from lanes.names import cut, single_line

_MAX_HEADING = 120

_POSSIBLE_HEADING = re.compile(r"^ {0,3}(?:#{1,6}(?!\S)|(?:=+|-+)[^\S\n]*$)", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n?")
_ITEM = re.compile(r"^[^\S\n]*(?:[-+*]|\d{1,9}[.)])\s", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?…][\"'”’)\]*_`]*\s|[。！？；]")
_BLANK = re.compile(r"\s")
_CONTENT = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document: `text` is `markdown[start:end]`, with no white space around it.

    `heading` is the path of headings above it, as in `Deploy > Rollback`; empty outside any section.
    """

    start: int
    end: int
    text: str
    heading: str


def passages(markdown: str, size: int = 512, overlap: int = 64) -> list[Passage]:
    """Cut a document into passages of at most `size` characters that together hold all of its text.

    Passages never reach across a heading; a section's first passage begins with its heading line. Fenced code
    and tables stay whole however long they are. Only where a single paragraph is too long do neighbours
    share up to `overlap` characters.
    """
    if not 0 <= overlap < size // 2:
        raise ValueError(f"an overlap of {overlap} doesn't fit a size of {size}")
    # The same length, so that every position holds for the original too.
    text = markdown.replace("\r\n", " \n").replace("\r", "\n").replace("\f", "\n")
    begin, finish = len(text) - len(text.lstrip()), len(text.rstrip())
    if finish - begin <= size and not _POSSIBLE_HEADING.search(text):
        return list(_trimmed(markdown, begin, finish, ""))
    marks = landmarks(text)
    solids = [mark for mark in marks if mark.level == 0]
    found: list[Passage] = []
    seen = 0
    for start, body, end, heading in _sections(text, marks):
        first, seen = seen, bisect_left(solids, end, seen, key=lambda mark: mark.start)
        for left, right in _pieces(text, start, body, end, solids[first:seen], size, overlap):
            found += _trimmed(markdown, left, right, heading)
    return found


def _trimmed(markdown: str, left: int, right: int, heading: str) -> Iterator[Passage]:
    piece = markdown[left:right]
    if text := piece.strip():
        left += len(piece) - len(piece.lstrip())
        yield Passage(left, left + len(text), text, heading)


def _sections(text: str, marks: list[Landmark]) -> Iterator[tuple[int, int, int, str]]:
    """Yield start, start of the body, end and heading path of each section.

    A heading with nothing but a deeper heading below it opens the same section as that one.
    """
    path: list[tuple[int, str]] = []
    start = body = 0
    for mark in marks:
        if not mark.level:
            continue
        if text[body : mark.start].strip() or (path and path[-1][0] >= mark.level):
            yield start, body, mark.start, _path(path)
            start = mark.start
        body = mark.end
        path = [entry for entry in path if entry[0] < mark.level]
        path.append((mark.level, _title(text[mark.start : mark.end])))
    yield start, body, len(text), _path(path)


def _path(headings: list[tuple[int, str]]) -> str:
    return " > ".join(title for _, title in headings if title)


def _title(source: str) -> str:
    first, *rest = source.strip().split("\n")
    if rest:  # underlined
        return cut(single_line(" ".join([first, *rest[:-1]])), _MAX_HEADING)
    return cut(single_line(re.sub(r"^#+|\s#+$", "", first)), _MAX_HEADING)


def _pieces(
    text: str, start: int, body: int, end: int, solids: list[Landmark], size: int, overlap: int
) -> Iterator[tuple[int, int]]:
    """Pack a section's blocks into pieces of at most `size`; a longer block is cut, or stays whole."""
    if end - start <= size:
        yield start, end
        return
    floor = _head(text, body, end)
    bounds = [*_bounds(text, floor, end, solids), end]
    tails = [_tail(text, bound) for bound in bounds]
    starts = [_head(text, mark.start, mark.end) for mark in solids]
    first = 0
    while (start := _head(text, start, end)) < end:
        first = bisect_right(bounds, start, first)
        last = max(first, bisect_right(tails, start + size, first) - 1)
        stop = bounds[last]
        solid = bisect_left(starts, stop) > bisect_left(starts, start)
        if tails[last] - start <= size or solid:
            yield start, stop
            start = stop
        else:
            cut_at, following = _best_cut(text, start, max(start, floor), size, overlap)
            yield start, cut_at
            start = following


def _head(text: str, position: int, end: int) -> int:
    """Return where the words after a position begin."""
    content = _CONTENT.search(text, position, end)
    return content.start() if content else end


def _tail(text: str, position: int) -> int:
    """Return where the words in front of a position end."""
    while position and text[position - 1].isspace():
        position -= 1
    return position


def _bounds(text: str, start: int, end: int, solids: list[Landmark]) -> Iterator[int]:
    """Yield, in order, where a paragraph, a fence or a table begins or ends after `start`."""
    blank = False
    for mark in [*solids, Landmark(end, end, 0)]:
        for line in _LINE.finditer(text, start, mark.start):
            filled = line.group().strip()
            if blank and filled:
                yield line.start()
            blank = not filled
        if start < mark.start < end:
            yield mark.start
        if mark.end < end:
            yield mark.end
        start, blank = mark.end, False


def _best_cut(text: str, start: int, floor: int, size: int, overlap: int) -> tuple[int, int]:
    """Choose where a block that is too long ends its piece, and where the next one begins."""
    limit = start + size
    if items := [match.start() for match in _ITEM.finditer(text, floor + 1, limit)]:
        return items[-1], items[-1]
    middle = start + size // 2
    for pattern in (_SENTENCE, _BLANK):
        if ends := [match.end() for match in pattern.finditer(text, middle, limit)]:
            cut_at = ends[-1]
            break
    else:
        cut_at = limit
    word = _BLANK.search(text, cut_at - overlap, cut_at)
    return cut_at, word.end() if word else cut_at - overlap
