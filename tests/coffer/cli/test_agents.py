"""Agents and setup on the command line."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path
from typing import Any

import pytest

from tests.coffer.cli.fake_rest import Coffer, FakeRest


def agent(name: str = "codex", **changes: Any) -> dict[str, Any]:
    """Return an agent as REST tells it."""
    return {
        "name": name,
        "type": "codex",
        "config_dir": "/home/ada/.codex",
        "disable_native_memory": False,
        "prompt_notes": True,
        "native_memory": "on",
    } | changes


def planned(name: str = "codex", **changes: Any) -> dict[str, Any]:
    """Return what setup tells of an agent."""
    change = {
        "path": "/home/ada/.codex/config.toml",
        "says": "add the MCP server `coffer`",
        "diff": '+ [mcp_servers.coffer]\n+ command = "/opt/\x1b[2J"',
    }
    return {
        "name": name,
        "type": "codex",
        "title": "Codex",
        "config_dir": "/home/ada/.codex",
        "registered": False,
        "changes": [change],
        "advice": "Approve with /hooks.",
        "problem": None,
    } | changes


def reply(rest: FakeRest, *agents: dict[str, Any], undo: bool = False) -> None:
    rest.reply("POST", "/setup/undo" if undo else "/setup", 200, {"applied": True, "agents": list(agents)})


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Somebody at a terminal who says what they are told to say."""
    ours, theirs = pty.openpty()
    stdin = os.fdopen(theirs, "r")
    monkeypatch.setattr("sys.stdin", stdin)
    yield lambda word: os.write(ours, word.encode() + b"\n")
    stdin.close()
    os.close(ours)


# ── setup ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_setup_shows_asks_and_does(rest: FakeRest, coffer: Coffer, person: Any) -> None:
    """A person would say yes without seeing to what, or see something happen that they didn't allow."""
    reply(rest, planned())
    person("y")
    ran = coffer("setup", "--agent", "codex", "--agent", "cursor")
    assert (ran.status, ran.err) == (0, "Do this? [y/N] ")
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "Codex, as codex, in /home/ada/.codex",
        "  /home/ada/.codex/config.toml: add the MCP server `coffer`",
        "    + [mcp_servers.coffer]",
        '    + command = "/opt/\\x1b[2J"',
    ]
    assert lines[-3:] == [
        "Done.",
        "Codex: Approve with /hooks.",
        "`coffer doctor` tells whether memory arrives.",
    ]
    asked = [each.body for each in rest.asked if each.path == "/api/v1/setup"]
    names = ["codex", "cursor"]
    assert asked == [{"agents": names, "apply": False}, {"agents": names, "apply": True}]


@pytest.mark.parametrize("word", ["n", "", "yess"])
def test_whoever_doesnt_say_yes_gets_nothing(rest: FakeRest, coffer: Coffer, person: Any, word: str) -> None:
    """Files of other programs would be changed against their owner's word."""
    reply(rest, planned())
    person(word)
    ran = coffer("setup")
    assert ran.status == 1 and ran.err.endswith("coffer: Nothing was changed.\n")
    assert [each.body["apply"] for each in rest.asked if each.path == "/api/v1/setup"] == [False]


def test_without_a_terminal_it_takes_a_yes(rest: FakeRest, coffer: Coffer, person: Any) -> None:
    """A script would change files that nobody was asked about."""
    reply(rest, planned())
    ran = coffer("setup", "--yes")
    assert ran.status == 0
    assert [each.body["apply"] for each in rest.asked if each.path == "/api/v1/setup"] == [True]


def test_nobody_to_ask(rest: FakeRest, process: Coffer) -> None:
    """A script would hang, or change files that nobody was asked about."""
    reply(rest, planned())
    ran = process("setup")
    assert ran.status == 1 and "config.toml" in ran.out
    assert ran.err == "coffer: Nothing was changed; say --yes where nobody can be asked.\n"
    assert [each.body["apply"] for each in rest.asked if each.path == "/api/v1/setup"] == [False]


def test_nothing_to_do_is_not_asked(rest: FakeRest, process: Coffer) -> None:
    """Setting up twice would ask about nothing, or fail in a script."""
    reply(rest, planned(registered=True, changes=[], advice=None))
    ran = process("setup")
    assert ran.status == 0 and "  nothing to change" in ran.out.splitlines()
    reply(rest, planned(changes=[]), undo=True)
    ran = process("setup", "--undo")
    assert (ran.status, ran.err) == (0, "")
    reply(rest)
    assert "No agent was found on this machine" in process("setup").out


def test_undo(rest: FakeRest, coffer: Coffer) -> None:
    """There would be no way back."""
    reply(rest, planned(registered=True, advice=None), undo=True)
    ran = coffer("setup", "--undo", "--yes")
    assert (ran.status, ran.err) == (0, "")
    assert rest.last.path == "/api/v1/setup/undo" and rest.last.body == {"agents": [], "apply": True}


