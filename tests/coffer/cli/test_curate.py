"""The commands that change memory."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.coffer.cli.fake_rest import FACT, Coffer, FakeRest, fact, store

ROUTE = f"/memory_stores/global/facts/{FACT}"


class _Stdin(io.TextIOWrapper):
    """A standard input with the given bytes, which may be a terminal."""

    def __init__(self, data: bytes, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data))
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def test_add_remembers_in_the_users_name(rest: FakeRest, coffer: Coffer) -> None:
    """A fact that a person adds would count as an agent's, or not be stored at all."""
    rest.reply("POST", "/memory_stores/global/facts", 201, fact())
    ran = coffer("memory", "add", "global", "Deploys go through make release")
    assert (ran.status, ran.out) == (0, f"Added {FACT}  Deploys go through make release\n")
    assert rest.last.body == {"text": "Deploys go through make release"}
    assert unquote(rest.last.headers["x-coffer-cwd"]) == str(Path.cwd())
    assert rest.last.headers["x-coffer-actor"] == "user"
    assert rest.last.headers["content-type"] == "application/json"


def test_add_takes_title_description_and_a_secret_on_demand(rest: FakeRest, coffer: Coffer) -> None:
    """What a person says about a fact would be lost."""
    rest.reply("POST", "/memory_stores/global/facts", 201, fact())
    coffer("memory", "add", "global", "x", "--title", "T", "--description", "D", "--allow-secret")
    assert rest.last.body == {"text": "x", "title": "T", "description": "D", "allow_secret": True}


