"""Rules, journal, handoff scenes and the organizer's log through the door."""

from __future__ import annotations

from typing import Any

import pytest

from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes.handoff import Scene, handoff_path, write_scene
from tests.coffer.rest.doors import PROJECT, Client
from tests.coffer.rest.memory_ports import KnownProjects, MemoryState, MemoryTree

AT = f"/memory_stores/{PROJECT}"
FOLDER = f"projects/{PROJECT.removeprefix('project-')}"
MARK = " <!-- learned 2026-11-30 by codex -->"
SECRET = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


@pytest.fixture
def tree(ports: Ports) -> MemoryTree:
    assert isinstance(ports.tree, MemoryTree)
    return ports.tree


async def told(client: Client, lane: str, store: str = PROJECT) -> Any:
    reply = await client.ask("GET", f"/memory_stores/{store}/{lane}")
    assert reply.status == 200
    return reply.json


@pytest.mark.parametrize("store", [PROJECT, "global"])
async def test_lanes_of_a_store_without_any(client: Client, tree: MemoryTree, store: str) -> None:
    """A new project would be an error, or be created by looking at it."""
    assert await told(client, "rules", store) == {"text": None, "files": []}
    assert await told(client, "journal", store) == {"files": []}
    assert await told(client, "handoff", store) == {"scenes": []}
    log = await told(client, "consolidation-log", store)
    assert log["text"] is None and log["path"] == f"{log['folder_path']}/consolidation-log.md"
    assert tree.held == {}


async def test_rules_are_told_as_they_stand_with_their_files(client: Client, tree: MemoryTree) -> None:
    """A person couldn't see what is put before their agents, nor who came up with it."""
    tree.held[f"{FOLDER}/rules/rules.md"] = f"# Rules\n\n- Mine.\n- Theirs.{MARK}\n".encode()
    tree.held[f"{FOLDER}/rules/git/commit.md"] = b"- Sign.\n"
    told_rules = await told(client, "rules")
    assert told_rules["text"] == f"- Sign.\n\n# Rules\n\n- Mine.\n- Theirs.{MARK}\n"
    assert [(file["path"], file["folder_path"]) for file in told_rules["files"]] == [
        (f"/coffer/memory/{FOLDER}/rules/git/commit.md", f"/coffer/memory/{FOLDER}/rules/git"),
        (f"/coffer/memory/{FOLDER}/rules/rules.md", f"/coffer/memory/{FOLDER}/rules"),
    ]
    assert told_rules["files"][1]["rules"] == [
        {"text": "Mine.", "learned": False, "learned_on": None, "learned_by": None},
        {"text": "Theirs.", "learned": True, "learned_on": "2026-11-30", "learned_by": "codex"},
    ]


async def test_a_rule_is_added_once_and_accepted(client: Client, tree: MemoryTree) -> None:
    """A person could set a rule only with an editor, or would set it twice."""
    for _ in range(2):
        added = await client.ask("POST", f"{AT}/rules", {"text": " Run the\n tests. "})
        assert (added.status, added.json["text"], added.json["learned"]) == (200, "Run the tests.", False)
    assert tree.held[f"{FOLDER}/rules/rules.md"] == b"# Rules\n\n- Run the tests.\n"
    tree.held[f"{FOLDER}/rules/rules.md"] += f"- Theirs.{MARK}\n".encode()
    accepted = await client.ask("POST", f"{AT}/rules/accept", {"text": "Theirs."})
    assert (accepted.status, accepted.json["text"], accepted.json["learned"]) == (200, "Theirs.", False)
    assert MARK.encode() not in tree.held[f"{FOLDER}/rules/rules.md"]
    again = await client.ask("POST", f"{AT}/rules/accept", {"text": "Theirs."})
    assert again.code == "MEMORY_NOT_FOUND"


async def test_a_long_learned_rule_can_be_accepted(client: Client, tree: MemoryTree) -> None:
    """What a person wrote by hand, or an older version learned, could never become their own."""
    text = "x" * 3000
    tree.held[f"{FOLDER}/rules/rules.md"] = f"- {text}{MARK}\n".encode()
    assert (await client.ask("POST", f"{AT}/rules/accept", {"text": text})).json["text"] == text


async def test_the_journal_is_told_newest_day_first(client: Client, tree: MemoryTree) -> None:
    """A page of the journal would begin with the oldest news."""
    for day in ("2026-06-01", "2026-06-03", "2026-06-02"):
        tree.held[f"{FOLDER}/journal/{day}.md"] = f"# {day}\n".encode()
    files = (await told(client, "journal"))["files"]
    assert [file["period"] for file in files] == ["2026-06-03", "2026-06-02", "2026-06-01"]
    assert files[0] == {
        "period": "2026-06-03",
        "text": "# 2026-06-03\n",
        "path": f"/coffer/memory/{FOLDER}/journal/2026-06-03.md",
        "folder_path": f"/coffer/memory/{FOLDER}/journal",
    }


