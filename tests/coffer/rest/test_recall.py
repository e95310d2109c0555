"""Recall through the door."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coffer.domain.ports import Ports
from tests.coffer.rest.doors import PROJECT, Client
from tests.coffer.rest.memory_ports import MemoryIndex


@pytest.fixture
async def told(client: Client) -> Client:
    """A memory of one fact in a project and one in the global store."""
    for store, text in ((PROJECT, "deploys go through make release"), ("global", "deploys need a ticket")):
        await client.ask("POST", f"/memory_stores/{store}/facts", {"text": text})
    return client


async def recall(client: Client, store: str = PROJECT, **body: Any) -> Any:
    """Return the hits."""
    return (await client.ask("POST", f"/memory_stores/{store}/recall", body)).json["hits"]


async def test_hits(told: Client) -> None:
    """An agent or person would get hits without knowing where they come from."""
    hits = await recall(told, query="make release deploys soon x y z")
    root = "/coffer/memory"
    assert [set(hit) for hit in hits] == [{"id", "text", "score", "source", "time"}] * 2
    assert hits[0]["text"] == "deploys go through make release"
    assert hits[0]["score"] == 0.4286
    assert hits[0]["source"].startswith(f"project:{root}/projects/")
    assert hits[1]["source"].startswith(f"global:{root}/global/knowledge/inbox/")


@pytest.mark.parametrize(
    ("store", "scope", "found"),
    [
        (PROJECT, None, 2),
        (PROJECT, "both", 2),
        (PROJECT, "project", 1),
        (PROJECT, "global", 1),
        ("global", None, 1),
        ("global", "both", 1),
        ("global", "global", 1),
    ],
)
async def test_scopes(told: Client, store: str, scope: str | None, found: int) -> None:
    """A recall would look into memories that weren't meant, or miss one that was."""
    body = {"query": "deploys"} | ({"scope": scope} if scope else {})
    assert len(await recall(told, store, **body)) == found


async def test_unknown_scopes(told: Client) -> None:
    """An unknown scope would be taken for some default."""
    for store, scope in (("global", "project"), (PROJECT, "all"), (PROJECT, "")):
        reply = await told.ask("POST", f"/memory_stores/{store}/recall", {"query": "x", "scope": scope})
        assert (reply.code, reply.json["error"]["details"]) == ("CONFIG_INVALID", {"field": "scope"})


@pytest.mark.parametrize(("top_k", "found"), [(1, 1), (0, 1), (-5, 1), (2, 2), (10**30, 2)])
async def test_top_k_is_kept_in_range(told: Client, top_k: int, found: int) -> None:
    """A number out of range would be an error, or let an answer grow without end."""
    assert len(await recall(told, query="deploys", top_k=top_k)) == found


@pytest.mark.parametrize("top_k", [1.5, 2.0, "2", None, True])
async def test_top_k_of_wrong_shape(told: Client, top_k: Any) -> None:
    """Something that is no whole number would reach the index."""
    reply = await told.ask("POST", f"/memory_stores/{PROJECT}/recall", {"query": "x", "top_k": top_k})
    assert reply.json["error"]["details"] == {"field": "top_k"}


async def test_past_isnt_silently_the_present(told: Client) -> None:
    """Somebody who asks for the memory as it was would be answered with the memory as it is."""
    for at in ("then", "", 2026, None):
        reply = await told.ask("POST", f"/memory_stores/{PROJECT}/recall", {"query": "x", "at": at})
        assert reply.json["error"]["details"] == {"field": "at"}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(st.characters(), max_size=200) | st.just("x" * 5000) | st.sampled_from(["", "\0", "\ud800"])
)
async def test_any_query_is_answered(client: Client, query: str) -> None:
    """A search with odd characters in it would be an error instead of an answer."""
    reply = await client.ask("POST", "/memory_stores/global/recall", {"query": query})
    assert reply.status == 200


async def test_index_that_fails(client: Client, ports: Ports) -> None:
    """A fault of ours would be answered with a traceback, or not at all."""
    assert isinstance(ports.index, MemoryIndex)
    ports.index.failure = RuntimeError("x")
    assert (await client.ask("POST", "/memory_stores/global/recall", {"query": "x"})).code == "INTERNAL"