def test_an_agent_that_cant_be_set_up(rest: FakeRest, coffer: Coffer) -> None:
    """A script would take it for done, or a person not learn which file to mend."""
    broken = planned("codex", changes=[], problem="config.toml, line 3: no.")
    reply(rest, planned("cursor", title="Cursor"), broken)
    ran = coffer("setup", "--yes")
    assert ran.status == 1
    assert ran.err == "coffer: 1 of 2 agents could not be done. codex: config.toml, line 3: no.\n"
    assert "Cursor: Approve with /hooks." in ran.out


# ── agents ────────────────────────────────────────────────────────────────────────────────────────────────


def test_lists(rest: FakeRest, coffer: Coffer) -> None:
    """A person couldn't see which agents share the memory, and which could."""
    rest.reply("GET", "/agents", 200, {"agents": [agent(), agent("work", prompt_notes=False)]})
    lines = coffer("agent", "list").out.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "OWN", "MEMORY", "NOTES", "SETTINGS"]
    assert lines[2].split() == ["work", "codex", "on", "no", "/home/ada/.codex"]
    rest.reply("GET", "/agents", 200, {"agents": []})
    assert coffer("agent", "list").out.startswith("No agents; `coffer setup`")
    found = {"type": "codex", "config_dir": "/c", "because": "CODEX_HOME", "registered": None}
    rest.reply("GET", "/agents/candidates", 200, {"candidates": [found]})
    assert coffer("agent", "candidates").out.splitlines()[1].split() == ["codex", "/c", "CODEX_HOME"]
    assert json.loads(coffer("agent", "candidates", "--json").out) == {"candidates": [found]}
    rest.reply("GET", "/agents/candidates", 200, {"candidates": []})
    assert coffer("agent", "candidates").out == "No agent was found on this machine.\n"


def test_add_and_remove(
    rest: FakeRest, coffer: Coffer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent in a folder that isn't guessed couldn't take part, or the folder be taken for another one."""
    rest.reply("POST", "/agents", 201, agent("work"))
    monkeypatch.chdir(tmp_path)
    ran = coffer("agent", "add", "codex", "--config-dir", "here", "--name", "work")
    assert ran.out.splitlines()[1] == "`coffer setup --agent work` connects it."
    assert rest.last.body == {"type": "codex", "config_dir": str(tmp_path / "here"), "name": "work"}
    coffer("agent", "add", "codex")
    assert rest.last.body == {"type": "codex"}
    rest.reply("DELETE", "/agents/a%20b", 204, None)
    assert coffer("agent", "remove", "a b").status == 0


HOOKS = {
    "hooks": [
        {
            "event": "SessionStart",
            "installed": True,
            "command": '"/opt/coffer-hook" --agent codex',
            "trusted": False,
            "last_fired": None,
            "last_error": None,
        }
    ],
    "advice": "Approve with /hooks.",
}


@pytest.mark.parametrize(
    ("option", "method"), [(None, "GET"), ("--install", "POST"), ("--uninstall", "DELETE")]
)
def test_hooks_and_tools(rest: FakeRest, coffer: Coffer, option: str | None, method: str) -> None:
    """A person would install what they wanted to look at, or not see whether a hook was ever called."""
    rest.reply(method, "/agents/codex/hooks", 200, HOOKS)
    rest.reply(method, "/agents/codex/mcp", 200, {"installed": False, "path": "/c.toml", "command": None})
    options = [option] if option else []
    lines = coffer("agent", "hooks", "codex", *options).out.splitlines()
    assert lines[1].split() == ["SessionStart", "yes", "no", "never"]
    assert lines[2:] == ['  "/opt/coffer-hook" --agent codex', "Approve with /hooks."]
    assert rest.last.method == method
    assert json.loads(coffer("agent", "hooks", "codex", "--json", *options).out) == HOOKS
    told = coffer("agent", "mcp", "codex", *options).out.splitlines()
    assert [line.split() for line in told] == [["installed:", "no"], ["file:", "/c.toml"]]
    rest.reply(method, "/agents/codex/hooks", 200, {"hooks": [], "advice": None})
    assert coffer("agent", "hooks", "codex", *options).out.startswith("It has no hooks;")


def test_set(rest: FakeRest, coffer: Coffer) -> None:
    """A switch would be set to something else than what was said."""
    rest.reply("PATCH", "/agents/codex", 200, agent(disable_native_memory=True))
    ran = coffer("agent", "set", "codex", "disable_native_memory", "true")
    assert ran.out == "codex: disable_native_memory is true.\n"
    assert rest.last.body == {"disable_native_memory": True}
    coffer("agent", "set", "codex", "prompt_notes", "false")
    assert rest.last.body == {"prompt_notes": False}
