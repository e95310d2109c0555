"""Questions answered from the index: every word counts by its rarity, none is required.

Passages are ordered by FTS5's bm25 over one index of all stores, which makes hits of different stores
comparable. A hit counts more when the question names its agent or its store. The reported score is what was
reached of the sum of the idf of the question's words: about 1 when each of them was found once.

Texts that hold a piece of the question to the letter form a second list, which can't be compared with the
first; the two are joined by reciprocal rank (https://doi.org/10.1145/1571941.1572114).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from coffer.infrastructure.index import rows, vocabulary
from coffer.infrastructure.index.analyse import Question, clean, fold, question, quoted, words
from coffer.infrastructure.index.connections import Connection
from coffer.infrastructure.index.literal import holding, literals, position_of
from coffer.infrastructure.index.records import Match
from coffer.infrastructure.index.schema import PASSAGES, scope_filter

_BM25 = "bm25(passages, 1, 1, 1, 1, 0.4, 0)"  # title, body, meta, aux, ctx, scope
_ROWS = 100
_DOCUMENTS = 50
_SEARCHED = 64  # terms; a pasted page has hundreds, and the rare ones decide
_MENDED = 12  # unknown words for which others are tried
_NAMED = 1.3
_FUSION = 60
_WEAK = 0.4


@dataclass(slots=True)
class _Candidate:
    """A document that may answer: where its best passage is, what that reached, and what breaks a tie."""

    number: int
    position: int | None
    score: float
    updated_at: str = ""
    store: str = ""
    id: str = ""


def search(db: Connection, query: str, names: Sequence[str], limit: int) -> list[Match]:
    """Return the best passages of the named stores, one a document, best first; any text is a query."""
    query = clean(query)
    numbers: dict[str, int] = dict(db.execute("SELECT name, number FROM stores"))
    stores = [numbers[name] for name in dict.fromkeys(names) if name in numbers]
    if not stores or limit < 1:
        return []
    (total,) = db.execute("SELECT count(*) FROM passages_docsize").fetchone()
    asked = question(query)
    scope = "" if len(stores) == len(numbers) else scope_filter(stores) + " AND "
    found_in = {term: _count(db, term) for term in asked.weighed}
    terms = _terms(db, asked, found_in, stores, scope)
    candidates = _best(db, f"{scope}({' OR '.join(terms)})", max(limit, _DOCUMENTS)) if terms else {}
    reachable = sum(_idf(total, df) for df in found_in.values())

    pieces = literals(query)
    held = holding(db, stores, pieces) if pieces else {}
    for number in held.keys() - candidates.keys():
        candidates[number] = _Candidate(number, None, 0.0)
    _introduce(db, candidates, asked.names)
    ranked = _ranked(candidates.values())
    if held:
        for place in range(len(pieces)):
            holders = [number for number, holds in held.items() if holds[place]]
            gain = _idf(total, len(holders)) if holders else 0.0
            reachable += gain
            for number in holders:
                candidates[number].score += gain
        ranked = _fused(ranked, _ranked(candidates[number] for number in held), reachable)
    return _matches(db, ranked[:limit], reachable or 1.0, pieces)


def _count(db: Connection, expression: str) -> int:
    (count,) = db.execute("SELECT count(*) FROM passages WHERE passages MATCH ?", (expression,)).fetchone()
    return int(count)


def _idf(total: int, df: int) -> float:
    """Return what FTS5's bm25 gives a word for its rarity."""
    return max(math.log((total - df + 0.5) / (df + 0.5)), 1e-6)


def _terms(
    db: Connection, asked: Question, found_in: Mapping[str, int], stores: Sequence[int], scope: str
) -> list[str]:
    """Return what is looked for: the question's terms, and what its unknown words may have been meant as.

    A word is unknown when none of the searched stores has it; what one of them knows isn't mended elsewhere.
    """
    known = dict.fromkeys(asked.terms)
    if len(known) > _SEARCHED:
        known = dict.fromkeys(sorted(known, key=lambda term: found_in.get(term) or math.inf)[:_SEARCHED])
    unknown = [
        word
        for word in asked.words
        if len(word) >= vocabulary.MENDABLE and not word.isdigit() and not _occurs(db, word, found_in, scope)
    ]
    for word in unknown[:_MENDED]:
        known |= dict.fromkeys(vocabulary.instead_of(db, stores, word))
    return list(known)


