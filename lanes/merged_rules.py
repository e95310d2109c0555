"""Two versions of a rules file into one: every rule and every line of prose of both, but what one of them removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from lanes import file_text
from lanes.errors import Unreadable
from lanes.rules import read_rules
from lanes.union import Piece, join, lines_of, newline_of, prose, union

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_RULE = "rule"


def merge_rules(base: bytes | None, one: bytes | None, other: bytes | None) -> bytes | None:
    """Merge two versions; None where nothing is left. A file that isn't there is one whose rules were all removed.

    A rule is known by its text: learned on one side and the user's own on the other, it is the user's own. Raises
    `Unreadable` for a side that is, and where the rules of both would not be read back.
    """
    sides = [_pieces(data) for data in (one, other)]
    try:
        old = _pieces(base)
    except Unreadable:
        old = []
    merged = union(old, *sides)
    if not merged:
        return None
    newline = newline_of(one, other)
    apart = [
        # A line right below a rule would be read as a part of it.
        replace(piece, lead=newline) if above.key[0] == _RULE != piece.key[0] and not piece.lead else piece
        for above, piece in pairwise(merged)
    ]
    result = file_text.encode(join([merged[0], *apart], newline))
    if _pieces(result) != merged:
        raise Unreadable("the rules of both sides don't fit into one file")
    return result


def _pieces(data: bytes | None) -> list[Piece]:
    """Cut a file; of a rule that stands there twice one is left, the user's own if there is one."""
    blocks = read_rules(data.removeprefix(_BYTE_ORDER_MARK)).blocks if data else ()
    lines = lines_of("".join(block.text for block in blocks))
    found: list[Piece] = []
    places: dict[str, int] = {}
    gap = ""
    for block in blocks:
        inside = _take(lines, len(block.text))
        if block.rule:
            piece = Piece((_RULE, block.rule.text), gap, block.text, int(not block.rule.learned))
            place = places.setdefault(block.rule.text, len(found))
            if place == len(found):
                found.append(piece)
            elif piece.rank > found[place].rank:
                found[place] = replace(found[place], text=piece.text, rank=piece.rank)
        else:
            found += prose(inside)
        gap = "" if block.text.strip() else block.text
    return found


def _take(lines: Iterator[str], size: int) -> list[str]:
    taken = []
    while size > 0:
        taken.append(next(lines))
        size -= len(taken[-1])
    return taken
