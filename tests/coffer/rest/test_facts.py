"""Facts through the door: added, listed, read, mended, deleted, cleared."""

from __future__ import annotations

from typing import Any

import pytest

from coffer.domain.errors import ConfigInvalid
from coffer.domain.ports import Ports
from coffer.surfaces.rest.facts import matching_tags
from tests.coffer.rest.doors import PROJECT, Client, Reply
from tests.coffer.rest.memory_ports import MemoryState, MemoryTree

FACTS = "/memory_stores/global/facts"
# In two parts, so that nobody who looks for secrets finds one here.
SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


async def add(client: Client, text: str = "Deploys go through make release", **fields: Any) -> Reply:
    """Remember a text."""
    return await client.ask("POST", FACTS, {"text": text, **fields})


async def test_add(client: Client) -> None:
    """A fact would be told with fields that nobody can rely on."""
    reply = await client.ask(
        "POST",
        f"/memory_stores/{PROJECT}/facts",
        {"text": "Deploys go through `make release`.\n", "title": "Deploys", "description": "How."},
        headers={"x-coffer-actor": "agent", "x-coffer-agent": "codex"},
    )
    assert reply.status == 201
    fact = reply.json
    folder = f"/coffer/memory/projects/{PROJECT.removeprefix('project-')}/knowledge/inbox/2026-06"
    assert fact == {
        "id": fact["id"],
        "store_name": PROJECT,
        "scope": "project",
        "lane": "inbox",
        "title": "Deploys",
        "description": "How.",
        "text": "Deploys go through `make release`.",
        "actor": "agent",
        "agent": "codex",
        "origin_session_id": None,
        "path": f"{folder}/deploys-{fact['id'][-8:].lower()}.md",
        "folder_path": folder,
        "created_at": "2026-06-03T00:00:01Z",
        "updated_at": "2026-06-03T00:00:01Z",
        "commit": "committed",
    }
    assert reply.headers["etag"].startswith('"')


async def test_user_is_the_default(client: Client) -> None:
    """What a person wrote would be held for an agent's."""
    assert (await add(client)).json["actor"] == "user"


@pytest.mark.parametrize(
    "headers",
    [
        {"x-coffer-actor": "root"},
        {"x-coffer-actor": ""},
        {"x-coffer-actor": "User"},
        {"x-coffer-agent": ""},
        {"x-coffer-agent": "x" * 101},
        {"x-coffer-agent": "a <b@c>"},
        {"x-coffer-agent": "caf\xe9"},
        {"x-coffer-agent": " codex"},
    ],
)
async def test_nobody_in_particular(client: Client, headers: dict[str, str]) -> None:
    """A commit's author could be forged by a name that git reads as more than a name."""
    reply = await client.ask("POST", FACTS, {"text": "x"}, headers=headers)
    assert (reply.code, reply.json["error"]["details"]["field"].lower()) == (
        "CONFIG_INVALID",
        next(iter(headers)),
    )


async def test_same_text_again(client: Client) -> None:
    """A text that is remembered twice would be kept twice."""
    first, second = await add(client), await add(client, "Deploys go through make release\n")
    assert (second.status, second.json, second.headers["etag"]) == (200, first.json, first.headers["etag"])


@pytest.mark.parametrize("text", ["", " \n\t "])
async def test_empty(client: Client, text: str) -> None:
    """An empty note would be kept."""
    reply = await add(client, text)
    assert (reply.status, reply.code) == (422, "MEMORY_REJECTED")
    assert reply.json["error"]["details"] == {"reason": "empty"}


async def test_too_long(client: Client) -> None:
    """A file pasted by mistake would be kept, or refused without saying how much is allowed."""
    assert (await add(client, "x" * 8192)).status == 201
    reply = await add(client, "x" * 8193)
    assert reply.json["error"]["details"] == {"reason": "too_long", "length": 8193, "limit": 8192}


async def test_secret(client: Client, ports: Ports) -> None:
    """A key would be kept in plain files and in every copy of them; or the refusal would repeat it."""
    reply = await add(client, f"The token is {SECRET}")
    assert reply.json["error"]["details"]["reason"] == "secret"
    assert SECRET.encode() not in reply.body
    assert isinstance(ports.tree, MemoryTree)
    assert ports.tree.held == {}


async def test_insisting_on_a_secret(client: Client) -> None:
    """A person couldn't keep what only looks like a key, or an agent could keep a real one."""
    body = {"text": f"The token is {SECRET}", "allow_secret": True}
    reply = await client.ask("POST", FACTS, body, headers={"x-coffer-actor": "agent"})
    assert reply.code == "MEMORY_REJECTED"
    assert (await client.ask("POST", FACTS, body)).status == 201


