"""Hooks: told truly, updated where they are, and answered in the words each agent takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from coffer.domain.agents import AgentType, Commands
from coffer.domain.errors import SettingsUnparsable, UnsupportedAgentType
from tests.coffer.agents.samples import COMMANDS, DISK, FIXTURES, REAL, Home

OTHER = {"type": "command", "command": "/opt/other/hook --coffer-hook"}


def settings(home: Home, name: str) -> dict[str, Any]:
    value = json.loads((Path(home.folder) / name).read_text())
    assert isinstance(value, dict)
    return value


def line(event: str) -> str:
    return f'"/opt/cof fer/bin/coffer-hook" --agent ada --event {event}'


def test_claude_code_gets_three_events(tmp_path: Path) -> None:
    """Memory wouldn't arrive at the start or with a prompt, or a session's end would go unnoticed."""
    home = Home.make(tmp_path, "claude_code")
    home.install()
    every = {"type": "command", "timeout": 10}
    assert settings(home, "settings.json")["hooks"] == {
        "SessionStart": [
            {"matcher": "startup|resume|clear|compact", "hooks": [{**every, "command": line("SessionStart")}]}
        ],
        "UserPromptSubmit": [{"hooks": [{**every, "command": line("UserPromptSubmit")}]}],
        "SessionEnd": [{"hooks": [{**every, "command": line("SessionEnd")}]}],
    }


def test_codex_gets_no_session_end_and_no_key_that_it_refuses(tmp_path: Path) -> None:
    """Codex would refuse the whole file for a key that it doesn't know."""
    home = Home.make(tmp_path, "codex")
    home.install()
    hooks = settings(home, "hooks.json")
    assert set(hooks) == {"hooks"}
    assert set(hooks["hooks"]) == {"SessionStart", "UserPromptSubmit"}


def test_cursor_has_a_format_of_its_own(tmp_path: Path) -> None:
    """Cursor would ignore hooks that are written as Claude Code has them."""
    home = Home.make(tmp_path, "cursor")
    home.install()
    assert settings(home, "hooks.json") == {
        "hooks": {"sessionStart": [{"command": line("SessionStart"), "timeout": 10}]},
        "version": 1,
    }


def test_opencode_has_none_and_says_so(tmp_path: Path) -> None:
    """A person would wait for memory that never arrives."""
    home = Home.make(tmp_path, "opencode")
    assert home.kind.events == () and home.kind.hooks(home.folder) == []
    assert home.kind.install_hooks(home.folder, COMMANDS, "ada") == []
    assert home.kind.uninstall_hooks(home.folder) == []
    assert "no hooks" in (home.kind.advice or "")


@pytest.mark.parametrize("type", ["claude_code", "codex", "cursor"])
def test_a_hook_is_updated_where_it_is(tmp_path: Path, type: AgentType) -> None:
    """Codex would stop running the hooks that come after, since it trusts each by its place."""
    home = Home.make(tmp_path, type)
    name = "settings.json" if type == "claude_code" else "hooks.json"
    DISK.apply(home.kind.install_hooks(home.folder, Commands("/old/shim", "/old/coffer-hook"), "earlier"))
    key = "sessionStart" if type == "cursor" else "SessionStart"
    found = settings(home, name)
    found["hooks"][key].append({"command": "later"} if type == "cursor" else {"hooks": [OTHER]})
    (Path(home.folder) / name).write_text(json.dumps(found))
    DISK.apply(home.kind.install_hooks(home.folder, COMMANDS, "ada"))
    text = (
        json.dumps(found)
        .replace("/old/coffer-hook", "/opt/cof fer/bin/coffer-hook")
        .replace("earlier", "ada")
    )
    assert (Path(home.folder) / name).read_text() == text


@pytest.mark.report("B50")
def test_a_hook_of_ours_in_somebody_elses_group_goes_alone(tmp_path: Path) -> None:
    """A hook that a person has put beside ours would be removed with it, and doubles would stay."""
    home = Home.make(tmp_path, "claude_code")
    ours = {"type": "command", "command": "coffer-hook --agent x --event SessionStart"}
    group = {"matcher": "startup", "hooks": [ours, OTHER, ours]}
    file = Path(home.folder) / "settings.json"
    file.write_text(json.dumps({"hooks": {"SessionStart": [group], "Stop": [{"hooks": [ours]}]}}, indent=1))
    DISK.apply(home.kind.install_hooks(home.folder, COMMANDS, "ada"))
    [installed] = settings(home, "settings.json")["hooks"]["SessionStart"]
    assert installed["hooks"] == [{**ours, "command": line("SessionStart")}, OTHER]
    DISK.apply(home.kind.uninstall_hooks(home.folder))
    assert settings(home, "settings.json") == {
        "hooks": {"SessionStart": [{"matcher": "startup", "hooks": [OTHER]}]}
    }


@pytest.mark.parametrize(
    "hooks",
    ['"none"', '{"SessionStart": {}}', '{"SessionStart": "x"}', "[]"],
)
def test_hooks_of_an_unknown_shape_are_refused(tmp_path: Path, hooks: str) -> None:
    """Settings of a later version of the agent would be replaced by what Coffer takes them for."""
    home = Home.make(tmp_path, "claude_code")
    text = f'{{\n  "hooks": {hooks}\n}}'
    (Path(home.folder) / "settings.json").write_text(text)
    with pytest.raises(SettingsUnparsable) as refused:
        home.kind.install_hooks(home.folder, COMMANDS, "ada")
    assert refused.value.details["line"] == 2
    assert not any(hook.installed for hook in home.kind.hooks(home.folder))
    assert home.kind.uninstall_hooks(home.folder) == []


