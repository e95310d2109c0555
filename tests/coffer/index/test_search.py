"""The words that people and agents use find the notes that they mean."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coffer.infrastructure.index.mirror import SearchIndex
from tests.coffer.index.home import PROJECT, Home

NOTES = {
    "backoff": "computeBackoffWithJitter caps the wait at 30 seconds.",
    "scrub": "Run gdpr_scrub before an export.",
    "deploy": "部署到服务器之前先运行测试。",
    "café": "The Café module draws the menu.",
    "hooks": "pre-commit runs ruff, then mypy.",
    "cpp": "The engine is C++20, not plain C.",
    "arrow": "Use `self->next` in the walker.",
    "dated": "The office moved.",
}


@pytest.fixture
def notes(home: Home, index: SearchIndex) -> Home:
    for name, text in NOTES.items():
        home.fact(name, text, time="2026-03-12T10:00:00Z" if name == "dated" else "2025-01-01T00:00:00Z")
    for number in range(12):
        home.fact(f"filler{number}", f"Nothing to see in chapter {number} of the handbook.")
    return home


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("how does compute backoff work?", "backoff"),
        ("BACKOFF", "backoff"),
        ("gdprscrub", "scrub"),
        ("gdpr scrub", "scrub"),
        ("exports", "scrub"),
        ("部署", "deploy"),
        ("服务器怎么部署", "deploy"),
        ("署", "deploy"),
        ("cafe", "café"),
        ("cafe\u0301", "café"),
        ("ＣＡＦＥ", "café"),
        ("precommit", "hooks"),
        ("jiter backof", "backoff"),
        ("computebackofwithjitter", "backoff"),
        ("exporttttts", "scrub"),
        ("march 2026", "dated"),
        ("2026-03-12", "dated"),
        ("12 March", "dated"),
    ],
)
def test_a_note_is_found_as_people_ask_for_it(notes: Home, index: SearchIndex, query: str, name: str) -> None:
    """The note is there, but this way of asking would not find it."""
    assert notes.found(index, query)[0] == name


@pytest.mark.report("B80")
@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[
            ("pre-commit", "hooks"),
            ("C++", "cpp"),
            ("key:ruff", "hooks"),
            ('"ruff', "hooks"),
            ("(ruff", "hooks"),
        ],
        *[("ruff AND", "hooks"), ("NEAR(ruff", "hooks"), ("ruff*", "hooks"), ("it's ruff", "hooks")],
        *[("^ruff", "hooks"), ("{ruff}", "hooks"), ("ruff\0mypy", "hooks"), ("\ud800 ruff", "hooks")],
        *[("title:ruff OR body", "hooks"), ("ruff; DROP TABLE documents", "hooks"), ("NOT ruff", "hooks")],
        *[
            ("scope : ruff", "hooks"),
            ("\ue0001 ruff", "hooks"),
            ("self->next", "arrow"),
            ("ruff " * 20000, "hooks"),
        ],
    ],
)
def test_what_looks_like_query_syntax_is_text(notes: Home, index: SearchIndex, query: str, name: str) -> None:
    """A question with a dash or a quote in it would be an error."""
    assert notes.found(index, query)[0] == name


@pytest.mark.report("B80")
@pytest.mark.parametrize(
    "query", ["", " ", "\0", "*", '"', "()", "^", "NEAR(", "%_\\", "\ud800", "?!.,", "x" * 100_000]
)
def test_a_query_without_words_is_no_error(notes: Home, index: SearchIndex, query: str) -> None:
    """An empty or meaningless question would fail instead of finding nothing."""
    assert notes.recall(index, query) == []


@pytest.mark.report("B80")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(st.characters(), max_size=60) | st.text('"*^(){}:-+->AND OR NOT部', max_size=20))
def test_any_text_is_a_query(notes: Home, index: SearchIndex, query: str) -> None:
    """Some sequence of characters would be an error."""
    found = notes.recall(index, query, limit=3)
    assert len(found) <= 3
    assert all(match.passage and match.score >= 0 for match in found)


def test_a_long_query_costs_no_more_than_its_first_part(notes: Home, index: SearchIndex) -> None:
    """A pasted page would make recall slow, or find by words that nobody reads."""
    prompt = " ".join(f"unknownword{number}" for number in range(1000))
    assert notes.found(index, f"ruff {prompt}")[0] == "hooks"
    assert notes.found(index, f"{prompt} ruff") == []


def test_stop_words_alone_are_words(home: Home, index: SearchIndex) -> None:
    """A question of nothing but common words would find nothing."""
    home.fact("who", "The Who played here.")
    assert home.found(index, "the who") == ["who"]


def test_no_word_is_required(notes: Home, index: SearchIndex) -> None:
    """A whole sentence would find nothing, since no note has all of its words."""
    assert (
        notes.found(index, "please tell me which formatter and type checker mypy or ruff we use")[0]
        == "hooks"
    )


def test_only_the_asked_stores_answer(home: Home, index: SearchIndex) -> None:
    """A project's memory would be told in another project."""
    home.fact("a", "Walrus.")
    home.fact("b", "Walrus.", store=PROJECT)
    index.reconcile(home.files())
    for store in home.stores:
        assert [match.document.store for match in index.search("walrus", [store], 5)] == [store]
    assert len(index.search("walrus", home.stores, 5)) == 2
    assert index.search("walrus", [], 5) == index.search("walrus", ["project-none"], 5) == []
    assert index.search("walrus", home.stores, 0) == []


