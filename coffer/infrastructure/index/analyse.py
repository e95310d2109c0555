"""Text into index terms, the same way for files and for questions.

Everything is compared after NFKC, lower case and without diacritics. Beside the words themselves the index
knows the parts of identifiers (`computeBackoff`: compute, backoff), the glued form of joined names
(`gdpr_scrub`: gdprscrub), and the overlapping pairs of Chinese, Japanese and Korean text, which has no
spaces to split at. All patterns take time linear in the text, whatever the text is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from coffer.infrastructure.index.stop_words import STOP_PAIRS, STOP_WORDS

VERSION = f"1/{unicodedata.unidata_version}"
"""Names this analysis; an index made by another one is built anew."""

MAX_QUERY_CHARS = 4096
MAX_QUERY_TERMS = 128

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005\u3007\u3021-\u3029\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{_CJK}]+")
_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
# Plain words and numbers match without the group, so that findall tells the rest apart at its own speed.
_NAME = re.compile(
    r"(?>[A-Z]?[a-z]+|[A-Z]+|[0-9]+)(?![A-Za-z0-9]|[_.-][A-Za-z0-9])"
    r"|([A-Za-z0-9]+(?:[_.-][A-Za-z0-9]+)*)"
)
_PLAIN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_JOINT = re.compile("[_.-]")
_REMEMBERED = 64
_DAKUTEN = "\u3099\u309a"  # they tell kana apart, as no accent does


def fold(text: str) -> str:
    """Return `text` in the one form in which texts are compared."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).lower())
    kept = [c for c in decomposed if c in _DAKUTEN or not unicodedata.combining(c)]
    return unicodedata.normalize("NFC", "".join(kept))


def words(folded: str) -> list[str]:
    """Return the words of folded text, in order; CJK runs are left out."""
    return _ASCII_WORD.findall(folded) if folded.isascii() else _WORD.findall(_CJK_RUN.sub(" ", folded))


def identifier_terms(text: str) -> list[str]:
    """Return the parts of mixed-case names and the glued forms of joined ones, lower-case."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for name in filter(None, _NAME.findall(text)):
        found += _inside(name) if len(name) <= _REMEMBERED else _inside.__wrapped__(name)
    return found


@lru_cache(maxsize=4096)
def _inside(name: str) -> tuple[str, ...]:
    """Take one name apart; the same ones come again and again."""
    elements = _JOINT.split(name)
    found = [
        part.lower()
        for element in elements
        if not _PLAIN.fullmatch(element)
        for part in _PART.findall(element)
        if len(part) > 1
    ]
    glued = "".join(elements)
    if len(elements) > 1 and 4 <= len(glued) <= 40 and not glued.isdigit():
        found.append(glued.lower())
    return tuple(found)


def cjk_runs(folded: str) -> list[str]:
    """Return the runs of CJK characters in folded text."""
    return [] if folded.isascii() else _CJK_RUN.findall(folded)


def pairs(run: str) -> list[str]:
    """Return a CJK run's overlapping pairs of characters; a single one stands alone."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def terms(text: str) -> tuple[list[str], list[str]]:
    """Return the words of `text`, and the terms that its words alone don't give."""
    folded = fold(text)
    extra = identifier_terms(text)
    for run in cjk_runs(folded):
        extra += pairs(run)
    return words(folded), extra


@dataclass(frozen=True, slots=True)
class Question:
    """A query taken apart: `words` can be misspelt, `terms` are FTS5 strings that are safe to join with OR.

    `weighed` are the terms that a full answer would hold; `names` is everything that may name an author.
    """

    words: tuple[str, ...]
    weighed: tuple[str, ...]
    terms: tuple[str, ...]
    names: frozenset[str]


def clean(query: str) -> str:
    """Return the part of a query that is looked at, free of what neither SQLite nor UTF-8 can carry."""
    return query[:MAX_QUERY_CHARS].encode("utf-8", "ignore").decode().replace("\0", " ")


def question(query: str) -> Question:
    """Take a clean query apart."""
    folded = fold(query)
    spoken = list(dict.fromkeys(words(folded)))[:MAX_QUERY_TERMS]
    meant = [word for word in spoken if word not in STOP_WORDS] or spoken
    parts = [term for term in identifier_terms(query) if term not in STOP_WORDS]
    characters: list[str] = []
    for run in cjk_runs(folded):
        characters += [quoted(run) + "*"] if len(run) == 1 else map(quoted, _meant(pairs(run)))
    characters = list(dict.fromkeys(characters))[:MAX_QUERY_TERMS]
    weighed = [*map(quoted, meant), *characters]
    terms = dict.fromkeys([*weighed, *map(quoted, parts[:MAX_QUERY_TERMS])])
    return Question(tuple(meant), tuple(weighed), tuple(terms), frozenset(spoken))


def _meant(run: list[str]) -> Iterable[str]:
    return [pair for pair in run if pair not in STOP_PAIRS] or run


def quoted(term: str) -> str:
    """Return `term` as an FTS5 string."""
    return '"' + term.replace('"', '""') + '"'