@pytest.mark.parametrize(
    "group", ["null", "1", '"x"', '{"hooks": null}', '{"hooks": [1, {"command": 7}, {}]}', '{"command": "x"}']
)
def test_groups_of_an_unknown_shape_stay(tmp_path: Path, group: str) -> None:
    """One odd entry of another tool would keep Coffer from connecting."""
    home = Home.make(tmp_path, "claude_code")
    text = f'{{"hooks": {{"SessionStart": [{group}]}}}}'
    (Path(home.folder) / "settings.json").write_text(text)
    home.install()
    assert all(hook.installed for hook in home.kind.hooks(home.folder))
    home.uninstall()
    assert (Path(home.folder) / "settings.json").read_text() == text


def test_codex_tells_what_a_person_has_approved(tmp_path: Path) -> None:
    """A person wouldn't learn that Codex skips the hooks."""
    home = Home.make(tmp_path, "codex")
    hooks = Path(home.folder) / "hooks.json"
    hooks.write_bytes((FIXTURES / "home/.codex/hooks.json").read_bytes())
    assert [hook.trusted for hook in home.kind.hooks(home.folder)] == [None, None]
    home.install()
    assert [hook.trusted for hook in home.kind.hooks(home.folder)] == [False, False]
    config = Path(home.folder) / "config.toml"
    state = (
        f'\n[hooks.state."{hooks}:session_start:0:0"]\ntrusted_hash = "sha256:0"\n'
        f'[hooks.state."{hooks}:session_start:1:0"]\ntrusted_hash = "sha256:0"\n'
        f'[hooks.state."{hooks}:user_prompt_submit:1:0"]\ntrusted_hash = "sha256:0"\n'
        '[hooks.state."/elsewhere/hooks.json:user_prompt_submit:0:0"]\ntrusted_hash = "sha256:0"\n'
        "[hooks.state.odd]\n"
    )
    config.write_text(config.read_text() + state)
    assert [(hook.event, hook.trusted) for hook in home.kind.hooks(home.folder)] == [
        ("SessionStart", True),
        ("UserPromptSubmit", False),
    ]
    assert "/hooks" in (home.kind.advice or "")


@pytest.mark.parametrize(
    ("type", "name", "text"),
    [
        ("claude_code", "settings.json", '{"disableAllHooks": true}'),
        ("codex", "config.toml", "[features]\nhooks = false\n"),
        ("codex", "config.toml", "features.codex_hooks = false\n"),
    ],
)
def test_a_setting_that_keeps_all_hooks_from_running_is_told(
    tmp_path: Path, type: Any, name: str, text: str
) -> None:
    """A person would look for the fault in Coffer."""
    home = Home.make(tmp_path, type)
    assert home.kind.blocked(home.folder) is None
    (Path(home.folder) / name).write_text(text)
    assert name in (home.kind.blocked(home.folder) or "")


NOTE = 'Rules:\n- "quoted" \\ — 记忆\n'


@pytest.mark.parametrize("type", ["claude_code", "codex"])
@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
def test_context_is_handed_over_in_the_agents_words(tmp_path: Path, type: AgentType, event: str) -> None:
    """The agent would drop the context, or fail the hook."""
    said = Home.make(tmp_path, type).kind.envelope(event, NOTE)
    assert json.loads(said) == {"hookSpecificOutput": {"hookEventName": event, "additionalContext": NOTE}}
    name = "session-start" if event == "SessionStart" else "user-prompt-submit"
    schema = REAL / f"hooks-settings/codex-capture/v0.144.6/schema/{name}.command.output.schema.json"
    if schema.exists():
        Draft7Validator(json.loads(schema.read_text())).validate(json.loads(said))


def test_cursor_is_handed_context_in_its_own_words(tmp_path: Path) -> None:
    """Cursor would drop what it doesn't know."""
    assert json.loads(Home.make(tmp_path, "cursor").kind.envelope("SessionStart", NOTE)) == {
        "additional_context": NOTE
    }


@pytest.mark.parametrize("type", ["claude_code", "codex", "opencode", "cursor"])
def test_there_is_nothing_to_say_without_context_or_at_the_end(tmp_path: Path, type: AgentType) -> None:
    """An agent would be shown an empty note, or fail over words that it doesn't expect."""
    kind = Home.make(tmp_path, type).kind
    assert [kind.envelope(event, "") for event in kind.events] == [b""] * len(kind.events)
    assert kind.envelope("SessionEnd", NOTE) == kind.envelope("Stop", NOTE) == b""


def test_text_that_is_no_unicode_is_still_said(tmp_path: Path) -> None:
    """One odd character in a fact would take every note from the session."""
    said = Home.make(tmp_path, "codex").kind.envelope("SessionStart", "a\ud83db")
    assert json.loads(said)["hookSpecificOutput"]["additionalContext"] == "a?b"


@pytest.mark.parametrize("type", ["opencode", "cursor"])
def test_agents_without_a_memory_of_their_own_say_so(tmp_path: Path, type: AgentType) -> None:
    """A person would believe that it was switched off."""
    home = Home.make(tmp_path, type)
    with pytest.raises(UnsupportedAgentType):
        home.kind.native_memory_off(home.folder)
    with pytest.raises(UnsupportedAgentType):
        home.kind.native_memory_restored(home.folder, "{}")