async def test_supersede(client: Client, ports: Ports) -> None:
    """A fact that is replaced would stay, or be gone without a trace."""
    old = (await add(client)).json
    new = (await add(client, "Deploys go through CI", supersedes=[old["id"]])).json
    assert [fact["id"] for fact in (await client.ask("GET", FACTS)).json["facts"]] == [new["id"]]
    assert isinstance(ports.tree, MemoryTree)
    assert [path for path in ports.tree.held if path.startswith("global/superseded/")]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": None}, "text"),
        ({"text": 1}, "text"),
        ({"text": ["x"]}, "text"),
        ({"text": "x\0"}, "text"),
        ({"text": "\udc80"}, "text"),
        ({"text": "x", "title": "\ud800"}, "title"),
        ({"text": "x", "title": "x" * 201}, "title"),
        ({"text": "x", "description": "x" * 1001}, "description"),
        ({"text": "x", "supersedes": "abc"}, "supersedes"),
        ({"text": "x", "supersedes": [1]}, "supersedes.0"),
        ({"text": "x", "supersedes": ["a"] * 51}, "supersedes"),
        ({"text": "x", "allow_secret": "yes"}, "allow_secret"),
        ({"text": "x", "allow_secret": 1}, "allow_secret"),
        ({"text": "x", "type": "note"}, "type"),
    ],
)
async def test_wrong_shapes(client: Client, ports: Ports, body: Any, field: str) -> None:
    """A client's mistake would be kept, bring an error of ours, or be refused without saying where it is."""
    reply = await client.ask("POST", FACTS, body)
    assert (reply.status, reply.code) == (422, "CONFIG_INVALID")
    assert reply.json["error"]["details"] == {"field": field}
    assert isinstance(ports.tree, MemoryTree)
    assert ports.tree.held == {}


async def test_supersede_the_unknown(client: Client) -> None:
    """A fact would be kept although what it replaces wasn't found."""
    reply = await add(client, supersedes=["../../x"])
    assert (reply.status, reply.code) == (404, "MEMORY_NOT_FOUND")


async def test_list(client: Client) -> None:
    """A person couldn't page through a store."""
    ids = [(await add(client, f"fact {number}")).json["id"] for number in range(5)][::-1]
    page = (await client.ask("GET", f"{FACTS}?limit=2&offset=1")).json
    assert ([fact["id"] for fact in page["facts"]], page["total"]) == (ids[1:3], 5)
    assert (await client.ask("GET", f"{FACTS}?lane=topic")).json == {"facts": [], "total": 0}
    assert (await client.ask("GET", f"{FACTS}?offset=99")).json == {"facts": [], "total": 5}


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=201",
        "limit=-1",
        "limit=x",
        "limit=",
        "limit=1.0",
        "limit=%D9%A3",
        "limit=1&limit=2",
        "limit=99999999999999999999",
        "offset=-1",
        "offset=99999999999",
        "lane=rules",
        "lane=",
        "lane=%ff",
        "&".join(f"a{number}=1" for number in range(99)),
    ],
)
async def test_wrong_pages(client: Client, query: str) -> None:
    """A slip in a parameter would be taken for the default, or bring an error of ours."""
    assert (await client.ask("GET", f"{FACTS}?{query}")).code == "CONFIG_INVALID"


async def test_get(client: Client) -> None:
    """A fact couldn't be read, or its ETag wouldn't be the one of the file."""
    added = await add(client)
    reply = await client.ask("GET", f"{FACTS}/{added.json['id']}")
    assert (reply.json, reply.headers["etag"]) == (added.json, added.headers["etag"])
    assert (await client.ask("HEAD", f"{FACTS}/{added.json['id']}")).headers["etag"] == added.headers["etag"]


async def test_edit(client: Client) -> None:
    """A correction would lose what it doesn't mention, or the new ETag."""
    added = await add(client, title="Deploys")
    path = f"{FACTS}/{added.json['id']}"
    reply = await client.ask("PATCH", path, {"text": "Deploys go through CI"})
    assert (reply.status, reply.json["title"], reply.json["text"]) == (
        200,
        "Deploys",
        "Deploys go through CI",
    )
    assert reply.headers["etag"] != added.headers["etag"]
    assert (await client.ask("GET", path)).headers["etag"] == reply.headers["etag"]


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        ("{tag}", True),
        ("*", True),
        ('"other", {tag}', True),
        ('{tag},"other"', True),
        ('"other"', False),
        ("W/{tag}", False),
        ('W/{tag}, "other"', False),
    ],
)
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_conditions(client: Client, method: str, condition: str, passes: bool) -> None:
    """Somebody's correction would be written over by somebody who never saw it."""
    added = await add(client)
    path = f"{FACTS}/{added.json['id']}"
    reply = await client.ask(
        method,
        path,
        {"text": "new"} if method == "PATCH" else None,
        headers={"if-match": condition.format(tag=added.headers["etag"])},
    )
    if passes:
        assert reply.status == (200 if method == "PATCH" else 204)
    else:
        assert (reply.status, reply.code) == (412, "STALE_WRITE")
        assert (await client.ask("GET", path)).json == added.json