def test_stores_are_ordered_together(home: Home, index: SearchIndex) -> None:
    """The first hit of a store that hardly fits would tie with the best of one that does."""
    for number in range(5):
        home.fact(f"other{number}", f"Chapter {number} on other things.")
    home.fact("weak", "A walrus was seen near the database, far from here, by somebody who told us so.")
    home.fact("best", "Database: walrus.", store=PROJECT)
    home.fact("good", "The walrus database is down.", store=PROJECT)
    assert home.found(index, "walrus database") == ["best", "good", "weak"]


def test_a_word_known_to_one_asked_store_is_not_mended_for_another(home: Home, index: SearchIndex) -> None:
    """Asking for what only the global store knows would drag in look-alikes from the project."""
    home.fact("kafka", "Kafka carries the events.")
    home.fact("kafta", "Kafta is on the menu.", store=PROJECT)
    assert home.found(index, "kafka") == ["kafka"]
    assert home.found(index, "kafka", [PROJECT]) == ["kafta"]


def test_mending_adds_and_never_replaces(home: Home, index: SearchIndex) -> None:
    """A mistyped word would keep the rightly typed ones from being found."""
    home.fact("postgres", "Postgres holds the ledger.")
    home.fact("ledger", "The ledger is closed monthly.")
    assert set(home.found(index, "postgers ledger")) == {"postgres", "ledger"}


def test_a_number_is_not_a_typing_error(home: Home, index: SearchIndex) -> None:
    """A question about port 7421 would be answered with port 7420."""
    home.fact("port", "It listens on 7420.")
    assert home.found(index, "7421") == []


def test_equals_come_newest_first(home: Home, index: SearchIndex) -> None:
    """Of two notes that say the same, the outdated one would win."""
    for day in (2, 3, 1):
        home.fact(f"d{day}", "The walrus sleeps.", time=f"2026-11-0{day}T00:00:00Z")
    assert home.found(index, "walrus") == ["d3", "d2", "d1"]


def test_a_named_author_counts(home: Home, index: SearchIndex) -> None:
    """Asking what codex noted would not prefer codex's notes."""
    for number in range(4):
        home.fact(f"filler{number}", f"Chapter {number}.")
    home.fact("one", "The walrus sleeps.", agent="claude", time="2026-11-02T00:00:00Z")
    home.fact("two", "The walrus sleeps.", agent="codex", time="2026-11-01T00:00:00Z")
    assert home.found(index, "walrus")[0] == "one"
    assert home.found(index, "what did codex say of the walrus")[0] == "two"


def test_one_document_is_one_hit_with_its_best_passage(home: Home, index: SearchIndex) -> None:
    """A long topic would fill the whole answer, or be quoted where it says nothing of the matter."""
    sections = "\n\n".join(f"## Part {number}\n\n" + f"Walrus matter {number}. " * 20 for number in range(60))
    home.write("knowledge/long.md", sections + "\n\n## Feeding\n\nThe walrus eats herring at dawn.\n")
    home.fact("short", "A walrus is a mammal.")
    found = home.recall(index, "walrus herring dawn")
    assert found[0].document.path == "knowledge/long.md"
    assert found[0].passage == "## Feeding\n\nThe walrus eats herring at dawn."
    assert len(found) == 2
    assert "short" in home.found(index, "walrus")


