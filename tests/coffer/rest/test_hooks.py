"""The routes by which memory arrives unasked: the very bytes that a hook prints, and what is recorded of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coffer.domain.agents import Agent, AgentType
from coffer.domain.hook_input import HookInput, read_hook_input
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, store_named
from tests.coffer.frames import lines_of
from tests.coffer.rest.doors import PROJECT, Client
from tests.coffer.rest.memory_ports import KnownProjects, MemoryAgents, MemoryIndex, MemoryTree

HERE = {"session_id": "s1", "cwd": "/w/app"}


@pytest.fixture
async def client(ports: Ports) -> Client:
    """A memory with a rule, a fact and a project, on a machine with an agent of each type."""
    types: tuple[AgentType, ...] = ("claude_code", "codex", "cursor", "opencode")
    for type in types:
        await ports.agents.save(Agent(type, type, f"/{type}"), None)
    assert isinstance(ports.identity, KnownProjects) and isinstance(ports.tree, MemoryTree)
    ports.identity.projects["/w/app"] = Project(store_named(PROJECT), "/w/app", "main", None, None)
    ports.tree.held["global/rules/rules.md"] = b"- Verify before pushing.\n"
    client = Client(ports)
    await client.ask("POST", f"/memory_stores/{PROJECT}/facts", {"text": "deploy with make release"})
    return client


def fired(ports: Ports) -> dict[str, dict[str, str | None]]:
    """Return what was recorded: agent, event, error."""
    assert isinstance(ports.agents, MemoryAgents)
    return {
        name: {event: one.error for event, one in calls.items()} for name, calls in ports.agents.calls.items()
    }


async def test_session_context(client: Client) -> None:
    """What an agent is told couldn't be looked at by a person or another program."""
    reply = await client.ask("GET", "/agents/claude_code/session-context?cwd=/w/app")
    lines = lines_of(reply.json["additional_context"])
    assert lines[:2] == ["## The user's standing rules in every project", "- Verify before pushing."]
    assert lines[-1] == "- deploy with make release"
    elsewhere = (await client.ask("GET", "/agents/codex/session-context?cwd=/elsewhere")).json
    nowhere = (await client.ask("GET", "/agents/codex/session-context")).json
    for told in (elsewhere, nowhere):
        assert lines_of(told["additional_context"]) == lines[:5]
    assert (await client.ask("GET", "/agents/codex/session-context?cwd=app")).code == "CONFIG_INVALID"


async def test_prompt_context(client: Client) -> None:
    """Notes would come twice, or couldn't be tried by a person."""
    body = {**HERE, "prompt": "deploy with make"}
    told = (await client.ask("POST", "/agents/claude_code/prompt-context", body)).json["additional_context"]
    assert lines_of(told)[1].endswith("deploy with make release")
    assert (await client.ask("POST", "/agents/claude_code/prompt-context", body)).json == {
        "additional_context": ""
    }


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("session-context", None),
        ("prompt-context", {**HERE, "prompt": "x"}),
        ("hooks/SessionStart", HERE),
        ("sessions/s1/end", {"cwd": "/w"}),
    ],
)
async def test_an_agent_that_nobody_registered(client: Client, ports: Ports, path: str, body: Any) -> None:
    """An agent that was removed would go on being told things, and be listed as one that calls."""
    reply = await client.ask("GET" if body is None else "POST", f"/agents/nobody/{path}", body)
    assert (reply.status, reply.code) == (404, "AGENT_NOT_FOUND") and fired(ports) == {}


@pytest.mark.report("B48")
@pytest.mark.parametrize("agent", ["claude_code", "codex", "cursor"])
async def test_a_hook_prints_what_its_agent_accepts(client: Client, ports: Ports, agent: str) -> None:
    """Codex fails a hook over one key too many, and Claude Code ignores what stands where it doesn't look."""
    reply = await client.ask("POST", f"/agents/{agent}/hooks/SessionStart", HERE)
    printed = json.loads(reply.body)
    if agent == "cursor":
        text = printed.pop("additional_context")
        assert printed == {}
    else:
        text = printed["hookSpecificOutput"].pop("additionalContext")
        assert printed == {"hookSpecificOutput": {"hookEventName": "SessionStart"}}
    assert lines_of(text)[-1] == "- deploy with make release"
    asked = (await client.ask("GET", f"/agents/{agent}/session-context?cwd=/w/app")).json
    assert lines_of(asked["additional_context"]) == lines_of(text)
    assert fired(ports) == {agent: {"SessionStart": None}}


