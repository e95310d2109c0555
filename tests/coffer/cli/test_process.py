"""The command line as a process of its own: pipes, locales, signals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.coffer.cli.conftest import RUN
from tests.coffer.cli.fake_rest import FACT, Coffer, FakeRest, fact


def test_a_day_with_the_command_line(rest: FakeRest, process: Coffer) -> None:
    """The installed command would do something else than its parts."""
    facts = "/memory_stores/global/facts"
    rest.reply("POST", facts, 201, fact())
    added = process("memory", "add", "global", "-", stdin="Deploys 家".encode())
    assert (added.status, added.out, added.err) == (0, f"Added {FACT}  Deploys go through make release\n", "")
    assert rest.last.body == {"text": "Deploys 家"}

    hit = {
        "id": FACT,
        "text": "Deploys",
        "score": 1.0,
        "source": "global:/x.md",
        "time": "2026-06-03T09:30:00Z",
    }
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": [hit]})
    recalled = process("memory", "recall", "global", "deploy", "--json")
    assert (recalled.status, json.loads(recalled.out), recalled.err) == (0, {"hits": [hit]}, "")

    gone = process("memory", "get", "global", "nothing")
    assert (gone.status, gone.out) == (1, "")
    assert gone.err == f"coffer: /api/v1{facts}/nothing isn't there.\n"

    refused = process("memory", "clear", "global")
    assert (refused.status, refused.err) == (
        1,
        "coffer: Nobody can be asked here; say --yes to clear the store.\n",
    )

    wrong = process("memory", "recall")
    assert wrong.status == 2


def test_a_query_of_any_bytes_is_asked(rest: FakeRest, process: Coffer) -> None:
    """A query pasted from a file in another encoding would be an error instead of an answer."""
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": []})
    ran = process("memory", "recall", "global", b"caf\xe9 \x1b[0m")
    assert (ran.status, ran.out) == (0, "Nothing found.\n")
    assert rest.last.body == {"query": "caf\ufffd \x1b[0m"}


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["text", "json"])
def test_a_terminal_that_cannot_show_a_character_still_gets_the_rest(
    rest: FakeRest, process: Coffer, option: tuple[str, ...]
) -> None:
    """One Chinese fact would make a whole list unreadable on an old terminal."""
    rest.reply("GET", f"/memory_stores/global/facts/{FACT}", 200, fact(text="家 é"))
    ran = process("memory", "get", "global", FACT, *option, PYTHONIOENCODING="ascii")
    assert (ran.status, ran.err) == (0, "")
    assert json.loads(ran.out)["text"] == "家 é" if option else ran.out.endswith("\\u5bb6 \\xe9\n")


@pytest.mark.parametrize("option", [(), ("--json",)], ids=["text", "json"])
def test_a_reader_that_has_seen_enough_is_no_error(rest: FakeRest, option: tuple[str, ...]) -> None:
    """`coffer memory facts | head` would end in a traceback."""
    rest.reply("GET", "/memory_stores/global/facts", 200, {"facts": [fact()] * 200, "total": 200})
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", RUN, "memory", "facts", "global", *option],
        stdout=write,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_output_that_cannot_be_written_is_one_sentence(rest: FakeRest) -> None:
    """A script that saves a list on a full disk would believe that it has it."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", RUN, "memory", "list"], stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert (done.returncode, done.stderr) == (1, b"coffer: No space left on device: standard output\n")


def test_ctrl_c_is_status_130(rest: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted command would end in a traceback."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("coffer.surfaces.cli.memory._list", interrupted)
    ran = coffer("memory", "list")
    assert (ran.status, ran.out, ran.err) == (130, "", "")


def test_a_daemon_that_cannot_start_is_one_sentence(process: Coffer, tmp_path: Path) -> None:
    """A home that isn't a folder would end in a traceback."""
    file = tmp_path / "file"
    file.write_text("not a folder")
    ran = process("memory", "list", COFFER_HOME=str(file))
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("coffer: ")
    assert ran.err.count("\n") == 1