def test_headings_find_their_section(home: Home, index: SearchIndex) -> None:
    """A question in the words of a heading would miss the later half of its section."""
    filler = "It is done by hand, step by step, as the manual tells. " * 12
    home.write(
        "knowledge/ops.md", f"# Rollback\n\n{filler}\n\nFinally run the mangle tool.\n\n# Other\n\n{filler}\n"
    )
    assert "mangle tool" in home.recall(index, "rollback mangle")[0].passage


def test_a_description_that_says_more_is_searched(home: Home, index: SearchIndex) -> None:
    """What a person wrote into the description would be found by nobody."""
    home.write(
        "knowledge/t.md", "---\ndescription: how the zamboni is parked\n---\nKeys are in the drawer.\n"
    )
    assert home.found(index, "zamboni") == ["t"]
    home.write("knowledge/t.md", "Keys are in the drawer.\n")
    assert home.found(index, "zamboni") == []


def test_scores_say_how_much_of_the_question_was_found(notes: Home, index: SearchIndex) -> None:
    """A chance match would look as sure as a full answer."""
    sure = notes.recall(index, "ruff mypy")[0].score
    unsure = notes.recall(index, "ruff zebra giraffe antelope hippopotamus")[0].score
    assert unsure < 0.4 < 0.8 < sure


@pytest.mark.parametrize(
    ("query", "name"),
    [
        *[
            ("C++", "cpp"),
            ("self->next", "arrow"),
            ("->", "arrow"),
            ('"not plain C"', "cpp"),
            ("`ruff, then`", "hooks"),
        ],
        *[("what of C++?", "cpp"), ("c++20,", "cpp")],
    ],
)
def test_pieces_with_punctuation_are_found_to_the_letter(
    notes: Home, index: SearchIndex, query: str, name: str
) -> None:
    """`C++` would find every note that speaks of C."""
    notes.fact("c", "C C C C plain next self. The C compiler.")
    assert notes.found(index, query)[0] == name
    assert notes.recall(index, query)[0].score > 0.4


def test_the_passage_of_a_literal_hit_holds_it(home: Home, index: SearchIndex) -> None:
    """The quoted passage would not show what was asked for."""
    filler = "Nothing of interest happens in this paragraph, as in so many. " * 10
    home.write("knowledge/long.md", f"{filler}\n\n{filler}\n\nHere => there.\n\n{filler}\n")
    (match,) = home.recall(index, "=>")
    assert "Here => there." in match.passage


@pytest.mark.report("B31", "B27")
def test_many_readers_and_a_writer_get_along(home: Home, index: SearchIndex) -> None:
    """Two recalls in one message would end in "database is locked"."""
    home.fact("walrus", "The walrus sleeps.")
    home.recall(index, "walrus")
    failures: list[BaseException] = []

    def look() -> None:
        try:
            for _ in range(25):
                assert index.search("walrus", ["global"], 5)
                index.documents("global", ["inbox"], 5, 0)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=look) for _ in range(8)]
    for reader in readers:
        reader.start()
    for number in range(40):
        home.fact(f"n{number}", f"Penguin {number}.")
        index.reconcile(home.files())
    for reader in readers:
        reader.join()
    assert failures == []
    assert index.state().place == "file"


@pytest.mark.report("B81")
def test_recall_goes_on_while_many_files_are_indexed(home: Home, index: SearchIndex) -> None:
    """A search during a large update would wait for it, or see half of it."""
    home.fact("walrus", "The walrus sleeps.")
    home.recall(index, "walrus")
    begun, looked = threading.Event(), threading.Event()

    def reached(name: str) -> None:
        if name == "sql-begun":
            begun.set()
            assert looked.wait(30)

    index._database._reached = reached
    for number in range(200):
        home.fact(f"n{number}", f"Walrus {number}.")
    writer = threading.Thread(target=index.reconcile, args=(home.files(),))
    writer.start()
    assert begun.wait(30)
    assert len(index.search("walrus", ["global"], 20)) == 1
    looked.set()
    writer.join()
    assert len(index.search("walrus", ["global"], 20)) == 20


def test_as_many_hits_as_asked_for(home: Home, index: SearchIndex) -> None:
    """A client that asks for many facts would be cut short, or get them in another order than for a few."""
    for number in range(130):
        home.fact(f"n{number}", f"Walrus {number}. " + "It snores. " * (number % 13))
    found = home.recall(index, "walrus", limit=120)
    assert len(found) == 120
    assert home.recall(index, "walrus", limit=7) == found[:7]
