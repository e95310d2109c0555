"""The past through the door: a store as it was, differences, and who wrote what."""

from __future__ import annotations

import pytest

from tests.coffer.rest.doors import PROJECT, Client

STORE = "/memory_stores/global"


@pytest.fixture
async def commits(client: Client) -> list[str]:
    """The commits of a fact that is edited, and of a second one; oldest first."""
    fact = (await client.ask("POST", f"{STORE}/facts", {"text": "the port is 80"})).json["id"]
    await client.ask("PATCH", f"{STORE}/facts/{fact}", {"text": "the port is 8080"})
    await client.ask("POST", f"{STORE}/facts", {"text": "another"})
    told = (await client.ask("GET", "/history")).json["commits"]
    return [commit["commit"] for commit in reversed(told)]


async def texts(client: Client, ref: str) -> list[str]:
    reply = await client.ask("GET", f"{STORE}/at/{ref}/facts")
    return [fact["text"] for fact in reply.json["facts"]]


async def test_facts_as_they_were(client: Client, commits: list[str]) -> None:
    """Nobody could see what agents were told when something went wrong."""
    assert await texts(client, commits[0][:8].upper()) == ["the port is 80"]
    assert await texts(client, commits[1]) == ["the port is 8080"]
    reply = (await client.ask("GET", f"{STORE}/at/{commits[2]}/facts?limit=1&offset=1")).json
    assert [fact["text"] for fact in reply["facts"]] == ["the port is 8080"]
    assert (reply["total"], reply["commit"], reply["time"]) == (2, commits[2], "2026-06-03T09:02:00Z")


async def test_at_a_time(client: Client, commits: list[str]) -> None:
    """Who knows when, but not which commit, would find nothing."""
    assert await texts(client, "2026-06-03T09:00Z") == ["the port is 80"]
    assert await texts(client, "2026-06-03T11:01:59%2B02:00") == ["the port is 8080"]
    assert len(await texts(client, "2026-06-03")) == 2
    reply = (await client.ask("GET", f"{STORE}/at/2026-06-02/facts")).json
    assert reply == {"facts": [], "total": 0, "commit": None, "time": None}


async def test_store_that_was_not_there_yet(client: Client, commits: list[str]) -> None:
    """Asking for a store before its first fact would be an error."""
    reply = await client.ask("GET", f"/memory_stores/{PROJECT}/at/{commits[0]}/facts")
    assert (reply.status, reply.json["total"]) == (200, 0)


@pytest.mark.parametrize(
    "ref", ["HEAD", "yesterday", "abc", "main~1", "--all", "2026-13-01", "a" * 41, "%00"]
)
async def test_moments_that_are_none(client: Client, commits: list[str], ref: str) -> None:
    """Something that is neither a commit nor a time would be read by git as something else."""
    assert (await client.ask("GET", f"{STORE}/at/{ref}/facts")).code == "CONFIG_INVALID"
    for query in (f"from={ref}", f"from={commits[0]}&to={ref}"):
        assert (await client.ask("GET", f"{STORE}/diff?{query}")).code == "CONFIG_INVALID"
    asked = await client.ask("POST", f"{STORE}/recall", {"query": "port", "at": ref})
    assert asked.code == "CONFIG_INVALID"


async def test_unknown_commit(client: Client, commits: list[str]) -> None:
    """A commit that nobody knows would look like an empty memory."""
    assert (await client.ask("GET", f"{STORE}/at/ffffffff/facts")).code == "MEMORY_NOT_FOUND"
    assert (await client.ask("GET", f"{STORE}/diff?from=ffffffff")).code == "MEMORY_NOT_FOUND"
    asked = await client.ask("POST", f"{STORE}/recall", {"query": "port", "at": "ffff"})
    assert asked.code == "MEMORY_NOT_FOUND"


async def test_diff(client: Client, commits: list[str]) -> None:
    """Nobody could see what became of a store since last week."""
    found = (await client.ask("GET", f"{STORE}/diff?from={commits[0]}&to={commits[1]}")).json
    assert (found["from"]["commit"], found["to"]["commit"], found["total"]) == (commits[0], commits[1], 1)
    (file,) = found["files"]
    assert file["status"] == "changed" and "8080" in file["diff"]
    assert file["path"].startswith("/coffer/memory/global/knowledge/inbox/")
    found = (await client.ask("GET", f"{STORE}/diff?from=2020-01-01")).json
    assert (found["from"], found["to"]["commit"]) == ({"commit": None, "time": None}, commits[2])
    assert found["total"] == 3 and len(found["files"]) == 1
    assert (await client.ask("GET", f"{STORE}/diff")).json == found


async def test_blame(client: Client, commits: list[str]) -> None:
    """Nobody could tell which agent wrote a line."""
    fact = (await client.ask("GET", f"{STORE}/facts")).json["facts"][-1]["id"]
    lines = (await client.ask("GET", f"{STORE}/facts/{fact}/blame")).json["lines"]
    assert lines[-1] == {
        "commit": commits[1],
        "time": "2026-06-03T09:01:00Z",
        "actor": "user",
        "agent": None,
        "session": None,
        "text": "the port is 8080",
    }
    assert (await client.ask("GET", f"{STORE}/facts/{'0' * 26}/blame")).code == "MEMORY_NOT_FOUND"


async def test_recall_at(client: Client, commits: list[str]) -> None:
    """Recall at a time would answer with what was remembered since."""

    async def found(at: str) -> list[str]:
        reply = await client.ask("POST", f"{STORE}/recall", {"query": "port 8080 another", "at": at})
        return [hit["text"] for hit in reply.json["hits"]]

    assert await found(commits[0]) == ["the port is 80"]
    assert sorted(await found("2026-06-04")) == ["another", "the port is 8080"]
    assert await found("2026-06-01") == []