def test_add_reads_standard_input(rest: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of several lines, or one that begins with a dash, couldn't be added."""
    rest.reply("POST", "/memory_stores/global/facts", 201, fact())
    monkeypatch.setattr("sys.stdin", _Stdin("- 家\r\n- b\n".encode()))
    assert coffer("memory", "add", "global", "-").status == 0
    assert rest.last.body == {"text": "- 家\r\n- b\n"}


def test_text_that_is_not_utf8_is_refused(
    rest: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged characters would be stored without a word."""
    monkeypatch.setattr("sys.stdin", _Stdin(b"\xff\xfe"))
    assert coffer("memory", "add", "global", "-").err == (
        "coffer: Standard input isn't valid UTF-8; nothing was sent.\n"
    )
    ran = coffer("memory", "add", "global", "caf\udce9")
    assert (ran.status, ran.err) == (1, "coffer: The text isn't valid UTF-8; nothing was sent.\n")
    assert not [asked for asked in rest.asked if asked.method == "POST"]


def test_add_says_when_the_text_was_there_already(rest: FakeRest, coffer: Coffer) -> None:
    """A person would look for a second fact that doesn't exist."""
    rest.reply("POST", "/memory_stores/global/facts", 200, fact())
    assert coffer("memory", "add", "global", "x").out.startswith(f"Already remembered: {FACT}")


def test_a_pending_commit_is_told(rest: FakeRest, coffer: Coffer) -> None:
    """A person would believe that the fact is in git already."""
    rest.reply(
        "POST", "/memory_stores/global/facts", 201, fact(commit="pending", pending_reason="index.lock")
    )
    ran = coffer("memory", "add", "global", "x")
    assert ran.status == 0
    assert ran.out.endswith("\nThe file is kept; its commit is pending: index.lock\n")


def test_a_secret_is_refused_with_the_option_that_insists(rest: FakeRest, coffer: Coffer) -> None:
    """A person with a false alarm wouldn't know how to go on."""
    details = {"reason": "secret", "kind": "private key"}
    rest.refuse("POST", "/memory_stores/global/facts", 422, "MEMORY_REJECTED", "No.", **details)
    ran = coffer("memory", "add", "global", "x")
    assert ran.status == 1
    assert ran.err == (
        "coffer: The text seems to hold a secret (private key); "
        "say where it is kept instead, or insist with --allow-secret.\n"
    )


def test_another_rejection_keeps_its_own_sentence(rest: FakeRest, coffer: Coffer) -> None:
    """A text that is too long would be called a secret."""
    message = "The text has 9000 characters, 8192 are allowed."
    rest.refuse("POST", "/memory_stores/global/facts", 422, "MEMORY_REJECTED", message, reason="too_long")
    assert coffer("memory", "add", "global", "x").err == f"coffer: {message}\n"


def test_edit_with_a_text_replaces_it(
    rest: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong fact couldn't be corrected from a script."""
    rest.reply("PATCH", ROUTE, 200, fact(title="New"))
    assert coffer("memory", "edit", "global", FACT, "New").out == f"Edited {FACT}  New\n"
    assert rest.last.body == {"text": "New"}
    assert "if-match" not in rest.last.headers
    monkeypatch.setattr("sys.stdin", _Stdin(b"from a pipe"))
    coffer("memory", "edit", "global", FACT, "-")
    assert rest.last.body == {"text": "from a pipe"}


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for drafts, and a way to make $EDITOR run a script over the draft."""
    drafts = tmp_path / "drafts"
    drafts.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(drafts))
    return drafts


def edit_by(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """Let $EDITOR be a command with an option, and a path with a blank, that runs `code` over `draft`."""
    script = tmp_path / "my editor.py"
    script.write_text(f"import sys, pathlib\ndraft = pathlib.Path(sys.argv[2])\n{code}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}' --wait")


REPLACE = "draft.write_bytes(draft.read_bytes().replace(b'tags', b'tags by hand'))"


def test_edit_opens_the_editor_and_guards_what_was_read(
    rest: FakeRest, coffer: Coffer, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent's change made meanwhile would be overwritten, or the draft be left behind."""
    rest.reply("PATCH", ROUTE, 200, fact())
    edit_by(monkeypatch, tmp_path, REPLACE)
    ran = coffer("memory", "edit", "global", FACT)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("Edited ")
    assert rest.last.headers["if-match"] == '"v1"'
    assert rest.last.body == {
        "text": "Deploys go through make release,\nnever by pushing tags by hand.\n",
    }
    assert list(editor.iterdir()) == []


def test_an_unchanged_text_changes_nothing(
    rest: FakeRest, coffer: Coffer, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking at a fact would make a commit."""
    edit_by(monkeypatch, tmp_path, "draft.write_bytes(draft.read_bytes().rstrip())")
    ran = coffer("memory", "edit", "global", FACT)
    assert (ran.status, ran.out) == (0, "The text is unchanged.\n")
    assert {asked.method for asked in rest.asked} == {"GET"}
    assert list(editor.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (412, "STALE_WRITE", "Fact x changed since it was read; read it again."),
        (422, "MEMORY_REJECTED", "The text has 9000 characters."),
    ],
)
def test_a_refused_edit_keeps_the_persons_text(
    rest: FakeRest,
    coffer: Coffer,
    editor: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    code: str,
    message: str,
) -> None:
    """What a person has just typed would be lost."""
    rest.refuse("PATCH", ROUTE, status, code, message)
    edit_by(monkeypatch, tmp_path, REPLACE)
    ran = coffer("memory", "edit", "global", FACT)
    [draft] = editor.glob("*/fact.md")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == f"coffer: {message} Your text is kept in {draft}.\n"
    assert "tags by hand" in draft.read_text()


def test_an_editor_that_fails_changes_nothing(
    rest: FakeRest, coffer: Coffer, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leaving the editor with an error, as `:cq` does, would still store the text, or lose it."""
    edit_by(monkeypatch, tmp_path, "sys.exit(3)")
    ran = coffer("memory", "edit", "global", FACT)
    assert (ran.status, ran.err) == (1, "coffer: The editor ended with status 3; nothing was changed.\n")
    assert list(editor.iterdir()) == []
    edit_by(monkeypatch, tmp_path, f"{REPLACE}\nsys.exit(3)")
    ran = coffer("memory", "edit", "global", FACT)
    [draft] = editor.glob("*/fact.md")
    assert ran.err.endswith(f"nothing was changed. Your text is kept in {draft}.\n")
    assert {asked.method for asked in rest.asked} == {"GET"}


def test_an_editor_that_saves_something_else_than_utf8(
    rest: FakeRest, coffer: Coffer, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged characters would be stored, or the text be lost."""
    edit_by(monkeypatch, tmp_path, "draft.write_bytes(b'caf\\xe9')")
    ran = coffer("memory", "edit", "global", FACT)
    [draft] = editor.glob("*/fact.md")
    assert ran.err == f"coffer: What the editor saved isn't valid UTF-8; it is kept in {draft}.\n"


def test_an_editors_backup_is_left_alone(
    rest: FakeRest, coffer: Coffer, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit that succeeded would end in an error because of the editor's backup file."""
    edit_by(monkeypatch, tmp_path, "pathlib.Path(sys.argv[2] + '~').write_text('backup')")
    assert coffer("memory", "edit", "global", FACT).status == 0
    assert [path.name for path in editor.glob("*/*")] == ["fact.md~"]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "EDITOR isn't set; set it, or give the new text on the command line or on standard input."),
        ("/no/such/editor -w", "The editor '/no/such/editor' can't be started (No such file or directory)"),
        ("vi 'open quote", "EDITOR can't be understood"),
    ],
)
def test_edit_without_a_usable_editor_says_what_to_do(
    rest: FakeRest, coffer: Coffer, editor: Path, monkeypatch: pytest.MonkeyPatch, value: str, said: str
) -> None:
    """The person would get a traceback."""
    monkeypatch.setenv("EDITOR", value)
    ran = coffer("memory", "edit", "global", FACT)
    assert ran.status == 1
    assert ran.err.startswith(f"coffer: {said}")
    assert list(editor.iterdir()) == []


def test_delete_says_that_history_keeps_the_text(rest: FakeRest, coffer: Coffer) -> None:
    """A person who deletes a password would believe it gone."""
    rest.reply("DELETE", ROUTE, 204, None)
    ran = coffer("memory", "delete", "global", FACT)
    assert (ran.status, ran.out) == (0, f"Deleted {FACT}; its text stays in the git history.\n")
    assert rest.last.headers["x-coffer-actor"] == "user"


@pytest.fixture
def clearable(rest: FakeRest) -> FakeRest:
    """A daemon that clears the global store."""
    rest.reply("DELETE", "/memory_stores/global/facts", 200, {"cleared": 2})
    return rest


def test_clear_asks_on_a_terminal(
    clearable: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slip would empty a store."""
    monkeypatch.setattr("sys.stdin", _Stdin(b"y\n", terminal=True))
    ran = coffer("memory", "clear", "global")
    assert ran.err == "Delete 2 facts, all there is in global (global)? [y/N] "
    assert (ran.status, ran.out) == (0, "Cleared 2 facts; what was there stays in the git history.\n")


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"", b"yess\n"])
def test_clear_does_nothing_without_a_yes(
    clearable: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch, typed: bytes
) -> None:
    """Anything but a yes would be taken for one."""
    monkeypatch.setattr("sys.stdin", _Stdin(typed, terminal=True))
    ran = coffer("memory", "clear", "global")
    assert ran.status == 1
    assert ran.err.endswith("coffer: Nothing was cleared.\n")
    assert {asked.method for asked in clearable.asked} == {"GET"}


def test_clear_without_a_terminal_needs_yes(
    clearable: FakeRest, coffer: Coffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script could empty a store by accident, or hang."""
    monkeypatch.setattr("sys.stdin", _Stdin(b"y\n"))
    ran = coffer("memory", "clear", "global")
    assert (ran.status, ran.err) == (1, "coffer: Nobody can be asked here; say --yes to clear the store.\n")
    assert coffer("memory", "clear", "global", "--yes").status == 0


def test_label_names_a_store_and_blank_clears(rest: FakeRest, coffer: Coffer) -> None:
    """A store whose folder is unknown would stay a row of letters."""
    rest.reply("PATCH", "/memory_stores/global/label", 200, store("global", display_name="Everywhere"))
    assert coffer("memory", "label", "global", "Everywhere").out == "global is called Everywhere.\n"
    assert rest.last.body == {"label": "Everywhere"}
    coffer("memory", "label", "global", "")
    assert rest.last.body == {"label": ""}


def test_restore_brings_a_version_back(rest: FakeRest, coffer: Coffer) -> None:
    """A deleted or spoiled fact couldn't be had back."""
    rest.reply("POST", f"{ROUTE}/restore", 200, fact())
    ran = coffer("memory", "restore", "global", FACT, "c" * 40)
    assert (ran.status, ran.out) == (0, f"Restored {FACT}  Deploys go through make release\n")
    assert rest.last.body == {"commit": "c" * 40}
