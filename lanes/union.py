"""Two lists that grew from one become one: what either side added stays, what either side took out goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from lanes.rules import pieces

Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a file that stays or goes as a whole, with the empty lines above it.

    The key is what it is known by: one that both sides have is there once. Of two ranks the higher is kept. Pieces
    of one key and rank are equal, whatever their form.
    """

    key: Key
    lead: str = field(compare=False)
    text: str = field(compare=False)
    rank: int = 0

    @property
    def said(self) -> str:
        """Return the text whatever its line ends, and whether or not something follows it."""
        return self.text.replace("\r\n", "\n").rstrip()


def union(base: Sequence[Piece], one: Sequence[Piece], other: Sequence[Piece]) -> list[Piece]:
    """Merge two lists over their common one, the same for either order of the two.

    A piece that one side removed and the other changed stays. The order is that of the base; what was added stands
    behind what it follows on its own side.
    """
    old, left, right = _numbered(base), _numbered(one), _numbered(other)
    added = _added(old, left), _added(old, right)
    order: dict[Key, None] = {}
    for place in (None, *old):
        if place is not None:
            order[place] = None
        for run in sorted(side.get(place, []) for side in added):
            order |= dict.fromkeys(run)
    settled = (_settled(old.get(key), left.get(key), right.get(key)) for key in order)
    return [piece for piece in settled if piece]


def lines_of(text: str) -> Iterator[str]:
    """Cut a text into its lines; fenced code or a comment over several lines counts as one."""
    return (text[start:end] for start, end in pieces(text))


def prose(lines: Iterable[str]) -> list[Piece]:
    """Make each line a piece; empty lines at the end belong to the last one."""
    found: list[Piece] = []
    lead = ""
    for line in lines:
        if line.strip():
            found.append(Piece(("prose", line.replace("\r\n", "\n").strip()), lead, line))
            lead = ""
        else:
            lead += line
    if found:
        found[-1] = replace(found[-1], text=found[-1].text + lead)
    return found


def join(parts: Sequence[Piece], newline: str) -> str:
    """Write pieces one below the other, without a second gap where there is one; the last line ends too."""
    text = ""
    for part in parts:
        if text and not text.endswith("\n"):
            text += newline
        if text and not text.endswith(("\n\n", "\n\r\n")):
            text += part.lead
        text += part.text
    return text if text.endswith("\n") else text + newline


def newline_of(*versions: bytes | None) -> str:
    """Return the line end that all of these begin with."""
    firsts = [data.partition(b"\n")[0] for data in versions if data]
    return "\r\n" if all(first.endswith(b"\r") for first in firsts) else "\n"


def _numbered(parts: Sequence[Piece]) -> dict[Key, Piece]:
    """Tell pieces of one key in one file apart by their number."""
    seen: Counter[Key] = Counter()
    found = {}
    for part in parts:
        seen[part.key] += 1
        found[(*part.key, f"{seen[part.key]}")] = part
    return found


def _added(old: dict[Key, Piece], side: dict[Key, Piece]) -> dict[Key | None, list[Key]]:
    """Return what a side has added, by the piece of the base that it stands behind; None is the beginning."""
    place: Key | None = None
    added: dict[Key | None, list[Key]] = {}
    for key in side:
        if key in old:
            place = key
        else:
            added.setdefault(place, []).append(key)
    return added


def _settled(old: Piece | None, one: Piece | None, other: Piece | None) -> Piece | None:
    if one is None or other is None:
        left = one or other
        return None if left and old and left.said == old.said else left
    if one.rank != other.rank:
        return max(one, other, key=lambda piece: piece.rank)
    before, was = (old.lead, old.text) if old else (None, None)
    return replace(
        one, lead=_three_way(before, one.lead, other.lead), text=_three_way(was, one.text, other.text)
    )


def _three_way(base: str | None, one: str, other: str) -> str:
    if one == other or other == base:
        return one
    return other if one == base else max(one, other)