async def test_a_hook_with_nothing_to_say_prints_nothing(client: Client, ports: Ports) -> None:
    """An empty envelope would stand before the agent with each prompt."""
    for event, prompt in (("UserPromptSubmit", "continue"), ("SessionEnd", "x")):
        reply = await client.ask("POST", f"/agents/claude_code/hooks/{event}", {**HERE, "prompt": prompt})
        assert (reply.status, reply.body) == (204, b"")
    assert fired(ports) == {"claude_code": {"UserPromptSubmit": None, "SessionEnd": None}}
    prompt = {**HERE, "user_prompt": "deploy with make"}
    reply = await client.ask("POST", "/agents/claude_code/hooks/UserPromptSubmit", prompt)
    assert json.loads(reply.body)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"null",
        b'"cwd"',
        b"[" * 100_000,
        b'{"cwd": 7, "session_id": []}',
        b'{"cwd": "app"}',
    ],
)
async def test_whatever_a_hook_was_given_it_gets_an_answer(
    client: Client, ports: Ports, given: bytes
) -> None:
    """A new version of an agent that says things otherwise would have no memory at all."""
    reply = await client.ask("POST", "/agents/claude_code/hooks/SessionStart", body=given)
    text = json.loads(reply.body)["hookSpecificOutput"]["additionalContext"]
    assert "- Verify before pushing." in lines_of(text)
    assert fired(ports) == {"claude_code": {"SessionStart": None}}


async def test_the_hooks_own_folder_stands_in(client: Client) -> None:
    """An agent that doesn't say where it works would never get its project's memory."""
    headers = {"x-coffer-cwd": "/w/app"}
    for given, known in ((b"{}", True), (b'{"cwd": "/elsewhere"}', False)):
        reply = await client.ask("POST", "/agents/codex/hooks/SessionStart", body=given, headers=headers)
        assert (b"deploy with make release" in reply.body) is known


async def test_a_failure_is_recorded_and_told_to_nobody_else(client: Client, ports: Ports) -> None:
    """A hook that fails every time would look as well as one that works."""
    assert isinstance(ports.index, MemoryIndex)
    body = {**HERE, "prompt": "deploy with make"}
    ports.index.failure = RuntimeError("deploy with make release")
    reply = await client.ask("POST", "/agents/codex/hooks/UserPromptSubmit", body)
    assert reply.code == "INTERNAL"
    said = fired(ports)["codex"]["UserPromptSubmit"]
    assert said == "Coffer gave no answer, or not in time; its log may say why."
    ports.index.failure = None
    await client.ask("POST", "/agents/codex/hooks/UserPromptSubmit", body)
    assert fired(ports)["codex"]["UserPromptSubmit"] is None


async def test_an_event_that_is_none(client: Client, ports: Ports) -> None:
    """A slip in a settings file would be listed as an event of its own."""
    for event in ("Stop", "sessionstart", "%00"):
        reply = await client.ask("POST", f"/agents/codex/hooks/{event}", HERE)
        assert reply.code == "CONFIG_INVALID"
    assert fired(ports) == {}


async def test_the_end_of_a_session(client: Client) -> None:
    """A program that reports the end of a session wouldn't learn what becomes of it."""
    for cwd, outcome in (("/w/app", "no_model"), ("/elsewhere", "skipped")):
        reply = await client.ask(
            "POST", "/agents/codex/sessions/s1/end", {"cwd": cwd, "transcript_path": "/t"}
        )
        assert (reply.status, reply.json) == (202, {"outcome": outcome})


def test_what_an_agent_says_is_read_as_far_as_it_goes() -> None:
    """One field of a wrong type would cost all the others, or half a character end in a database error."""
    odd = b'{"cwd": 1, "workspace_roots": ["/a", "/b"], "conversation_id": "c", "user_prompt": "\\ud800"}'
    assert read_hook_input(odd) == HookInput("c", "/a", "?")
    plain = b'{"session_id": "s", "cwd": "/c", "prompt": "p", "new": {}}'
    assert read_hook_input(plain) == HookInput("s", "/c", "p")
    assert read_hook_input(b'{"workspace_roots": {"0": "/a"}}') == HookInput()
