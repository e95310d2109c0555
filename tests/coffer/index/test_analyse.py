"""Text and questions are taken apart in the same way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coffer.infrastructure.index.analyse import clean, fold, identifier_terms, pairs, question, terms
from coffer.infrastructure.index.literal import literals
from coffer.infrastructure.index.vocabulary import distance


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("computeBackoffWithJitter", ["compute", "backoff", "with", "jitter"]),
        ("HTTPServer2", ["http", "server"]),
        ("gdpr_scrub", ["gdprscrub"]),
        ("foo-bar.py", ["foobarpy"]),
        ("utf8", ["utf"]),
        ("plain words, Only. NASA 42", []),
        ("2026-03-12 a.b", []),
        ("a_" * 50 + "b", []),
    ],
)
def test_identifiers_are_found_by_their_parts(text: str, found: list[str]) -> None:
    """A function would be found by its exact spelling only."""
    assert identifier_terms(text) == found


def test_cjk_is_found_by_pairs() -> None:
    """A Chinese word of two characters, as most are, would not be found inside a sentence."""
    assert pairs("服务器") == ["服务", "务器"]
    assert pairs("字") == ["字"]
    assert terms("部署 now") == (["now"], ["部署"])
    assert question("什么部署").terms == ('"么部"', '"部署"')
    assert question("什么").terms == ('"什么"',)


def test_accents_width_and_case_do_not_count() -> None:
    """A note typed on another keyboard would not be found."""
    assert fold("Ｃafé") == fold("cafe\u0301") == fold("CAFÉ") == "cafe"
    assert fold("が") == fold("か\u3099") != fold("か")


def test_a_question_keeps_what_carries_meaning() -> None:
    """Every note would match a question through its small words."""
    assert question("What is the port of the CI server?").words == ("port", "ci", "server")
    assert question("the who").words == ("the", "who")
    assert question('say "hi"').terms == ('"say"', '"hi"')


@given(st.text(st.characters(), max_size=200))
def test_terms_are_ones_that_sqlite_can_hold(text: str) -> None:
    """A file or a question with odd characters could not be stored or asked."""
    asked = question(clean(text))
    for term in (*asked.terms, *asked.weighed):
        assert term.encode() and "\0" not in term
        assert term.startswith('"') and '"' not in term[1:].rstrip("*")[:-1].replace('""', "")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("a->b and std::move?", ["a->b", "std::move"]),
        ("C++, C# and .env (see --help)!", ["C++", "C#", ".env", "--help"]),
        ('say "hello, world" and `git push`', ["hello, world", "git push"]),
        ('"word" it\'s *bold* key:value pre-commit e.g. this...', []),
        ("a - b & c", []),
        ("!! ?? ...", []),
        (" ".join(f"x{n}::y" for n in range(9)), ["x0::y", "x1::y", "x2::y", "x3::y"]),
    ],
)
def test_only_telling_punctuation_is_taken_to_the_letter(query: str, found: list[str]) -> None:
    """Every comma would start a scan of all texts, or `C++` would be read as `C`."""
    assert literals(query) == found


def slow_distance(one: str, other: str) -> int:
    if not one or not other:
        return len(one) + len(other)
    best = min(
        slow_distance(one[1:], other) + 1,
        slow_distance(one, other[1:]) + 1,
        slow_distance(one[1:], other[1:]) + (one[0] != other[0]),
    )
    if one[:2] == other[1::-1] and len(one) > 1 and len(other) > 1:
        best = min(best, slow_distance(one[2:], other[2:]) + 1)
    return best


@given(st.text("abc", max_size=5), st.text("abc", max_size=5), st.integers(1, 2))
def test_edits_are_counted_as_the_definition_says(one: str, other: str, limit: int) -> None:
    """A word that is one slip away would be passed over, or a different word taken for a slip."""
    assert min(distance(one, other, limit), limit + 1) == min(slow_distance(one, other), limit + 1)
