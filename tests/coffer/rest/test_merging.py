"""Stores of one project over REST."""

from __future__ import annotations

from coffer.domain.ports import Ports
from tests.coffer.rest.doors import PROJECT, Client
from tests.coffer.rest.memory_ports import MemoryTree

OTHER = "project-ZZZZZZZZZZZZZZZZZZZZZZZZZZ".replace("Z", "7", 1)


async def add(client: Client, store: str, text: str) -> None:
    assert (await client.ask("POST", f"/memory_stores/{store}/facts", {"text": text})).status == 201


async def test_a_scan_and_a_merge(client: Client, ports: Ports) -> None:
    """What is proposed couldn't be done by what the proposal says."""
    for store in (PROJECT, OTHER):
        await add(client, store, f"A fact of {store}.")
        assert isinstance(ports.tree, MemoryTree)
        ports.tree.held[f"projects/{store[8:]}/store.yaml"] = b"remote: example.org/shop\n"
    await add(client, OTHER, "One more.")
    scan = (await client.ask("POST", "/memory_stores/merge_scan", {})).json
    assert scan["engine"] == "no_model" and scan["truncated"] is False
    [proposal] = scan["proposals"]
    assert (proposal["source"], proposal["target"]) == (PROJECT, OTHER)
    assert proposal["source_evidence"]["remote"] == "example.org/shop"
    asked = {"source": proposal["source"], "target": proposal["target"], "organize": False}
    assert (await client.ask("POST", "/memory_stores/merge", asked)).json == {
        "target": OTHER,
        "merged_files": 1,
        "label_moved": False,
        "root_moved": False,
        "aliases": [PROJECT[8:]],
        "reorg_status": "skipped",
    }
    assert (await client.ask("POST", "/memory_stores/merge", asked)).code == "MEMORY_STORE_NOT_FOUND"


async def test_what_is_no_merge_is_refused(client: Client) -> None:
    """A program would have to guess from a failure what it did wrong."""
    for source, target in ((PROJECT, PROJECT), ("global", PROJECT), (PROJECT, "global")):
        reply = await client.ask("POST", "/memory_stores/merge", {"source": source, "target": target})
        assert (reply.status, reply.code) == (400, "MEMORY_STORE_MERGE_INVALID")
    reply = await client.ask("POST", "/memory_stores/merge", {"source": "shop", "target": PROJECT})
    assert reply.code == "MEMORY_STORE_NOT_FOUND"
    assert (await client.ask("POST", "/memory_stores/merge", {"source": PROJECT})).code == "CONFIG_INVALID"
