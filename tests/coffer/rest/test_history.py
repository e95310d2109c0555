"""History through the door: what happened, and what is brought back."""

from __future__ import annotations

import pytest

from tests.coffer.rest.doors import PROJECT, Client

FACTS = "/memory_stores/global/facts"


@pytest.fixture
async def fact(client: Client) -> str:
    """A fact with two versions, and one beside it."""
    added = await client.ask("POST", FACTS, {"text": "first"})
    await client.ask("POST", FACTS, {"text": "another"})
    fact = added.json["id"]
    headers = {"x-coffer-actor": "agent", "x-coffer-agent": "codex"}
    await client.ask("PATCH", f"{FACTS}/{fact}", {"text": "second"}, headers=headers)
    return str(fact)


async def test_history_of_a_store(client: Client, fact: str) -> None:
    """Nobody could see who changed what."""
    commits = (await client.ask("GET", "/memory_stores/global/history")).json["commits"]
    told = [(commit["op"], commit["actor"], commit["agent"]) for commit in commits]
    assert told == [("edit", "agent", "codex"), ("remember", "user", None), ("remember", "user", None)]
    assert commits[0]["subject"] == "edit: second"
    assert commits[0]["paths"][0].startswith("/coffer/memory/global/knowledge/inbox/2026-06/first-")


async def test_pages_of_history(client: Client, fact: str) -> None:
    """A long history couldn't be read to its end."""
    path = "/memory_stores/global/history"
    every = (await client.ask("GET", path)).json["commits"]
    first = (await client.ask("GET", f"{path}?limit=1")).json["commits"]
    rest = (await client.ask("GET", f"{path}?before={first[0]['commit']}")).json["commits"]
    assert first + rest == every


async def test_history_of_a_path(client: Client, fact: str) -> None:
    """The changes of one file couldn't be told from those of the rest."""
    path = "/memory_stores/global/history"
    commits = (await client.ask("GET", f"{path}?path=store.yaml")).json["commits"]
    assert [commit["op"] for commit in commits] == ["remember"]
    assert (await client.ask("GET", f"{path}?path=nothing.md")).json == {"commits": []}


@pytest.mark.report("B57")
@pytest.mark.parametrize(
    "query",
    [
        "path=../x",
        "path=/etc/passwd",
        "path=a/../../b",
        "path=%2e%2e/x",
        "path=a%00",
        "path=%ff",
        "before=HEAD",
        "before=--all",
        "before=abcd%0a",
        "before=",
        "limit=501",
    ],
)
async def test_paths_and_commits_that_are_none(client: Client, query: str) -> None:
    """A path could lead out of the store, or a commit's name be read as something else by git."""
    assert (await client.ask("GET", f"/memory_stores/global/history?{query}")).code == "CONFIG_INVALID"


async def test_unknown_commit(client: Client, fact: str) -> None:
    """History before a commit that nobody knows would look empty."""
    reply = await client.ask("GET", "/memory_stores/global/history?before=ffffffff")
    assert reply.code == "MEMORY_NOT_FOUND"


async def test_versions(client: Client, fact: str) -> None:
    """Nobody could see what a fact used to say."""
    versions = (await client.ask("GET", f"{FACTS}/{fact}/history")).json["versions"]
    assert [(version["op"], version["text"]) for version in versions] == [
        ("edit", "second"),
        ("remember", "first"),
    ]
    assert versions[0]["path"].startswith("/coffer/memory/global/")
    limited = (await client.ask("GET", f"{FACTS}/{fact}/history?limit=1")).json["versions"]
    assert limited == versions[:1]


async def test_restore(client: Client, fact: str) -> None:
    """A version couldn't be brought back, or bringing it back would lose the present one."""
    versions = (await client.ask("GET", f"{FACTS}/{fact}/history")).json["versions"]
    reply = await client.ask(
        "POST", f"{FACTS}/{fact}/restore", {"commit": versions[1]["commit"][:12].upper()}
    )
    assert (reply.status, reply.json["id"], reply.json["text"]) == (200, fact, "first")
    assert reply.headers["etag"] == (await client.ask("GET", f"{FACTS}/{fact}")).headers["etag"]
    versions = (await client.ask("GET", f"{FACTS}/{fact}/history")).json["versions"]
    assert [version["text"] for version in versions] == ["first", "second", "first"]


