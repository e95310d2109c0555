"""What a question says to the letter: `->`, `std::move`, `.env`, "quoted phrases".

Words can't tell `C++` from `C`, so such pieces are looked for in the texts themselves, which the index holds
up to date. Capitals of ASCII letters don't count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coffer.infrastructure.index.connections import Connection
from coffer.infrastructure.index.passage_rows import Piece

_MOST = 4
_QUOTED = re.compile(r'"([^"\n]{2,200})"|`([^`\n]{2,200})`|“([^”\n]{2,200})”')
_MARK = r"[!-/:-@\[-`{-~]"
_SPEAKING = re.compile(f"{_MARK}{{2}}|^{_MARK}|{_MARK}$")
_OPENING = "([{\"'`“‘*"
_CLOSING = ")]}\"'`”’*.,;:!?"


def literals(query: str) -> list[str]:
    """Return the pieces of a query whose punctuation is part of what is asked."""
    inside = ["".join(groups).strip() for groups in _QUOTED.findall(query)]
    pieces = [piece for piece in inside if not piece.isalnum()]
    for word in _QUOTED.sub(" ", query).split():
        piece = word.lstrip(_OPENING).rstrip(_CLOSING)
        if 2 <= len(piece) <= 200 and _SPEAKING.search(piece):
            pieces.append(piece)
    return list(dict.fromkeys(piece for piece in pieces if piece))[:_MOST]


def holding(db: Connection, stores: Sequence[int], pieces: Sequence[str]) -> dict[int, tuple[bool, ...]]:
    """Return which of the pieces a document holds, by number of each that holds any."""
    tests = [
        f"(text LIKE ?{n} ESCAPE '\\' OR title LIKE ?{n} ESCAPE '\\')" for n in range(1, len(pieces) + 1)
    ]
    rows = db.execute(
        f"SELECT number, {', '.join(tests)} FROM documents "
        f"WHERE store IN ({','.join(map(str, stores))}) AND ({' OR '.join(tests)})",
        [_pattern(piece) for piece in pieces],
    )
    return {number: tuple(map(bool, holds)) for number, *holds in rows}


def position_of(text: str, spans: Sequence[Piece], pieces: Sequence[str]) -> int:
    """Return which passage of a text the first of the pieces is in that the text has."""
    lowered = text.lower()
    places = (lowered.find(piece.lower()) for piece in pieces)
    first = next((place for place in places if place >= 0), 0)
    return next((n for n, (start, end, _) in enumerate(spans) if start <= first < end), 0)


def _pattern(piece: str) -> str:
    return "%" + re.sub(r"([\\%_])", r"\\\1", piece) + "%"
