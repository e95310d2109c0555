"""Rules, journal, handoffs and the organizer's log on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.coffer.cli.fake_rest import PROJECT, Coffer, FakeRest

AT = f"/memory_stores/{PROJECT}"
HOSTILE = "a\x1b[2Jb"


def rule(text: str, learned: bool = False) -> dict[str, Any]:
    return {"text": text, "learned": learned, "learned_on": None, "learned_by": None}


def rules(*files: list[dict[str, Any]], text: str | None = None) -> dict[str, Any]:
    return {"text": text, "files": [{"path": "/r.md", "folder_path": "/", "rules": file} for file in files]}


def scene(branch: str, **changes: Any) -> dict[str, Any]:
    return {
        "branch": branch,
        "text": "Next: tests.\n\nThen: docs.",
        "updated_at": "2026-06-03T09:00:00Z",
        "agent": "codex",
        "path": "/h.md",
        "folder_path": "/",
    } | changes


LANES = {
    "rules": ("rules", rules([rule("Sign.")], text="# Rules\n\n- Sign.\n"), rules(), "No rules."),
    "journal": (
        "journal",
        {
            "files": [
                {"period": day, "text": f"# {day}\n\nx\n", "path": "/j.md", "folder_path": "/"}
                for day in ("2026-06-03", "2026-06-02")
            ]
        },
        {"files": []},
        "The journal is empty.",
    ),
    "handoff": ("handoff", {"scenes": [scene("main")]}, {"scenes": []}, "No handoffs."),
    "log": (
        "consolidation-log",
        {"text": "- merged\n", "path": "/c.md", "folder_path": "/"},
        {"text": None, "path": "/c.md", "folder_path": "/"},
        "Nothing was organized yet.",
    ),
}
PRINTED = {
    "rules": "# Rules\n\n- Sign.\n",
    "journal": "# 2026-06-03\n\nx\n\n# 2026-06-02\n\nx\n",
    "handoff": "main  2026-06-03T09:00:00Z  codex\n    Next: tests.\n\n    Then: docs.\n",
    "log": "- merged\n",
}


@pytest.mark.parametrize("command", LANES)
def test_a_lane_is_printed(rest: FakeRest, coffer: Coffer, command: str) -> None:
    """A person couldn't read on the command line what their agents are told and leave behind."""
    route, full, empty, absent = LANES[command]
    rest.reply("GET", f"{AT}/{route}", 200, full)
    assert coffer("memory", command, PROJECT).out == PRINTED[command]
    assert json.loads(coffer("memory", command, PROJECT, "--json").out) == full
    rest.reply("GET", f"{AT}/{route}", 200, empty)
    assert coffer("memory", command, PROJECT).out == f"{absent}\n"
    assert json.loads(coffer("memory", command, PROJECT, "--json").out) == empty


@pytest.mark.parametrize("command", LANES)
def test_a_lane_without_a_store_means_this_projects(rest: FakeRest, coffer: Coffer, command: str) -> None:
    """In a project its own store would have to be named each time."""
    route, full, _, _ = LANES[command]
    for name in ("global", PROJECT):
        rest.reply("GET", f"/memory_stores/{name}/{route}", 200, full)
    assert coffer("memory", command).status == 0
    assert any("cwd" in asked.query for asked in rest.asked if asked.path.endswith("/memory_stores"))


def test_stored_text_cannot_drive_the_terminal(rest: FakeRest, coffer: Coffer) -> None:
    """A journal from elsewhere could clear the screen or pose as a line of ours."""
    rest.reply("GET", f"{AT}/rules", 200, rules(text=HOSTILE))
    day = {"period": "2026-06-03", "text": HOSTILE, "path": "/j", "folder_path": "/"}
    rest.reply("GET", f"{AT}/journal", 200, {"files": [day]})
    scenes = [scene(f"{HOSTILE}\nmain", text=HOSTILE, agent=HOSTILE, updated_at=None)]
    rest.reply("GET", f"{AT}/handoff", 200, {"scenes": scenes})
    log = {"text": HOSTILE, "path": "/c", "folder_path": "/"}
    rest.reply("GET", f"{AT}/consolidation-log", 200, log)
    for command in LANES:
        out = coffer("memory", command, PROJECT).out
        assert "\x1b" not in out and "\\x1b" in out
        assert "\x1b" not in coffer("memory", command, PROJECT, "--json").out
    assert coffer("memory", "handoff", PROJECT).out.startswith("a\\x1b[2Jb main  time unknown  a\\x1b[2Jb\n")


def test_a_rule_is_added(rest: FakeRest, coffer: Coffer) -> None:
    """A person could set a rule only with an editor."""
    rest.reply("POST", f"{AT}/rules", 200, rule("Run the tests."))
    assert coffer("memory", "rules-add", PROJECT, " Run the tests. ").out == "Rule: Run the tests.\n"
    assert rest.last.body == {"text": " Run the tests. "}
    assert rest.last.headers["x-coffer-actor"] == "user"


def test_one_learned_rule_is_accepted(rest: FakeRest, coffer: Coffer) -> None:
    """A learned rule would stay one, unless its user edits the file."""
    rest.reply("POST", f"{AT}/rules/accept", 200, rule("Use tabs."))
    assert coffer("memory", "rules-accept", PROJECT, "Use tabs.").out == "Your own now: Use tabs.\n"
    assert rest.last.body == {"text": "Use tabs."}


def test_all_learned_rules_are_accepted(rest: FakeRest, coffer: Coffer) -> None:
    """A person would have to type each of them; one that stands in two files would fail the second time."""
    learned = [rule("Use tabs.", True), rule("Mine."), rule("Small.", True)]
    rest.reply("GET", f"{AT}/rules", 200, rules(learned, [rule("Use tabs.", True)]))
    rest.reply("POST", f"{AT}/rules/accept", 200, rule("some rule"))
    assert coffer("memory", "rules-accept", PROJECT, "--all").out == "Your own now: some rule\n" * 2
    assert [asked.body["text"] for asked in rest.asked if asked.method == "POST"] == ["Use tabs.", "Small."]


def test_without_a_learned_rule_there_is_nothing_to_accept(rest: FakeRest, coffer: Coffer) -> None:
    """A script would think that rules were accepted."""
    rest.reply("GET", f"{AT}/rules", 200, rules([rule("Mine.")]))
    ran = coffer("memory", "rules-accept", PROJECT, "--all")
    assert (ran.status, ran.err) == (1, "coffer: The store has no learned rule.\n")
    rest.refuse("POST", f"{AT}/rules/accept", 404, "MEMORY_NOT_FOUND", "It isn't there.")
    assert coffer("memory", "rules-accept", PROJECT, "Mine.").status == 1


def test_an_entry_is_noted(rest: FakeRest, coffer: Coffer) -> None:
    """What happened could only be noted with an editor."""
    entry = {"time": "2026-06-03T09:00:00Z", "actor": "user", "source": "rest", "text": "x"}
    rest.reply("POST", f"{AT}/journal", 201, entry)
    assert coffer("memory", "journal-add", PROJECT, "Moved it.").out == "Noted at 2026-06-03T09:00:00Z.\n"
    assert rest.last.body == {"text": "Moved it."}
    rest.refuse("POST", f"{AT}/journal", 422, "MEMORY_REJECTED", "The text is empty.", reason="empty")
    ran = coffer("memory", "journal-add", PROJECT, "")
    assert ran.status == 1 and "The text is empty." in ran.err
