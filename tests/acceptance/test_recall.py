"""Recall: passages, any bytes as a query, and an index that may vanish at any moment."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.acceptance.house import House

TOPIC = """\
---
title: Services
description: How the services are run
---

# Services

## Billing

The billing service runs nightly on the heliotrope cluster and writes invoices.

## Search

The search service needs a zirconium token and listens on port 9200.
"""


@pytest.mark.acceptance(spec="007-memory", scenario="a topic document recalls at passage granularity")
async def test_topic_is_recalled_by_section(house: House, project: Path, store: str) -> None:
    """An agent would be handed a whole document for a question that one section answers."""
    house.add(store, "A fact that makes the store.")
    (house.store_dir(store) / "knowledge" / "services.md").write_text(TOPIC, "utf-8")
    async with house.agent("claude", project) as claude:
        hit = (await claude.recall("zirconium token port"))[0]
    assert "zirconium token" in hit["text"] and "heliotrope" not in hit["text"]
    assert hit["source"].endswith("/knowledge/services.md")


@pytest.mark.acceptance(spec="007-memory", scenario="vector recall falls back when embedding is unconfigured")
async def test_store_set_to_vectors_answers_by_keyword(house: House, project: Path, store: str) -> None:
    """Asking for vectors before they are set up would silence a store or make every recall an error."""
    house.add(store, "Marmot burrows are mapped in burrows.csv.")
    house.ask("PATCH", f"/memory_stores/{store}", {"retrieval_modes": ["vector"]}).done()
    async with house.agent("claude", project) as claude:
        answer = await claude.answer("recall", query="marmot burrows")
    assert [hit["text"] for hit in answer["hits"]] == ["Marmot burrows are mapped in burrows.csv."]
    assert set(answer) == {"note", "hits"}
    body = {"query": "marmot burrows", "scope": "project"}
    reply = house.ask("POST", f"/memory_stores/{store}/recall", body).done()
    assert set(reply) == {"hits"} and len(reply["hits"]) == 1


QUERIES = [
    "",
    " ",
    '"',
    "AND OR NOT NEAR(",
    "capybara AND",
    "-capybara",
    "capybara*",
    "text:capybara^2",
    "capybara\x00' OR 1=1; DROP TABLE passages; --",
    "(((((((",
    "%s %d {} \\",
    "\ud83d",
    "🐹" * 50,
    "水豚在哪里",
    "capybara " * 5000,
    "a" * 100_000,
]


@pytest.mark.report("B80")
async def test_any_query_is_answered(house: House, project: Path, store: str) -> None:
    """A quote or a dash in a question would be an error where an answer belongs."""
    house.add(store, "Capybara fact: 水豚在池塘里.")
    async with house.agent("claude", project) as claude:
        for query in QUERIES:
            hits = house.recall(store, query)
            assert all(hit["text"] == "Capybara fact: 水豚在池塘里." for hit in hits)
            if "capybara" in query.lower() or "水豚" in query:
                assert hits, query
            if query.isprintable():
                assert [hit["id"] for hit in await claude.recall(query, scope="project")] == [
                    hit["id"] for hit in hits
                ]
    said = house.coffer("memory", "recall", ".", "--scope", "project", "capybara -(", folder=project)
    assert "Capybara fact" in said


@pytest.mark.parametrize("top_k, found", [(-5, 1), (0, 1), (1, 1), (3, 3), (20, 20), (1000, 20)])
def test_number_of_hits_is_kept_in_bounds(house: House, top_k: int, found: int) -> None:
    """A model that asks for a thousand notes would get them all, or an error in place of an answer."""
    store = "project-" + "5" * 26
    if not house.get(f"/memory_stores/{store}").done()["exists"]:
        for number in range(22):
            house.add(store, f"Agouti note number {number}.")
    assert len(house.recall(store, "agouti note", top_k=top_k)) == found


def test_deleting_the_index_changes_no_answer(house: House, project: Path, store: str) -> None:
    """A lost index file would be a lost memory, until somebody rebuilds it or restarts the daemon."""
    for number in range(5):
        house.add(store, f"Vicuna fact {number} about wool.")
    expected = house.recall(store, "vicuna wool")
    metrics = house.get(f"/memory_stores/{store}/metrics").done()
    assert len(expected) == 5

    def without_index() -> None:
        for path in house.home.glob("index.sqlite*"):
            path.unlink()

    for _ in range(3):
        without_index()
        assert house.recall(store, "vicuna wool") == expected
    without_index()
    assert house.get(f"/memory_stores/{store}/metrics").done() == metrics
    without_index()
    fact = house.add(store, "Vicuna fact 5 about wool.")
    without_index()
    again = house.ask("POST", f"/memory_stores/{store}/facts", {"text": fact["text"]}).done()
    assert again["id"] == fact["id"]
    without_index()
    house.ask("PATCH", f"/memory_stores/{store}/facts/{fact['id']}", {"text": "Vicuna fact six."}).done()
    assert "Vicuna fact six." in house.texts(store, "vicuna", top_k=10)

    house.stop()
    without_index()
    house.start()
    assert len(house.recall(store, "vicuna", top_k=10)) == 6
    assert {hit["id"] for hit in expected} < {hit["id"] for hit in house.recall(store, "vicuna", top_k=10)}


@pytest.mark.report("B11")
@pytest.mark.parametrize("how", ["damaged", "old log"])
def test_spoilt_index_changes_no_answer(house: House, store: str, how: str) -> None:
    """A half-written index would make every recall an error, or one put back would revive deleted facts."""
    kept, gone = house.add(store, "Guanaco fact about wool."), house.add(store, "Guanaco fact about milk.")
    assert len(house.recall(store, "guanaco")) == 2
    index, log = house.home / "index.sqlite", house.home / "index.sqlite-wal"
    old = log.read_bytes()
    assert old
    house.ask("DELETE", f"/memory_stores/{store}/facts/{gone['id']}").done(204)
    house.stop()
    if how == "damaged":
        index.write_bytes(b"not a database at all" * 400)
    else:
        index.unlink(missing_ok=True)
        log.write_bytes(old)
    house.start()
    assert [hit["id"] for hit in house.recall(store, "guanaco")] == [kept["id"]]
    assert Path(kept["path"]).is_file()


@pytest.mark.report("B17")
def test_one_bad_file_harms_only_itself(house: House, project: Path, store: str) -> None:
    """A typo in one header would hide every fact of the project."""
    for number in range(5):
        house.add(store, f"Tuco fact {number}.")
    bad = house.add(store, "Tuco fact that gets damaged.")
    assert len(house.recall(store, "tuco", top_k=20)) == 6
    path = Path(bad["path"])
    path.write_text(path.read_text("utf-8").replace("title: ", "title: ["), "utf-8")
    assert len(house.recall(store, "tuco", top_k=20)) == 6
    warnings = [check for check in house.get("/doctor").done()["checks"] if path.name in str(check)]
    assert len(warnings) == 1 and "tuco-fact-3" not in str(warnings)


def test_deleting_the_index_all_the_time_changes_no_answer(house: House, store: str) -> None:
    """A clean-up job that runs in the wrong moment would turn a recall into an error or an empty answer."""
    house.add(store, "Alpaca fact 0 about wool.")
    enough = threading.Event()

    def delete() -> None:
        while not enough.is_set():
            for path in house.home.glob("index.sqlite*"):
                path.unlink(missing_ok=True)

    deleting = threading.Thread(target=delete)
    deleting.start()
    try:
        for number in range(1, 15):
            house.add(store, f"Alpaca fact {number} about wool.")
            assert len(house.recall(store, "alpaca wool", top_k=20)) == number + 1
    finally:
        enough.set()
        deleting.join()
    assert len(house.recall(store, "alpaca wool", top_k=20)) == 15
