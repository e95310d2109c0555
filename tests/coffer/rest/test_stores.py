"""Stores through the door."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from coffer.domain.ports import Ports
from coffer.domain.stores import Project, store_named
from tests.coffer.rest.doors import PROJECT, Client
from tests.coffer.rest.memory_ports import KnownProjects, MemoryTree, failing

HERE = Project(store_named(PROJECT), "/work/shop", "main", None, "example.org/shop")


@pytest.fixture
def project(ports: Ports) -> Project:
    """A project in /work/shop and in a folder whose name isn't UTF-8."""
    assert isinstance(ports.identity, KnownProjects)
    ports.identity.projects |= {"/work/shop": HERE, "/work/caf\udce9": HERE}
    return HERE


async def add(
    client: Client, store: str, text: str = "Deploys go through make release", **headers: str
) -> Any:
    """Remember a text and return the fact."""
    reply = await client.ask("POST", f"/memory_stores/{store}/facts", {"text": text}, headers=headers)
    assert reply.status == 201
    return reply.json


async def test_list(client: Client) -> None:
    """A person couldn't see which memories there are."""
    assert (await client.ask("GET", "/memory_stores")).json == {"memory_stores": []}
    await add(client, PROJECT)
    await add(client, "global")
    stores = (await client.ask("GET", "/memory_stores")).json["memory_stores"]
    assert [store["name"] for store in stores] == ["global", PROJECT]


async def test_show(client: Client) -> None:
    """A store would be told with fields that nobody can rely on."""
    await add(client, "global")
    assert (await client.ask("GET", "/memory_stores/global")).json == {
        "name": "global",
        "scope": "global",
        "project_id": "0" * 26,
        "display_name": "global",
        "label": None,
        "project_root": None,
        "remote": None,
        "store_dir": "/coffer/memory/global",
        "exists": True,
        "fact_count": 1,
        "merged_identities": [],
        "config": {"max_fact_chars": 8192, "retrieval_modes": ["keyword", "grep"]},
        "created_at": "2026-06-03T00:00:01Z",
        "updated_at": "2026-06-03T00:00:01Z",
    }


async def test_absent_store(client: Client) -> None:
    """A project without memory would look like a mistake."""
    store = (await client.ask("GET", f"/memory_stores/{PROJECT}")).json
    assert (store["exists"], store["fact_count"], store["created_at"]) == (False, 0, None)


@pytest.mark.parametrize("folder", ["/work/shop", "/work/caf%E9", "%2Fwork%2Fshop"])
async def test_store_of_a_folder(client: Client, project: Project, folder: str) -> None:
    """`.` on the command line would find no store, or make one."""
    stores = (await client.ask("GET", f"/memory_stores?cwd={folder}")).json["memory_stores"]
    assert [(store["name"], store["exists"]) for store in stores] == [(PROJECT, False)]


@pytest.mark.parametrize(
    ("folder", "code"),
    [
        ("/elsewhere", "SCOPE_UNRESOLVED"),
        ("shop", "CONFIG_INVALID"),
        ("", "CONFIG_INVALID"),
        ("/work/shop%00", "CONFIG_INVALID"),
        ("/work/shop&cwd=/elsewhere", "CONFIG_INVALID"),
    ],
)
async def test_no_store_of_a_folder(client: Client, project: Project, folder: str, code: str) -> None:
    """A folder outside every project would silently mean some store."""
    assert (await client.ask("GET", f"/memory_stores?cwd={folder}")).code == code


async def test_project_becomes_known(client: Client, project: Project) -> None:
    """A person couldn't tell which project a store belongs to."""
    await add(client, PROJECT, **{"x-coffer-cwd": quote("/work/shop")})
    store = (await client.ask("GET", f"/memory_stores/{PROJECT}")).json
    assert (store["project_root"], store["remote"]) == ("/work/shop", "example.org/shop")
    assert store["display_name"] == "shop"


@pytest.mark.parametrize("store", ["global", "project-7ZZZZZZZZZZZZZZZZZZZZZZZZZ"])
async def test_project_of_another_store(client: Client, project: Project, store: str) -> None:
    """A fact written from one project into another store would give that store the wrong project."""
    await add(client, store, **{"x-coffer-cwd": "/work/shop"})
    told = (await client.ask("GET", f"/memory_stores/{store}")).json
    assert (told["project_root"], told["remote"]) == (None, None)


