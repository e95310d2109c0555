"""Memory that arrives by itself: the hook's own process, the real daemon, and what an agent would be told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coffer import discovery
from coffer.application.session import SEEDED
from tests.acceptance.house import House
from tests.coffer.frames import lines_of
from tests.coffer.test_hook import HOOK, PATIENCE

FOLDERS = {"claude_code": ".claude", "codex": ".codex", "cursor": ".cursor"}


def hook(
    house: House, agent: str, folder: Path, event: str = "SessionStart", session: str = "s1", prompt: str = ""
) -> bytes:
    """Run the hook as the agent does, in a folder; it must end well and soon. Return what it printed."""
    given: dict[str, Any] = {"session_id": session, "hook_event_name": event}
    given |= (
        {"workspace_roots": [str(folder)]} if agent == "cursor" else {"cwd": str(folder), "prompt": prompt}
    )
    done = subprocess.run(
        [*HOOK, "--agent", agent, "--event", event],
        cwd=house.user_home,
        env=house.environ,
        input=json.dumps(given).encode(),
        capture_output=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def context(printed: bytes) -> str:
    """Return the text that reaches the agent."""
    told = json.loads(printed)
    return str(told.get("hookSpecificOutput", {}).get("additionalContext") or told["additional_context"])


def register(house: House, agent: str) -> None:
    """Register an agent whose hooks are installed, once."""
    (house.user_home / FOLDERS[agent]).mkdir(exist_ok=True)
    if house.get(f"/agents/{agent}").status == 404:
        house.ask("POST", "/agents", {"type": agent}).done(201)
        house.ask("POST", f"/agents/{agent}/hooks").done()


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def frozen(own_house: House) -> Iterator[House]:
    """A house whose daemon is stopped in its tracks, with an agent in it."""
    own_house.start()
    register(own_house, "claude_code")
    pid = own_house.pid()
    os.kill(pid, signal.SIGSTOP)
    yield own_house
    os.kill(pid, signal.SIGCONT)


@pytest.mark.acceptance(
    spec="007-memory", scenario="rules bundle is injected at session start as context only"
)
@pytest.mark.parametrize("agent", FOLDERS)
def test_rules_bundle_is_injected_at_session_start_as_context_only(
    house: House, project: Path, agent: str
) -> None:
    """Rules would stay in a file that no agent reads, or be written into the agent's own instructions."""
    register(house, agent)
    store = house.store(project)
    house.ask("POST", f"/memory_stores/{store}/rules", {"text": "Deploy with make release."}).done()
    house.ask("POST", "/memory_stores/global/rules", {"text": "Verify before pushing."}).done()
    before = files_below(house.user_home)
    with house.nothing_written():
        lines = lines_of(context(hook(house, agent, project)))
        elsewhere = lines_of(context(hook(house, agent, house.folder())))
    assert files_below(house.user_home) == before
    rules = ["## The user's standing rules in every project", "- Verify before pushing."]
    assert lines == [
        "## The user's standing rules in this project",
        "- Deploy with make release.",
        *rules,
        *SEEDED,
    ]
    assert elsewhere == [*rules, *SEEDED]
    asked = house.get(f"/agents/{agent}/session-context?cwd={project}").done()
    assert lines_of(asked["additional_context"]) == lines
    fired = {each["event"]: each for each in house.get(f"/agents/{agent}/hooks").done()["hooks"]}
    assert fired["SessionStart"]["last_fired"] and fired["SessionStart"]["last_error"] is None


@pytest.mark.acceptance(spec="007-memory", scenario="the bundle carries the two seeded built-in rules")
async def test_the_bundle_carries_the_two_seeded_built_in_rules(house: House, project: Path) -> None:
    """An agent would not know how to continue, or where to remember; or a stale scene would be forced on it."""
    register(house, "claude_code")
    assert set(SEEDED) <= set(lines_of(context(hook(house, "claude_code", project))))
    async with house.agent("codex", project) as codex:
        await codex.answer("set_handoff", body="The lexer is half done, BODY-OF-THE-SCENE.")
        text = context(hook(house, "claude_code", project))
        resumed = await codex.answer("resume")
    lines = lines_of(text)
    first, second = SEEDED[1:]
    assert "coffer__resume" in first and "coffer__remember" in second and "coffer__recall" in second
    assert set(SEEDED) <= set(lines) and lines[-1].startswith(
        "A handoff for the branch main waits, saved by codex"
    )
    assert "BODY-OF-THE-SCENE" not in text and "BODY-OF-THE-SCENE" in resumed["body"]


