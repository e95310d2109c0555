"""What can be typed, and what it costs to start."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from coffer.surfaces.cli import command_line, main
from tests.coffer.cli.fake_rest import Coffer, FakeRest

COMMANDS = {
    *(f"daemon {name}" for name in ("run", "start", "stop", "status", "rotate-token")),
    *(f"memory {name}" for name in ("list", "show", "facts", "get", "add", "edit", "delete", "clear")),
    *(f"memory {name}" for name in ("recall", "label", "history", "restore")),
    *(f"memory {name}" for name in ("diff", "blame", "undo")),
    *(f"memory {name}" for name in ("merge-scan", "merge")),
    *(f"memory {name}" for name in ("rules", "rules-add", "rules-accept", "journal", "journal-add")),
    *(f"memory {name}" for name in ("handoff", "log")),
    *(f"agent {name}" for name in ("list", "candidates", "add", "remove", "hooks", "mcp", "set")),
    *(f"sync {name}" for name in ("init", "run", "status", "accept", "conflicts", "resolve", "serve", "off")),
    *("setup", "doctor", "audit", "invocations"),
}
READING = {
    *(f"memory {name}" for name in ("list", "show", "facts", "get", "recall", "history")),
    *(f"memory {name}" for name in ("diff", "blame", "merge-scan")),
    *(f"memory {name}" for name in ("rules", "journal", "handoff", "log")),
    *(f"agent {name}" for name in ("list", "candidates", "hooks", "mcp")),
    *(f"sync {name}" for name in ("run", "status", "accept", "conflicts", "serve")),
    *("daemon status", "doctor", "audit", "invocations"),
}
SLOW = (
    "trio",
    "quart",
    "mcp",
    "pydantic",
    "asyncio",
    "http.client",
    "click",
    "typing",
    "dataclasses",
    "subprocess",
)


def walk(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and group."""
    yield words
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, child in action.choices.items():
                yield from walk(child, (*words, name))


EVERY = list(walk(command_line()))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """A command couldn't tell its user how it is used."""
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    usage = capsys.readouterr().out
    assert usage.startswith(f"usage: {' '.join(('coffer', *words))}")
    assert ("--json" in usage) == (" ".join(words) in READING)


def test_exactly_the_promised_commands_exist() -> None:
    """A documented command would be missing, or an undocumented one be there."""
    groups = {(), ("memory",), ("agent",), ("daemon",), ("sync",)}
    assert {" ".join(words) for words in EVERY if words not in groups} == COMMANDS


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["memory"],
        ["memory", "recal", "global", "x"],
        ["memory", "recall", "global"],
        ["memory", "recall", "global", "x", "--top", "3"],
        ["memory", "recall", "global", "x", "--scope", "everything"],
        ["memory", "facts", "--limit", "many"],
        ["memory", "history", "--fact", "a", "--path", "b"],
        ["memory", "history", "--fact", "a", "--all"],
        ["memory", "diff", "."],
        ["memory", "rules-accept", "."],
        ["memory", "rules-accept", ".", "a rule", "--all"],
        ["memory", "rules-add", "."],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A script couldn't tell its own mistake from a refusal."""
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert "usage: coffer" in capsys.readouterr().err


def test_recall_imports_nothing_slow(rest: FakeRest) -> None:
    """Every recall on the command line would take a second for modules that it doesn't use."""
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": []})
    script = (
        "import sys, json; from coffer.surfaces.cli import main; main(['memory', 'recall', 'global', 'x']);"
        f"print(json.dumps([name for name in {SLOW!r} if name in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=60
    )
    assert done.stdout.startswith("Nothing found.\n")
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_version(process: Coffer) -> None:
    """Nobody could say in a report which Coffer they have."""
    ran = process("--version")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("coffer ")
