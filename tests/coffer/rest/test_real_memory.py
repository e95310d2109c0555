"""The same door on the real memory: files, git and the index."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from coffer.bootstrap import open_ports
from coffer.domain.ports import Ports
from tests.coffer.rest.doors import Client

FACTS = "/memory_stores/global/facts"


@pytest.fixture
async def ports(tmp_path: Path) -> AsyncIterator[Ports]:
    """The memory of an empty home."""
    (tmp_path / "home").mkdir()
    async with open_ports(str(tmp_path / "home"), {"HOME": str(tmp_path)}) as opened:
        yield opened


def git(home: Path, *arguments: str) -> str:
    """Run git in the memory tree, as its owner would."""
    done = subprocess.run(
        ["git", "-C", str(home / "memory"), *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


async def test_a_facts_life(client: Client, tmp_path: Path) -> None:
    """What the door answers and what is in the files and in git would be two different things."""
    added = await client.ask("POST", FACTS, {"text": "Deploys go through make release"})
    file, path = Path(added.json["path"]), f"{FACTS}/{added.json['id']}"
    assert "Deploys go through make release" in file.read_text()

    etag = added.headers["etag"]
    file.write_text(file.read_text().replace("make release", "make ship"))
    stale = await client.ask("PATCH", path, {"text": "no"}, headers={"if-match": etag})
    assert stale.code == "STALE_WRITE"
    read = await client.ask("GET", path)
    assert read.json["text"] == "Deploys go through make ship"
    edited = await client.ask(
        "PATCH", path, {"text": "Deploys go through CI"}, headers={"if-match": read.headers["etag"]}
    )
    assert edited.headers["etag"].strip('"') == git(tmp_path / "home", "hash-object", str(file)).strip()

    assert await recalled(client, "ci") == ["Deploys go through CI"]
    assert (await client.ask("DELETE", path)).status == 204
    assert not file.exists()
    assert await recalled(client, "ci") == []

    versions = (await client.ask("GET", f"{path}/history")).json["versions"]
    assert [version["text"] for version in versions] == [
        None,
        "Deploys go through CI",
        "Deploys go through make ship",
        "Deploys go through make release",
    ]
    restored = await client.ask("POST", f"{path}/restore", {"commit": versions[1]["commit"]})
    assert restored.json["text"] == "Deploys go through CI"
    assert restored.headers["etag"] == edited.headers["etag"]
    assert git(tmp_path / "home", "status", "--porcelain") == ""
    subjects = git(tmp_path / "home", "log", "--format=%s").splitlines()
    commits = (await client.ask("GET", "/memory_stores/global/history")).json["commits"]
    assert [commit["subject"] for commit in commits] == subjects
    assert (
        await client.ask("GET", "/memory_stores/global/history?before=ffffffff")
    ).code == "MEMORY_NOT_FOUND"
    doctor = (await client.ask("GET", "/doctor")).json
    assert doctor["ok"], doctor


async def recalled(client: Client, query: str) -> list[str]:
    """Return the texts that a recall finds."""
    reply = await client.ask("POST", "/memory_stores/global/recall", {"query": query})
    return [hit["text"] for hit in reply.json["hits"]]


async def test_foreign_lock(client: Client, tmp_path: Path) -> None:
    """A fact would be refused, or wait for ever, while the person's own git is at work."""
    await client.ask("POST", FACTS, {"text": "first"})
    lock = tmp_path / "home" / "memory" / ".git" / "index.lock"
    lock.touch()
    added = (await client.ask("POST", FACTS, {"text": "second"})).json
    assert added["commit"] == "pending"
    read = (await client.ask("GET", f"{FACTS}/{added['id']}")).json
    assert (read["commit"], read["text"]) == ("pending", "second")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", f"{FACTS}?limit=200&offset=1000000000", None),
        ("GET", "/memory_stores/global/history?path=%5C..%5C..", None),
        ("GET", "/memory_stores/global/history?path=a//./b/", None),
        ("GET", "/memory_stores/global/history?path=*%3F%5B", None),
        ("GET", "/audit?before=x%27%3B--&event=%25&limit=500", None),
        ("GET", "/invocations?tool=%00&agent=%27", None),
        ("GET", "/memory_stores?cwd=/", None),
        ("GET", "/memory_stores?cwd=/%ff", None),
        (
            "POST",
            "/memory_stores/global/recall",
            {"query": "NEAR( \0 \ud800 * \" ' -- {x} :", "top_k": 10**40},
        ),
        ("PATCH", "/memory_stores/global/label", {"label": "# : 'x' \u202e [\u2028"}),
        ("POST", FACTS, {"text": "---\nid: x\n---\n", "title": "../..", "description": "'\": #"}),
    ],
)
async def test_odd_requests(client: Client, method: str, path: str, body: Any) -> None:
    """A character that means something to git, SQL, YAML or the file system would bring an error of ours."""
    await client.ask("POST", FACTS, {"text": "first"})
    assert (await client.ask(method, path, body)).status < 500
