"""The words that the index holds, as they are typed, and what a word it doesn't hold may have been meant as.

Correction takes up to two words at the smallest edit distance (one edit up to five letters, two from six
on) that share the first or the second letter; the more frequent come first. Where there are none, the
longest beginning of the word that occurs. Candidates are fetched by length and letter, so memory stays flat.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from coffer.infrastructure.index.analyse import quoted
from coffer.infrastructure.index.connections import Connection

_SHORTEST, _LONGEST = 3, 40
MENDABLE = 4
"""Letters from which on a word can be mistyped."""


def add(db: Connection, store: int, counts: Counter[str]) -> None:
    """Add to the number of documents that hold each word; a word that none holds any more goes."""
    changed = [
        (store, word, change)
        for word, change in counts.items()
        if change and _SHORTEST <= len(word) <= _LONGEST and not word.isdigit()
    ]
    db.executemany(
        "INSERT INTO vocabulary(store, word, df) VALUES(?, ?, ?) "
        "ON CONFLICT(store, word) DO UPDATE SET df = df + excluded.df",
        changed,
    )
    db.executemany(
        "DELETE FROM vocabulary WHERE store = ? AND word = ? AND df <= 0",
        [(store, word) for _, word, change in changed if change < 0],
    )


def instead_of(db: Connection, stores: Sequence[int], word: str) -> list[str]:
    """Return FTS5 terms to look for beside an unknown word."""
    limit = 1 if len(word) < 6 else 2
    letters = set(word)
    found: dict[str, float] = {}
    for candidate in _candidates(db, stores, word, limit):
        # A bound that is quicker to tell than the distance.
        if len(letters.symmetric_difference(candidate)) <= 2 * limit:
            edits = distance(word, candidate, limit)
            if edits <= limit:
                found[candidate] = edits + (candidate[0] != word[0]) / 2
    if found:
        least = min(found.values())
        nearest = [candidate for candidate, edits in found.items() if edits == least]
        return [quoted(candidate) for candidate in _by_frequency(db, stores, nearest)[:2]]
    beginning = max((_beginning(db, store, word) for store in stores), key=len)
    return [quoted(beginning) + "*"] if len(beginning) >= MENDABLE else []


def _candidates(db: Connection, stores: Sequence[int], word: str, limit: int) -> set[str]:
    """Return the words of about the same length that share the first or the second letter."""
    found: set[str] = set()
    lengths = ",".join(str(len(word) + change) for change in range(-limit, limit + 1))
    for n in (1, 2):
        for store in stores:
            rows = db.execute(
                f"SELECT word FROM vocabulary WHERE store = ? AND length(word) IN ({lengths}) "
                f"AND substr(word, {n}, 1) = ?",
                (store, word[n - 1]),
            )
            found.update(candidate for (candidate,) in rows)
    return found


def _by_frequency(db: Connection, stores: Sequence[int], found: Sequence[str]) -> list[str]:
    rows = db.execute(
        "SELECT word FROM vocabulary "
        f"WHERE store IN ({','.join(map(str, stores))}) AND word IN ({','.join('?' * len(found))}) "
        "GROUP BY word ORDER BY sum(df) DESC, word",
        found,
    )
    return [word for (word,) in rows]


def _beginning(db: Connection, store: int, word: str) -> str:
    """Return the longest beginning of `word` that some word has: one of its neighbours in the alphabet."""
    neighbours = db.execute(
        "SELECT max(word) FROM vocabulary WHERE store = ?1 AND word < ?2 "
        "UNION ALL SELECT min(word) FROM vocabulary WHERE store = ?1 AND word >= ?2",
        (store, word),
    )
    return max((_shared(word, near) for (near,) in neighbours if near), key=len, default="")


def _shared(word: str, near: str) -> str:
    length = next(
        (n for n, (one, other) in enumerate(zip(word, near)) if one != other), min(len(word), len(near))
    )
    return word[:length]


def distance(one: str, other: str, limit: int) -> int:
    """Return how many letters must be changed, added, dropped or swapped with the next; stop beyond `limit`.

    Optimal string alignment (https://en.wikipedia.org/wiki/Damerau–Levenshtein_distance).
    """
    while one and other and one[0] == other[0]:
        one, other = one[1:], other[1:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, opposite in enumerate(other, 1):
            best = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                best = min(best, before[j - 2] + 1)
            row.append(best)
        if min(row) > limit:
            return limit + 1
        before, above = above, row
    return above[-1]