async def test_conditions_in_two_headers(client: Client) -> None:
    """A list of ETags that a client sends as several headers would lose all but one."""
    added = await add(client)
    reply = await client.ask(
        "PATCH",
        f"{FACTS}/{added.json['id']}",
        {"text": "new"},
        headers={"if-match": '"other"'},
        more_headers=[("if-match", added.headers["etag"])],
    )
    assert reply.status == 200


@pytest.mark.parametrize("value", ["abc", '"abc', 'abc"', '"a" "b"', "", '"a",b', "W/abc", '*, "a"', ","])
def test_malformed_conditions(value: str) -> None:
    """A condition that can't be read would be taken as met."""
    with pytest.raises(ConfigInvalid):
        matching_tags(value)


async def test_condition_on_the_missing(client: Client) -> None:
    """A fact that is gone would be said to have changed."""
    path = f"{FACTS}/01JABCDEFGHJKMNPQRSTVWXYZ0"
    reply = await client.ask("PATCH", path, {"text": "new"}, headers={"if-match": '"x"'})
    assert reply.code == "MEMORY_NOT_FOUND"


async def test_edit_by_hand_meanwhile(client: Client, ports: Ports) -> None:
    """An edit in an editor would be lost to a client that read the fact before it."""
    added = await add(client)
    assert isinstance(ports.tree, MemoryTree)
    path = added.json["path"].removeprefix("/coffer/memory/")
    ports.tree.held[path] += b"by hand\n"
    reply = await client.ask(
        "PATCH",
        f"{FACTS}/{added.json['id']}",
        {"text": "new"},
        headers={"if-match": added.headers["etag"]},
    )
    assert reply.code == "STALE_WRITE"
    assert ports.tree.held[path].endswith(b"by hand\n")


async def test_delete(client: Client) -> None:
    """A fact would still be found after it was deleted, or its history be gone."""
    fact = (await add(client)).json
    reply = await client.ask("DELETE", f"{FACTS}/{fact['id']}")
    assert (reply.status, reply.body) == (204, b"")
    assert (await client.ask("GET", f"{FACTS}/{fact['id']}")).code == "MEMORY_NOT_FOUND"
    assert (await client.ask("DELETE", f"{FACTS}/{fact['id']}")).code == "MEMORY_NOT_FOUND"
    versions = (await client.ask("GET", f"{FACTS}/{fact['id']}/history")).json["versions"]
    assert [version["text"] for version in versions] == [None, fact["text"]]


async def test_clear(client: Client) -> None:
    """Clearing would take the store with it, or count wrongly."""
    for number in range(3):
        await add(client, f"fact {number}")
    assert (await client.ask("DELETE", FACTS)).json == {"cleared": 3}
    assert (await client.ask("DELETE", FACTS)).json == {"cleared": 0}
    assert (await client.ask("GET", "/memory_stores/global")).json["exists"]


async def test_pending(client: Client, ports: Ports) -> None:
    """A fact that git couldn't take yet would look lost, or look committed."""
    assert isinstance(ports.tree, MemoryTree)
    ports.tree.pending_reason = "rebase in progress"
    added = (await add(client)).json
    read = (await client.ask("GET", f"{FACTS}/{added['id']}")).json
    listed = (await client.ask("GET", FACTS)).json["facts"][0]
    for fact in (added, read, listed):
        assert (fact["commit"], fact["pending_reason"]) == ("pending", "rebase in progress")


async def test_hand_made_file(client: Client, ports: Ports) -> None:
    """A note that a person put there without any frontmatter couldn't be told."""
    assert isinstance(ports.tree, MemoryTree)
    ports.tree.held["global/knowledge/deploys.md"] = b"Deploys go through make release\n"
    fact = (await client.ask("GET", FACTS)).json["facts"][0]
    assert (fact["lane"], fact["created_at"], fact["actor"]) == ("topic", None, "user")
    assert (await client.ask("GET", f"{FACTS}/{fact['id']}")).json == fact


async def test_audit_of_facts(client: Client, ports: Ports) -> None:
    """Nobody could tell later who changed what, or the record would hold what was remembered."""
    fact = (await add(client)).json
    await client.ask("DELETE", f"{FACTS}/{fact['id']}", headers={"x-coffer-actor": "system"})
    assert isinstance(ports.state, MemoryState)
    assert [(event.event, event.caller.actor) for event in ports.state.events] == [
        ("memory_deleted", "system"),
        ("memory_added", "user"),
        ("store_created", "user"),
    ]
