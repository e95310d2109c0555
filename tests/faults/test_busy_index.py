"""The index locked by somebody else, failing, or read while files change under it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.home import AGENT, Home

pytestmark = pytest.mark.faults


@contextmanager
def locked(home: Home) -> Iterator[None]:
    """Hold the index's write lock, as a maintenance tool would."""
    connection = sqlite3.connect(home.home / "index.sqlite", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@pytest.mark.report("B26", "B36")
def test_a_locked_index_is_waited_for_and_nobody_else_waits(home: Home) -> None:
    """A backup program that reads the index would make recall miss what is new, or freeze the whole daemon."""
    home.start().remember("The first fact is indexed.")
    home.texts_of()
    with ThreadPoolExecutor(1) as client:
        with locked(home):
            assert home.remember("The second fact comes while the index is locked.")["commit"] == "committed"
            recalled = client.submit(home.texts, "global", "fact")
            for _ in range(50):
                assert home.get("/daemon/status").done()["ready"]
            assert not recalled.done()
        assert len(recalled.result()) == 2
    assert home.findings("index")[0]["status"] == "ok"
    home.check()


@pytest.mark.report("B26")
def test_an_index_locked_for_long_is_done_without(home: Home) -> None:
    """A stuck program would silence the memory for as long as it is stuck."""
    home.start().remember("The first fact is indexed.")
    home.texts_of()
    with locked(home):
        home.remember("The second fact comes while the index is locked.")
        assert len(home.texts("global", "fact")) == 2
        (check,) = home.findings("index")
        assert check["status"] == "warning" and "locked" in check["message"]
    home.restart()
    assert len(home.texts("global", "fact")) == 2
    home.check()


@pytest.mark.report("B33", "B35")
def test_an_index_that_fails_costs_no_answer(home: Home) -> None:
    """An error after the text is safe would make the agent say it again, and keep it twice."""
    home.start("sql-begun:raise=EIO")
    fact = home.remember("This is kept though the index fails.")
    assert home.texts("global", "index fails") == [fact["text"]]
    again = home.ask("POST", "/memory_stores/global/facts", {"text": fact["text"]}, AGENT)
    assert (again.status, again.json["id"]) == (200, fact["id"])
    assert home.texts_of() == [fact["text"]]
    home.restart()
    assert home.texts_of() == [fact["text"]]
    home.check()


@pytest.mark.report("B16")
def test_a_fact_is_never_absent_while_it_is_saved(home: Home) -> None:
    """A recall in the wrong moment would say that nothing is known about something that is."""
    fact = home.start().remember("The pelican server is behind the blue door. " * 30)
    path = Path(fact["path"])
    original = path.read_text()

    def save(number: int) -> None:
        text = original + f"\nSaved {number} times.\n"
        if number % 2:
            beside = path.with_suffix(".swp")
            beside.write_text(text)
            beside.replace(path)
        else:
            with path.open("r+b", buffering=0) as file:
                file.truncate(0)
                half = len(text) // 2
                file.write(text[:half].encode())
                os.sched_yield()
                file.write(text[half:].encode())

    with ThreadPoolExecutor(1) as editor:
        saves = editor.map(save, range(400))
        recalls = 0
        while recalls < 60:
            hits = home.recall("global", "pelican blue door")
            assert [hit["id"] for hit in hits] == [fact["id"]]
            recalls += 1
        list(saves)
    assert "Saved 399 times." in home.texts_of()[0]
    home.check(edited=[home.path(fact)], status=[f" M {home.path(fact)}"])