@pytest.mark.report("B46", "B47", "B48")
@pytest.mark.acceptance(spec="007-memory", scenario="a failed or hook-less injection never blocks the agent")
def test_a_failed_or_hook_less_injection_never_blocks_the_agent(own_house: House) -> None:
    """An agent would not start because its memory doesn't, or would stay without one until somebody notices."""
    project = own_house.project()
    assert hook(own_house, "claude_code", project) == b"", "a fresh home"
    own_house.start()
    assert hook(own_house, "claude_code", project) == b"", "nobody registered it"
    register(own_house, "claude_code")
    assert set(SEEDED) <= set(lines_of(context(hook(own_house, "claude_code", project))))
    own_house.coffer("daemon", "stop")
    assert hook(own_house, "claude_code", project) == b"", "no daemon"
    discovery.ensure_daemon(str(own_house.home), own_house.environ)  # waits for the one that the hook started
    own_house.pid()  # and for its first answer, which takes longer than a hook waits when the machine is busy
    assert set(SEEDED) <= set(lines_of(context(hook(own_house, "claude_code", project))))


@pytest.mark.acceptance(spec="007-memory", scenario="a failed or hook-less injection never blocks the agent")
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "SessionEnd"])
def test_a_frozen_daemon_never_blocks_the_agent(frozen: House, event: str) -> None:
    """Every prompt would hang for as long as the daemon does."""
    assert hook(frozen, "claude_code", frozen.user_home, event, prompt="deploy the shop to production") == b""


@pytest.mark.report("B52")
def test_the_end_of_a_session_without_a_daemon_is_taken_up_by_the_next_one(own_house: House) -> None:
    """A session that ended while the daemon was away would be lost for the journal."""
    own_house.start()
    register(own_house, "claude_code")
    own_house.coffer("daemon", "stop")
    assert hook(own_house, "claude_code", own_house.project(), "SessionEnd") == b""
    discovery.ensure_daemon(str(own_house.home), own_house.environ)
    fired: dict[str, Any] = {}
    while not fired.get("SessionEnd"):
        hooks = own_house.get("/agents/claude_code/hooks").done()["hooks"]
        fired = {each["event"]: each["last_fired"] for each in hooks}
    assert fired["SessionStart"] is None and list((own_house.home / "spool").iterdir()) == []


def test_a_note_comes_with_the_prompt_it_fits_once_a_session(house: House, project: Path) -> None:
    """What the user told another agent yesterday would have to be told again today."""
    register(house, "codex")
    for text in (
        "Icons are 24 px.",
        "The queue is purged by hand.",
        "Staging is masked.",
        "Charts use visx.",
    ):
        house.add("global", text)
    house.add(house.store(project), "Deploys of the zeppelin go through make release.", title="Zeppelin")
    prompt = "deploy the zeppelin with make release"
    note = lines_of(context(hook(house, "codex", project, "UserPromptSubmit", "a", prompt)))[1]
    assert note.startswith("- Noted in this project by the user on ")
    assert note.endswith(": Deploys of the zeppelin go through make release.")
    assert hook(house, "codex", project, "UserPromptSubmit", "a", prompt) == b""
    assert hook(house, "codex", project, "UserPromptSubmit", "b", prompt) != b""
    assert hook(house, "codex", project, "UserPromptSubmit", "c", "rename this variable please") == b""
    house.coffer("agent", "set", "codex", "prompt_notes", "false")
    assert hook(house, "codex", project, "UserPromptSubmit", "d", prompt) == b""
