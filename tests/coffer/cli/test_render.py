"""How answers are laid out, and that stored text can't do anything to a terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coffer.surfaces.cli.render import fields, indented, one_line, print_json, table, visible
from tests.coffer.cli.fake_rest import FACT, Coffer, FakeRest, fact

HOSTILE = "\x1b]0;owned\x07 \x9b2J \u202etxt.exe \u2066x\u2069 \x08\x7f \u200b \U000e0041 tail\rover"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\U000e0041", "a\\U000e0041"),
        ("over\rwritten", "over\\x0dwritten"),
        ("two\r\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\udcff", "\\udcff"),
        ("家 é 👩\u200d💻 \\x1b", "家 é 👩\u200d💻 \\x1b"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    """A fact could clear the screen, hide itself, or change the window's title."""
    assert visible(text) == shown


@given(st.text(st.characters(), max_size=60))
def test_nothing_that_drives_a_terminal_gets_through(text: str) -> None:
    """Some character nobody thought of would reach the terminal raw."""
    kept = {char for char in visible(text) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")}
    assert kept <= {"\n", "\t"}
    assert not {char for char in visible(text) if unicodedata.bidirectional(char) in BIDI_CONTROLS}
    assert "\n" not in one_line(text)


BIDI_CONTROLS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}


@settings(max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_json_means_what_the_daemon_sent(text: str) -> None:
    """A program that reads --json would get another text than the one that is stored."""
    with pytest.MonkeyPatch.context() as patch:
        written = _Written()
        patch.setattr("sys.stdout", written)
        print_json(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
    assert json.loads(written.buffer.data) == {"text": text}
    assert written.buffer.data.endswith(b"}\n")
    assert visible(written.buffer.data.decode()) == written.buffer.data.decode()


class _Written:
    """A standard output that keeps its bytes."""

    class Buffer:
        data = b""

        def write(self, data: bytes) -> None:
            self.data += data

    def __init__(self) -> None:
        self.buffer = self.Buffer()

    def flush(self) -> None:
        pass


def test_columns_stand_under_each_other() -> None:
    """A list would be hard to read when titles are Chinese or numbers have several digits."""
    shown = table(("NAME", "N", "TITLE"), [("家家", 5, "a\n b"), ("x", 120, None), ("e\u0301é", 7, "\x1b")])
    assert shown.split("\n") == [
        "NAME    N  TITLE",
        "家家    5  a b",
        "x     120",
        "e\u0301é      7  \\x1b",
    ]


def test_fields_without_a_value_are_left_out() -> None:
    """A page about a store would be full of empty lines."""
    assert fields([("name", "x"), ("label", None), ("merged", ["a", "b"]), ("rules", 0)]) == (
        "name:   x\nmerged: a, b\nrules:  0"
    )


def test_an_indented_text_has_no_line_at_the_margin() -> None:
    """A fact could print a line that looks like another hit."""
    assert indented("a\n[9.99] fake\n\nb") == "    a\n    [9.99] fake\n\n    b"


@pytest.mark.parametrize(
    "argv",
    [
        ["memory", "get", "global", FACT],
        ["memory", "get", "global", FACT, "--json"],
        ["memory", "facts", "global"],
        ["memory", "recall", "global", "x"],
        ["memory", "list"],
        ["memory", "history", "global"],
        ["memory", "restore", "global", FACT, "c" * 40],
        ["doctor"],
        ["audit"],
    ],
    ids=" ".join,
)
def test_no_command_lets_stored_text_drive_the_terminal(
    rest: FakeRest, coffer: Coffer, argv: list[str]
) -> None:
    """Reading a fact that somebody else wrote could change what the terminal shows."""
    hostile = fact(title=HOSTILE, text=HOSTILE, description=HOSTILE, path=HOSTILE, agent=HOSTILE)
    raw = json.dumps(hostile, ensure_ascii=False).encode()
    rest.reply("GET", f"/memory_stores/global/facts/{FACT}", 200, raw)
    rest.reply("POST", f"/memory_stores/global/facts/{FACT}/restore", 200, hostile)
    rest.reply("GET", "/memory_stores/global/facts", 200, {"facts": [hostile], "total": 1})
    hit = {"id": FACT, "text": HOSTILE, "score": 1.0, "source": HOSTILE, "time": HOSTILE}
    rest.reply("POST", "/memory_stores/global/recall", 200, {"hits": [hit]})
    listed = {"name": HOSTILE, "display_name": HOSTILE, "fact_count": 1, "updated_at": None}
    listed |= {"project_root": HOSTILE, "remote": None}
    rest.reply("GET", "/memory_stores", 200, {"memory_stores": [listed]})
    commit = {
        "commit": "c" * 40,
        "time": HOSTILE,
        "op": None,
        "actor": None,
        "agent": None,
        "subject": HOSTILE,
    }
    rest.reply("GET", "/memory_stores/global/history", 200, {"commits": [commit]})
    check = {"name": HOSTILE, "status": "warning", "message": HOSTILE, "action": HOSTILE}
    rest.reply("GET", "/doctor", 200, {"ok": True, "checks": [check]})
    event = {"time": "t", "event": "e", "actor": "user", "agent": HOSTILE, "store": "s"}
    rest.reply("GET", "/audit", 200, {"events": [event | {"details": {"x": HOSTILE}}]})
    ran = coffer(*argv)
    assert (ran.status, ran.err) == (0, "")
    assert "tail" in ran.out
    assert visible(ran.out) == ran.out
