"""What the full text and the vocabulary hold of a document.

The full text stores no copy of its rows, so to take one out it has to be told the same terms that were put
in. They are made here both times, from what the `documents` table keeps, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coffer.infrastructure.index.analyse import terms
from coffer.infrastructure.index.schema import PASSAGES, scope_token

_MONTHS = (
    ("January", "February", "March", "April", "May", "June")
    + ("July", "August", "September", "October", "November", "December")
)  # fmt: skip

Piece = tuple[int, int, str]
"""Start and end of a passage in its text, and the headings above it."""

PassageRow = tuple[int, str, str, str, str, str, str]
"""A row of `passages`, its number first."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The parts of a document that are searched; `ctx` is what its neighbours say."""

    number: int
    store: int
    title: str
    description: str
    created_at: str
    updated_at: str
    pieces: Sequence[Piece]
    ctx: str
    text: str


def passage_rows(document: Indexed) -> tuple[list[PassageRow], set[str]]:
    """Return the rows for `passages`, and the words that the document holds."""
    title, title_names = terms(document.title)
    held = {*title, *title_names}
    pieces = []
    for start, end, heading in document.pieces:
        heading_words, heading_names = terms(heading) if heading else ([], [])
        body, names = terms(document.text[start:end])
        held.update(body, names)
        pieces.append((" ".join(title + heading_words), " ".join(body), title_names + heading_names + names))
    meta = _days(document)
    if document.description not in document.text:  # else it was made from it
        described, described_names = terms(document.description)
        if not held.issuperset(described):
            held.update(described, described_names)
            meta += described + described_names
    dates, context = " ".join(meta), " ".join(terms(document.ctx)[0])
    first, scope = document.number * PASSAGES, scope_token(document.store)
    rows = [
        (first + position, heading, body, dates, " ".join(names), context, scope)
        for position, (heading, body, names) in enumerate(pieces)
    ]
    return rows, held


def _days(document: Indexed) -> list[str]:
    """Write the days of a document as people ask for them: 2026 03 12, 12 March 2026."""
    written: list[str] = []
    for day in dict.fromkeys((document.created_at[:10], document.updated_at[:10])):
        year, month, number = day.split("-")
        written += [year, month, number, str(int(number)), _MONTHS[int(month) - 1].lower(), year]
    return written
