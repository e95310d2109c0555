"""Fifty who remember at once, ten who say the same, and eight calls in one breath."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio

from tests.faults.home import AGENT, Home

pytestmark = pytest.mark.faults

WRITERS, EACH = 50, 20


@pytest.mark.report("B27", "B81")
def test_fifty_writers(home: Home) -> None:
    """Agents that work side by side would lose each other's notes, or be told that something is locked."""
    home.start().remember("The first fact makes the tree.")

    def write(writer: int) -> list[dict[str, Any]]:
        facts = []
        for number in range(EACH):
            facts.append(home.remember(f"Writer {writer} noted fact {number}."))
            if number % 5 == 4:
                assert home.texts("global", f"writer {writer} fact {number}")
        return facts

    with ThreadPoolExecutor(WRITERS) as writers:
        facts = [fact for some in writers.map(write, range(WRITERS)) for fact in some]
    assert len({fact["id"] for fact in facts}) == WRITERS * EACH
    assert {fact["commit"] for fact in facts} == {"committed"}
    listed = Counter(home.texts_of())
    assert listed == Counter([*(fact["text"] for fact in facts), "The first fact makes the tree."])
    in_head = Counter(home.git("ls-tree", "-r", "--name-only", "main").splitlines())
    assert all(in_head[home.path(fact)] == 1 for fact in facts)
    assert home.git("rev-list", "--count", "main").strip() == str(WRITERS * EACH + 1)
    assert all(fact["text"] in home.texts("global", fact["text"]) for fact in facts[:: WRITERS + 3])
    home.check()


@pytest.mark.report("B19", "B08")
def test_the_same_text_from_ten_at_once(home: Home) -> None:
    """Ten sessions that learn the same thing would leave it in memory ten times."""
    home.start().remember("The first fact makes the tree.")
    for number in range(10):
        text = f"Everybody learns thing {number}."
        with ThreadPoolExecutor(10) as clients:
            replies = list(
                clients.map(
                    lambda _, text=text: home.ask(
                        "POST", "/memory_stores/global/facts", {"text": text}, AGENT
                    ),
                    range(10),
                )
            )
        assert sorted(reply.status for reply in replies) == [200] * 9 + [201]
        assert len({reply.json["id"] for reply in replies}) == 1
    assert len(home.texts_of()) == 11
    home.check()


@pytest.mark.report("B01", "B31")
async def test_eight_calls_in_one_breath(home: Home) -> None:
    """An agent that calls a tool several times in one message would spoil its own notes."""
    home.start()
    async with home.agent("claude-code", home.folder()) as agent:
        async with trio.open_nursery() as calls:
            for number in range(8):
                calls.start_soon(lambda n=number: agent.remember(f"Call {n} of a batch.", scope="global"))
        found: list[list[str]] = []

        async def recall(query: str) -> None:
            found.append(await agent.texts(query, scope="global", top_k=20))

        async with trio.open_nursery() as calls:
            calls.start_soon(recall, "call of a batch")
            calls.start_soon(recall, "batch")
    assert [len(texts) for texts in found] == [8, 8]
    assert home.texts_of() == [f"Call {number} of a batch." for number in range(8)]
    assert len(home.git("ls-tree", "-r", "--name-only", "main", "global/knowledge").splitlines()) == 8
    home.check()
