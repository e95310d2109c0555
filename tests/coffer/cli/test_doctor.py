"""`coffer doctor`, `coffer audit`, `coffer invocations`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.coffer.cli.fake_rest import Coffer, FakeRest

FINE = {"name": "index", "status": "ok", "message": "2 texts", "action": None}
ODD = {"name": "files", "status": "warning", "message": "a.md is not UTF-8", "action": "Save it as UTF-8."}
BAD = {"name": "disk", "status": "problem", "message": "full", "action": "Free some space."}


def checks(*found: dict[str, Any]) -> dict[str, Any]:
    """Return the doctor's answer."""
    return {"ok": BAD not in found, "checks": list(found)}


def test_doctor_names_each_check_and_what_to_do(rest: FakeRest, coffer: Coffer) -> None:
    """A person would know that something is odd, and not what to do."""
    rest.reply("GET", "/doctor", 200, checks(FINE, ODD))
    ran = coffer("doctor")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "ok       index: 2 texts\nwarning  files: a.md is not UTF-8\n         -> Save it as UTF-8.\n"
    )


@pytest.mark.parametrize("option", [[], ["--json"]], ids=["text", "json"])
def test_doctor_fails_on_a_problem(rest: FakeRest, coffer: Coffer, option: list[str]) -> None:
    """A script that watches over the memory wouldn't notice."""
    rest.reply("GET", "/doctor", 200, checks(FINE, ODD, BAD))
    ran = coffer("doctor", *option)
    assert (ran.status, ran.err) == (1, "coffer: 1 of 3 checks found a problem.\n")
    assert "Free some space." in ran.out


def test_audit_tells_who_changed_what(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could see who wrote to a memory."""
    event = {
        "time": "2026-06-03T09:30:00Z",
        "event": "memory_cleared",
        "actor": "user",
        "agent": None,
        "store": "global",
        "details": {"count": 3, "bytes": 120},
    }
    rest.reply("GET", "/audit", 200, {"events": [event]})
    assert coffer("audit", "--limit", "5").out.splitlines() == [
        "TIME                  EVENT           BY    AGENT  STORE   DETAILS",
        "2026-06-03T09:30:00Z  memory_cleared  user         global  count=3 bytes=120",
    ]
    assert rest.last.query == {"limit": "5"}
    assert json.loads(coffer("audit", "--json").out) == {"events": [event]}


def test_invocations_tell_how_agents_call(rest: FakeRest, coffer: Coffer) -> None:
    """Nobody could see whether an agent uses the memory at all."""
    calls = [
        {
            "time": "2026-06-03T09:30:00Z",
            "tool": "coffer__recall",
            "agent": "codex",
            "session": "s1",
            "duration_ms": 7.25,
            "outcome": "ok",
            "error_code": None,
        },
    ]
    rest.reply("GET", "/invocations", 200, {"invocations": calls})
    assert coffer("invocations").out.splitlines() == [
        "TIME                  TOOL            AGENT  SESSION   MS  OUTCOME  ERROR",
        "2026-06-03T09:30:00Z  coffer__recall  codex  s1       7.2  ok",
    ]
    assert rest.last.query == {}


@pytest.mark.parametrize(("command", "listed"), [("audit", "events"), ("invocations", "invocations")])
def test_an_empty_list_says_so(rest: FakeRest, coffer: Coffer, command: str, listed: str) -> None:
    """An empty answer would look like a failure."""
    rest.reply("GET", f"/{command}", 200, {listed: []})
    assert coffer(command).out == "Nothing yet.\n"