@pytest.mark.parametrize("folder", ["work/shop", "%00", "/x%00", ""])
async def test_folder_that_is_none(client: Client, folder: str) -> None:
    """A folder that means something else to the daemon than to its caller would be taken as it is."""
    reply = await client.ask(
        "POST", "/memory_stores/global/facts", {"text": "x"}, headers={"x-coffer-cwd": folder}
    )
    assert (reply.code, reply.json["error"]["details"]) == ("CONFIG_INVALID", {"field": "X-Coffer-Cwd"})


async def test_label(client: Client) -> None:
    """A name that a person gave would be lost, or couldn't be taken away again."""
    await add(client, "global")
    store = (await client.ask("PATCH", "/memory_stores/global/label", {"label": " My notes\n"})).json
    assert (store["label"], store["display_name"]) == ("My notes", "My notes")
    store = (await client.ask("PATCH", "/memory_stores/global/label", {"label": "  "})).json
    assert (store["label"], store["display_name"]) == (None, "global")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "label"),
        ({"label": None}, "label"),
        ({"label": 1}, "label"),
        ({"label": "x" * 201}, "label"),
        ({"label": "\ud800"}, "label"),
        ({"label": "x", "name": "y"}, "name"),
    ],
)
async def test_label_of_wrong_shape(client: Client, body: Any, field: str) -> None:
    """A person would be told that something is wrong, but not what."""
    await add(client, "global")
    reply = await client.ask("PATCH", "/memory_stores/global/label", body)
    assert (reply.status, reply.json["error"]["details"]) == (422, {"field": field})


async def test_configure(client: Client) -> None:
    """A store's limits couldn't be set, or setting one would undo the other."""
    await add(client, "global")
    path = "/memory_stores/global"
    await client.ask("PATCH", path, {"max_fact_chars": 100})
    store = (await client.ask("PATCH", path, {"retrieval_modes": ["grep"]})).json
    assert store["config"] == {"max_fact_chars": 100, "retrieval_modes": ["grep"]}
    reply = await client.ask("POST", f"{path}/facts", {"text": "x" * 101})
    assert reply.json["error"]["details"] == {"reason": "too_long", "length": 101, "limit": 100}


@pytest.mark.parametrize(
    "body",
    [
        {"max_fact_chars": 63},
        {"max_fact_chars": 32769},
        {"max_fact_chars": 100.0},
        {"max_fact_chars": "100"},
        {"max_fact_chars": True},
        {"max_fact_chars": None},
        {"retrieval_modes": []},
        {"retrieval_modes": ["telepathy"]},
        {"retrieval_modes": "grep"},
        {"label": "x"},
    ],
)
async def test_configure_wrongly(client: Client, ports: Ports, body: Any) -> None:
    """A setting that means nothing would be written into the store's file."""
    await add(client, "global")
    assert isinstance(ports.tree, MemoryTree)
    before = dict(ports.tree.held)
    assert (await client.ask("PATCH", "/memory_stores/global", body)).code == "CONFIG_INVALID"
    assert ports.tree.held == before


async def test_metrics(client: Client, ports: Ports) -> None:
    """A person couldn't see how much a store holds."""
    await add(client, "global")
    assert isinstance(ports.tree, MemoryTree)
    size = sum(map(len, ports.tree.held.values()))
    assert (await client.ask("GET", "/memory_stores/global/metrics")).json == {
        "fact_count": 1,
        "topic_count": 0,
        "inbox_count": 1,
        "rule_count": 0,
        "journal_days": 0,
        "handoff_count": 0,
        "disk_bytes": size,
        "last_write_at": "2026-06-03T00:00:01Z",
    }


async def test_damaged_settings(client: Client, ports: Ports) -> None:
    """A store.yaml with a slip in it would be written over, or make the store disappear."""
    await add(client, "global")
    assert isinstance(ports.tree, MemoryTree)
    ports.tree.held["global/store.yaml"] = b"label: [\n"
    assert (await client.ask("GET", "/memory_stores/global")).status == 200
    reply = await client.ask("PATCH", "/memory_stores/global/label", {"label": "x"})
    assert (reply.status, reply.code) == (409, "FILE_UNREADABLE")


async def test_unexpected_failure_of_label(client: Client, ports: Ports) -> None:
    """A fault of ours would be answered with a traceback."""
    await add(client, "global")
    failing(ports, RuntimeError("x"))
    assert (await client.ask("PATCH", "/memory_stores/global/label", {"label": "x"})).status == 500
