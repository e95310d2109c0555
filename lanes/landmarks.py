"""Where a markdown text may not be cut: its headings, fenced code and tables, with their places.

marko knows CommonMark and tells where each block stands, so it is the judge; but it reads some 50 KB a
second. A scan by lines finds the landmarks of ordinary documents a hundred times faster and leaves to marko
whatever it isn't sure of: tables, underlined headings, HTML, fences and headings that are indented or in a
list. The tests hold that the two agree wherever the scan answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marko.block import BlockElement
    from marko.source import Source

_MAX_NESTING = 6
# Beyond this size marko isn't asked, and there are no landmarks: one odd file must not hold up the others.
_MAX_MARKO = 64 * 1024

_POSSIBLE = re.compile(r"[#|]|```|~~~|^ {0,3}(?:=+|-+)[^\S\n]*$", re.MULTILINE)
_LINE = re.compile(r"[^\n]*\n?")
_HEADING = re.compile(r"(#{1,6})(?!\S)")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")
_FENCE_END = re.compile(r" {0,3}(`+|~+)[^\S\n]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[^\S\n]*$")
_UNSURE = re.compile(r"[\s>*+\-\d.)]*(?:<|```|~~~)| {1,3}#{1,6}(?!\S)")


@dataclass(frozen=True, slots=True)
class Landmark:
    """A heading (level 1 to 6), or a block that stays whole (level 0), from line start to line end."""

    start: int
    end: int
    level: int


def landmarks(text: str) -> list[Landmark]:
    """Return the landmarks of a text whose lines end in `\\n`, in order.

    Headings inside lists and quotes don't count; fences and tables do. A fence that nothing closes is prose.
    """
    if not _POSSIBLE.search(text):
        return []
    scanned = scan(text)
    if scanned is not None:
        return scanned
    return parse(text) if len(text) <= _MAX_MARKO else []


def scan(text: str) -> list[Landmark] | None:
    """Find the landmarks that stand at line starts; None where CommonMark might see it otherwise."""
    marks = []
    fence, opened, previous = "", 0, ""
    for match in _LINE.finditer(text):
        line, start = match.group(), match.start()
        if fence:
            closing = _FENCE_END.match(line)
            if closing and fence in closing.group(1):
                marks.append(Landmark(opened, match.end(), 0))
                fence, line = "", ""
        elif heading := _HEADING.match(line):
            marks.append(Landmark(start, match.end(), len(heading.group(1))))
        elif opening := _FENCE.match(line):
            fence, opened = opening.group(1), start
            if fence[0] == "`" and "`" in opening.group(2):
                return None
        elif (
            _UNSURE.match(line)
            or ("|" in previous and "-" in line)
            or (previous.strip() and _UNDERLINE.match(line))
        ):
            return None
        previous = line
    return None if fence else marks


def parse(text: str) -> list[Landmark]:
    """Ask marko for the landmarks."""
    marks: list[Landmark] = []

    def visit(blocks: Iterable[Any], top: bool) -> None:
        for block in blocks:
            kind = block.get_type()
            start, end = block.source_span
            start = text.rfind("\n", 0, start) + 1
            if kind in ("Heading", "SetextHeading") and top:
                marks.append(Landmark(start, end, block.level))
            elif kind == "Table" or (kind == "FencedCode" and text[:end].rstrip().endswith(("```", "~~~"))):
                marks.append(Landmark(start, end, 0))
            elif kind in ("List", "ListItem", "Quote"):
                visit(block.children, False)

    visit(_parser()().parse(text).children, True)
    return marks


@cache
def _parser() -> Callable[[], Any]:
    """Make a parser that sees blocks only; marko is imported late because most texts never need it.

    Nesting is limited, since marko calls itself for each level of a `> > > ...`; what lies deeper is prose.
    """
    from marko import block
    from marko.ext.gfm import elements
    from marko.parser import Parser

    class Blocks(Parser):
        depth = 0

        def __init__(self) -> None:
            super().__init__()
            del self.block_elements["LinkRefDef"]
            for element in (elements.Table, elements.TableRow, elements.TableCell, Quote, List):
                self.add_element(element)

        def parse_source(self, source: Source) -> list[BlockElement]:
            self.depth += 1
            try:
                return super().parse_source(source)
            finally:
                self.depth -= 1

        def parse_inline(self, element: BlockElement, source: Source) -> None:
            """Leave the words alone."""

    def shallow(source: Source) -> bool:
        return isinstance(source.parser, Blocks) and source.parser.depth < _MAX_NESTING

    class Quote(block.Quote):
        override = True

        @classmethod
        def match(cls, source: Source) -> Any:
            return shallow(source) and super().match(source)

    class List(block.List):
        override = True

        @classmethod
        def match(cls, source: Source) -> bool:
            return shallow(source) and super().match(source)

    return Blocks
