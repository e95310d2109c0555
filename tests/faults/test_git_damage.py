"""Git's own files damaged: the memory is served all the same, mended where it can be, and never begun anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.home import Home, Json

pytestmark = pytest.mark.faults

FIRST, SECOND, THIRD = "The first note stays.", "The second note stays.", "The third note comes later."


@pytest.fixture
def filled(home: Home) -> Home:
    """A home of two facts, whose daemon has ended."""
    home.start()
    home.remember(FIRST)
    home.remember(SECOND)
    home.texts_of()
    home.stop()
    return home


def loose(home: Home, revision: str) -> Path:
    """Return the file of a git object."""
    oid = home.git("rev-parse", revision).strip()
    return home.tree / ".git" / "objects" / oid[:2] / oid[2:]


def empty(path: Path) -> None:
    path.chmod(0o600)
    os.truncate(path, 0)


def a_fact(home: Home) -> str:
    return home.git("ls-files", "global/knowledge/inbox").splitlines()[0]


def notes(home: Home) -> str:
    return " ".join(check["message"] for check in home.get("/doctor").done()["checks"])


INDEX_DAMAGES: dict[str, Callable[[Path], None]] = {
    "garbage": lambda path: path.write_bytes(os.urandom(3000)) and None,
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2),
    "empty": lambda path: os.truncate(path, 0),
    "absent": lambda path: path.unlink(),
}


@pytest.mark.parametrize("running", [False, True], ids=["at start", "running"])
@pytest.mark.parametrize("damage", INDEX_DAMAGES)
def test_gits_index_is_made_again(filled: Home, damage: str, running: bool) -> None:
    """After a bad shutdown every text would wait for a commit that never comes, or git would show it deleted."""
    if running:
        filled.start()
    INDEX_DAMAGES[damage](filled.tree / ".git" / "index")
    if not running:
        filled.start()
    fact = filled.remember(THIRD)
    assert fact["commit"] == "committed"
    assert filled.texts_of() == [FIRST, SECOND, THIRD]
    filled.check()


def test_an_empty_object_that_nothing_needs_is_removed(filled: Home) -> None:
    """An object that a power cut left empty makes git refuse to write the same text again."""
    oid = filled.git("hash-object", "-w", "--stdin", "--path=x", input="unneeded").strip()
    empty(filled.tree / ".git" / "objects" / oid[:2] / oid[2:])
    filled.start()
    assert oid in notes(filled)
    filled.remember(THIRD)
    filled.texts_of()
    filled.check()


def test_an_empty_object_of_a_fact_is_written_again(filled: Home) -> None:
    """A power cut would leave a repository that can't be cloned, though the file is there."""
    empty(loose(filled, f"HEAD:{a_fact(filled)}"))
    filled.start()
    assert filled.texts_of() == [FIRST, SECOND]
    filled.remember(THIRD)
    assert filled.texts_of() == [FIRST, SECOND, THIRD]
    filled.check()


def test_a_missing_object_of_a_fact_is_written_again(filled: Home) -> None:
    """Whoever lost an object of a file that is there would have to find out how to bring it back."""
    loose(filled, f"HEAD:{a_fact(filled)}").unlink()
    filled.start()
    assert filled.texts_of() == [FIRST, SECOND]
    assert a_fact(filled) in notes(filled)
    filled.check()


def test_a_missing_object_that_is_nowhere_else_is_named(filled: Home) -> None:
    """History would be unreadable at one place, and nobody would know until they need it."""
    filled.start()
    name = a_fact(filled)
    loose(filled, f"HEAD:{name}").unlink()
    (filled.tree / name).write_text("A person has written over it.\n")
    assert "A person has written over it." in filled.texts_of()
    (check,) = filled.findings("history")
    assert name in check["message"] and check["action"]
    filled.check(lost=True, edited=[name], status=[f" M {name}"])


@pytest.mark.parametrize("what", ["HEAD", "HEAD^{tree}"], ids=["commit", "tree"])
@pytest.mark.parametrize("missing", [False, True], ids=["empty", "missing"])
def test_a_lost_tip_is_made_again_from_the_files(filled: Home, what: str, missing: bool) -> None:
    """A power cut in the middle of the user's own commit would stop Coffer from ever committing again."""
    before = filled.git("rev-parse", "HEAD~1").strip()
    place = loose(filled, what)
    if missing:
        place.unlink()
    else:
        empty(place)
    filled.start()
    assert filled.texts_of() == [FIRST, SECOND]
    assert filled.remember(THIRD)["commit"] == "committed"
    assert filled.git("merge-base", "--is-ancestor", before, "HEAD") == ""
    assert filled.texts_of() == [FIRST, SECOND, THIRD]
    filled.check(lost=True)  # the log still names the commit


@pytest.mark.report("B64")
@pytest.mark.parametrize("content", ["", "\0" * 41, "nonsense\n"], ids=["empty", "zeros", "nonsense"])
def test_a_damaged_branch_is_set_from_its_log(filled: Home, content: str) -> None:
    """GitLab lost refs that way: the branch's file is empty after a power cut, and the history out of reach."""
    before = filled.git("rev-parse", "HEAD").strip()
    (filled.tree / ".git" / "refs" / "heads" / "main").write_text(content)
    filled.start()
    assert filled.texts_of() == [FIRST, SECOND]
    assert filled.git("rev-parse", "HEAD").strip() == before
    assert before[:12] in notes(filled)
    assert filled.remember(THIRD)["commit"] == "committed"
    filled.texts_of()
    filled.check()


@pytest.mark.parametrize("content", ["", "nonsense\n"], ids=["empty", "nonsense"])
@pytest.mark.parametrize("running", [False, True], ids=["at start", "running"])
def test_a_damaged_head_is_left_to_its_owner(filled: Home, content: str, running: bool) -> None:
    """A repository that can't be understood would be made anew over the old one, with all history gone."""
    if running:
        filled.start()
    objects = set((filled.tree / ".git" / "objects").rglob("*"))
    (filled.tree / ".git" / "HEAD").write_text(content)
    if not running:
        filled.start()
    assert filled.texts_of() == [FIRST, SECOND]
    fact: Json = filled.remember(THIRD)
    assert fact["commit"] == "pending" and fact["pending_reason"]
    assert filled.texts_of() == [FIRST, SECOND, THIRD]
    assert (filled.tree / ".git" / "HEAD").read_text() == content
    assert objects <= set((filled.tree / ".git" / "objects").rglob("*"))
    (check,) = filled.findings("repository")
    assert check["status"] != "ok" and check["action"]
    # Its owner mends it.
    (filled.tree / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert filled.remember("One more.")["commit"] == "committed"
    filled.restart()
    assert len(filled.texts_of()) == 4
    filled.check()