async def test_an_entry_is_noted_in_the_callers_name(client: Client, tree: MemoryTree) -> None:
    """What a person noted would be taken for an agent's, or the other way round."""
    entry = await client.ask("POST", f"{AT}/journal", {"text": "Moved the port.\n"})
    assert entry.status == 201
    assert (entry.json["text"], entry.json["actor"], entry.json["source"]) == (
        "Moved the port.",
        "user",
        "rest",
    )
    headers = {"x-coffer-actor": "agent", "x-coffer-agent": "codex"}
    theirs = await client.ask("POST", f"{AT}/journal", {"text": "Moved it back."}, headers=headers)
    assert theirs.json["actor"] == "codex"
    (day,) = (await told(client, "journal"))["files"]
    assert day["period"] == entry.json["time"][:10]
    assert f"<!-- entry {entry.json['time']} user rest -->\nMoved the port.\n" in day["text"]
    refused = await client.ask("POST", "/memory_stores/global/journal", {"text": "x"})
    assert refused.code == "CONFIG_INVALID"


async def test_scenes_are_listed_by_branch(client: Client, tree: MemoryTree) -> None:
    """A person couldn't see which work waits where."""
    for number, branch in enumerate(("main", "feature/x")):
        scene = Scene(branch, f"2026-06-03T09:0{number}:00Z", "codex", None, None, f"On {branch}.")
        tree.held[f"{FOLDER}/{handoff_path(branch)}"] = write_scene(scene)
    tree.held[f"{FOLDER}/handoff/by-hand.md"] = b"Look here.\n"
    scenes = (await told(client, "handoff"))["scenes"]
    assert [(scene["branch"], scene["text"], scene["updated_at"], scene["agent"]) for scene in scenes] == [
        ("feature/x", "On feature/x.", "2026-06-03T09:01:00Z", "codex"),
        ("main", "On main.", "2026-06-03T09:00:00Z", "codex"),
        ("by-hand", "Look here.", None, None),
    ]
    assert scenes[1]["path"] == f"/coffer/memory/{FOLDER}/handoff/main.md"
    assert scenes[1]["folder_path"] == f"/coffer/memory/{FOLDER}/handoff"


async def test_the_organizers_log_is_told(client: Client, tree: MemoryTree) -> None:
    """Nobody could check what became of a note."""
    tree.held[f"{FOLDER}/consolidation-log.md"] = b"- 2026-06-03T09:00:00Z \xc2\xb7 created \xc2\xb7 x\n"
    log = await told(client, "consolidation-log")
    assert log["text"] == "- 2026-06-03T09:00:00Z · created · x\n"
    assert log["folder_path"] == f"/coffer/memory/{FOLDER}"


@pytest.mark.parametrize("lane", ["rules", "journal"])
@pytest.mark.parametrize(
    ("text", "reason"), [(" \n", "empty"), ("x" * 40_000, "too_long"), (SECRET, "secret")]
)
async def test_what_cannot_be_kept_is_refused(
    client: Client, tree: MemoryTree, lane: str, text: str, reason: str
) -> None:
    """Git never forgets what was once written to any lane."""
    refused = await client.ask("POST", f"{AT}/{lane}", {"text": text})
    assert (refused.status, refused.code) == (422, "MEMORY_REJECTED")
    assert refused.json["error"]["details"]["reason"] == reason and SECRET.encode() not in refused.body
    assert tree.held == {}


@pytest.mark.parametrize(
    ("lane", "file"), [("rules", "rules/rules.md"), ("journal", "journal/2026-06-03.md")]
)
async def test_a_file_that_would_lose_something_is_left_alone(
    client: Client, tree: MemoryTree, lane: str, file: str
) -> None:
    """A half-merged file would be overwritten together with the other side's half."""
    tree.held[f"{FOLDER}/{file}"] = damaged = b"<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"
    reply = await client.ask("POST", f"{AT}/{lane}", {"text": "x"})
    assert (reply.status, reply.code) == (409, "FILE_UNREADABLE")
    assert tree.held == {f"{FOLDER}/{file}": damaged}


@pytest.mark.parametrize("lane", ["rules", "journal"])
async def test_the_first_write_of_a_lane_makes_the_projects_store(
    client: Client, ports: Ports, tree: MemoryTree, lane: str
) -> None:
    """A store that began with a rule would have no remote, or nobody would know where its project lies."""
    assert isinstance(ports.identity, KnownProjects) and isinstance(ports.state, MemoryState)
    store = StoreRef(PROJECT.removeprefix("project-"))
    ports.identity.projects["/code/app"] = Project(store, "/code/app", "main", None, "example.org/app")
    await client.ask("POST", f"{AT}/{lane}", {"text": "First."}, headers={"x-coffer-cwd": "/code/app"})
    assert b"example.org/app" in tree.held[f"{FOLDER}/store.yaml"]
    assert ports.state.known_roots == {PROJECT: "/code/app"}
    expected = "memory_added" if lane == "rules" else "journal_append"
    assert [event.event for event in ports.state.events] == [expected, "store_created"]
    assert "First" not in repr(ports.state.events)