async def test_restore_the_deleted(client: Client, fact: str) -> None:
    """A fact that was deleted by mistake would be gone."""
    await client.ask("DELETE", f"{FACTS}/{fact}")
    versions = (await client.ask("GET", f"{FACTS}/{fact}/history")).json["versions"]
    reply = await client.ask("POST", f"{FACTS}/{fact}/restore", {"commit": versions[1]["commit"]})
    assert reply.json["text"] == "second"
    assert (await client.ask("GET", f"{FACTS}/{fact}")).status == 200


@pytest.mark.parametrize(
    "commit", ["HEAD", "abc", "x" * 40, "a" * 41, "abcd\n", "--all", "main~1", "", None, 1]
)
async def test_restore_from_no_commit(client: Client, fact: str, commit: object) -> None:
    """Something that is no commit would be read by git as something else."""
    reply = await client.ask("POST", f"{FACTS}/{fact}/restore", {"commit": commit})
    assert reply.json["error"]["details"] == {"field": "commit"}


async def test_restore_from_an_unknown_commit(client: Client, fact: str) -> None:
    """A fact would be emptied by a version that doesn't exist."""
    reply = await client.ask("POST", f"{FACTS}/{fact}/restore", {"commit": "f" * 40})
    assert (reply.status, reply.code) == (404, "MEMORY_NOT_FOUND")


async def test_history_of_what_never_was(client: Client) -> None:
    """A project without memory would look like a mistake."""
    assert (await client.ask("GET", f"/memory_stores/{PROJECT}/history")).json == {"commits": []}


async def test_history_of_the_whole_tree(client: Client, fact: str) -> None:
    """What happened in all stores could be seen store by store only."""
    await client.ask("POST", f"/memory_stores/{PROJECT}/facts", {"text": "of a project"})
    commits = (await client.ask("GET", "/history")).json["commits"]
    assert [commit["subject"] for commit in commits][:2] == ["remember: of a project", "edit: second"]
    rest = (await client.ask("GET", f"/history?limit=1&before={commits[0]['commit']}")).json["commits"]
    assert rest == commits[1:2]
    for query in ("limit=0", "before=HEAD", "path=a"):
        assert (await client.ask("GET", f"/history?{query}")).code == "CONFIG_INVALID"


async def test_undo(client: Client, fact: str) -> None:
    """A wrong edit could only be corrected by typing the old text again."""
    commits = (await client.ask("GET", "/history")).json["commits"]
    reply = await client.ask("POST", "/memory_stores/undo", {"commit": commits[0]["commit"][:10].upper()})
    newest = (await client.ask("GET", "/history")).json["commits"][0]
    assert reply.json == {
        "commit": newest["commit"],
        "undone": commits[0]["commit"],
        "subject": "undo: edit: second",
        "paths": commits[0]["paths"],
        "pending_reason": None,
    }
    assert (await client.ask("GET", f"{FACTS}/{fact}")).json["text"] == "first"
    again = await client.ask("POST", "/memory_stores/undo", {"commit": newest["commit"]})
    assert again.json["subject"] == "undo: undo: edit: second"
    assert (await client.ask("GET", f"{FACTS}/{fact}")).json["text"] == "second"


async def test_undo_of_what_later_work_stands_on(client: Client, fact: str) -> None:
    """Undoing would throw away what somebody wrote afterwards, or fail without a word on why."""
    await client.ask("PATCH", f"{FACTS}/{fact}", {"text": "third"})
    newest, edit = (await client.ask("GET", "/history?limit=2")).json["commits"]
    reply = await client.ask("POST", "/memory_stores/undo", {"commit": edit["commit"]})
    assert (reply.status, reply.code) == (409, "UNDO_CONFLICT")
    later = [{name: newest[name] for name in ("commit", "time", "subject")}]
    assert reply.json["error"]["details"]["later"] == later
    assert "edit: third" in reply.json["error"]["message"]
    assert (await client.ask("GET", f"{FACTS}/{fact}")).json["text"] == "third"


async def test_what_cant_be_undone(client: Client, fact: str) -> None:
    """Undo would do something else than was meant, or nothing while saying that it did."""
    commits = (await client.ask("GET", "/history")).json["commits"]
    for body in ({"commit": commits[-1]["commit"]}, {"commit": "HEAD"}, {}):
        assert (await client.ask("POST", "/memory_stores/undo", body)).code == "CONFIG_INVALID"
    assert (await client.ask("POST", "/memory_stores/undo", {"commit": "ffff"})).code == "MEMORY_NOT_FOUND"
    edit = {"commit": commits[0]["commit"]}
    assert (await client.ask("POST", "/memory_stores/undo", edit)).status == 200
    reply = await client.ask("POST", "/memory_stores/undo", edit)
    assert "nothing is left" in reply.json["error"]["message"]