def _occurs(db: Connection, word: str, found_in: Mapping[str, int], scope: str) -> bool:
    term = quoted(word)
    if not scope or not found_in[term]:
        return found_in[term] > 0
    sql = "SELECT 1 FROM passages WHERE passages MATCH ? LIMIT 1"
    return db.execute(sql, (scope + term,)).fetchone() is not None


def _best(db: Connection, expression: str, enough: int) -> dict[int, _Candidate]:
    """Return at least the best `enough` documents, if so many match, each with its best passage.

    Only documents that are strictly better than the last row read are taken: which of its equals were read
    is a matter of row numbers, and those tell how the index came to be, not what is in it.
    """
    limit = _ROWS
    while True:
        found = db.execute(
            f"SELECT rowid, -{_BM25} AS s FROM passages WHERE passages MATCH ? ORDER BY s DESC LIMIT ?",
            (expression, limit),
        ).fetchall()
        whole = len(found) < limit
        best: dict[int, _Candidate] = {}
        for row, score in found:
            if not whole and score == found[-1][1]:
                break
            number, position = divmod(row, PASSAGES)
            held = best.setdefault(number, _Candidate(number, position, score))
            if held.score == score and held.position is not None:
                held.position = min(held.position, position)
        if whole or len(best) >= enough:
            return best
        limit *= 8


def _introduce(db: Connection, candidates: Mapping[int, _Candidate], names: frozenset[str]) -> None:
    """Fill in what orders equals, and raise the candidates whose agent or store the question names.

    `project` isn't a name, as every store but one has it in its own; nor is the actor, for `user` and
    `agent` are words that questions use for other things.
    """
    named: dict[str, bool] = {}
    for number, store, fact_id, updated_at, agent in db.execute(
        "SELECT d.number, s.name, d.id, d.updated_at, d.agent FROM json_each(?) AS wanted "
        "JOIN documents d ON d.number = wanted.value JOIN stores s ON s.number = d.store",
        (json.dumps(list(candidates)),),
    ):
        candidate = candidates[number]
        candidate.store, candidate.id, candidate.updated_at = store, fact_id, updated_at
        owner = f"{agent or ''} {store.removeprefix('project-')}"
        if owner not in named:
            named[owner] = not names.isdisjoint(word for word in words(fold(owner)) if len(word) > 2)
        if named[owner]:
            candidate.score *= _NAMED


def _ranked(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """Order by score; equals newer first, then by store and id."""
    ranked = sorted(candidates, key=lambda c: (c.store, c.id))
    ranked.sort(key=lambda c: (c.score, c.updated_at), reverse=True)
    return ranked


def _fused(first: list[_Candidate], second: list[_Candidate], reachable: float) -> list[_Candidate]:
    """Join two lists by reciprocal rank; what reached little of the question comes last all the same."""
    gains: dict[int, float] = {}
    for ranked in (first, second):
        for rank, candidate in enumerate(ranked, 1):
            gains[candidate.number] = gains.get(candidate.number, 0.0) + 1 / (_FUSION + rank)
    return sorted(_ranked(first), key=lambda c: (c.score >= _WEAK * reachable, gains[c.number]), reverse=True)


def _matches(
    db: Connection, ranked: Sequence[_Candidate], reachable: float, pieces: Sequence[str]
) -> list[Match]:
    numbers = json.dumps([candidate.number for candidate in ranked])
    fetched = rows.fetch(db, "d.number IN (SELECT value FROM json_each(?))", (numbers,))
    by_number = {number: (document, spans) for document, number, spans in fetched}
    matches = []
    for candidate in ranked:
        document, spans = by_number[candidate.number]
        position = candidate.position
        if position is None:
            position = position_of(document.text, spans, pieces)
        start, end, _ = spans[position]
        matches.append(Match(document, document.text[start:end].strip(), candidate.score / reachable))
    return matches
