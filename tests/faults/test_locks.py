"""Locks that somebody left or holds: texts are kept at once and committed later, our own locks go by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.preloaded import Preloaded
from tests.faults.home import Home, until

pytestmark = pytest.mark.faults

FIRST, SECOND = "The first note stays.", "The second note waits."
OBSTACLES = ("index.lock", "HEAD.lock", "refs/heads/main.lock")
HARMLESS = ("packed-refs.lock", "config.lock")


@pytest.fixture
def filled(home: Home) -> Home:
    """A home of one fact, whose daemon runs."""
    home.start().remember(FIRST)
    return home


@pytest.fixture
def several(tmp_path: Path, preloaded: Preloaded) -> Iterator[dict[str, Home]]:
    """A home of one fact for each obstacle, so that all wait for the same seconds."""
    homes = {}
    for number, lock in enumerate(OBSTACLES):
        (tmp_path / str(number)).mkdir()
        homes[lock] = Home(tmp_path / str(number), preloaded).start()
        homes[lock].remember(FIRST)
    yield homes
    for home in homes.values():
        home.end_all()


@pytest.mark.report("B59")
def test_a_foreign_lock_makes_a_commit_wait(several: dict[str, Home]) -> None:
    """A lock that a crashed program left would lose what agents say, or keep it from history for ever."""
    facts = {}
    for lock, home in several.items():
        place = home.tree / ".git" / lock
        place.touch()
        os.utime(place, (place.stat().st_mtime - 120,) * 2)
        facts[lock] = fact = home.remember(SECOND)
        assert fact["commit"] == "pending"
        assert Path(lock).name in fact["pending_reason"] and "12" in fact["pending_reason"]
        assert home.texts_of() == [FIRST, SECOND]
        assert not home.committed(fact)
        (check,) = home.findings("repository")
        assert Path(lock).name in check["message"] and check["action"]
        assert place.exists()
    for lock, home in several.items():
        (home.tree / ".git" / lock).unlink()
    for lock, home in several.items():
        until(lambda home=home, lock=lock: home.committed(facts[lock]))
        made = home.git("log", "--format=%an|%(trailers:key=Coffer-Op,valueonly,separator=%x2C)", "main")
        assert made.splitlines() == ["claude-code|remember"] * 2
        home.texts_of()
        home.check()


@pytest.mark.parametrize("lock", HARMLESS)
def test_other_locks_are_no_obstacle(filled: Home, lock: str) -> None:
    """A lock on something that isn't needed would keep every text from history."""
    (filled.tree / ".git" / lock).touch()
    assert filled.remember(SECOND)["commit"] == "committed"
    filled.restart()
    assert filled.texts_of() == [FIRST, SECOND]
    filled.check(locks=[lock])


@pytest.mark.report("B59")
@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_of_a_dead_daemon_goes_at_start(filled: Home, lock: str) -> None:
    """After a crash, git would refuse to work in the memory until somebody finds the file to delete."""
    filled.kill()
    (filled.tree / ".git" / lock).write_text(f"coffer {filled.daemon.pid} 1\n")
    filled.start()
    assert not (filled.tree / ".git" / lock).exists()
    assert filled.remember(SECOND)["commit"] == "committed"
    filled.texts_of()
    filled.check()


@pytest.mark.parametrize("lock", OBSTACLES)
def test_a_foreign_lock_at_start_is_kept_and_named(filled: Home, lock: str) -> None:
    """Taking away a lock that somebody still holds would spoil what they are doing."""
    filled.kill()
    place = filled.tree / ".git" / lock
    place.write_text("")
    filled.start()
    assert place.exists()
    fact = filled.remember(SECOND)
    assert fact["commit"] == "pending"
    assert any(Path(lock).name in check["message"] for check in filled.findings("repository"))
    filled.stop()
    assert place.exists()
    place.unlink()
    # The next start finds it again, with its own author.
    filled.start()
    assert filled.git("log", "-1", "--format=%an", "--", filled.path(fact)).strip() == "claude-code"
    assert filled.texts_of() == [FIRST, SECOND]
    filled.check()


def test_what_waits_survives_a_kill(filled: Home) -> None:
    """A lock and a crash together would cost a commit its author, or a text its place in history."""
    lock = filled.tree / ".git" / "index.lock"
    lock.touch()
    facts = [filled.remember(f"Note {number} waits.") for number in range(5)]
    edited = filled.edit(facts[0]["id"], "Note 0 was edited while it waited.")
    filled.delete(facts[1]["id"])
    filled.kill()
    filled.start()
    assert [filled.committed(fact) for fact in (edited, facts[2])] == [False, False]
    filled.kill()
    lock.unlink()
    filled.start()
    made = filled.git("log", "--format=%an|%(trailers:key=Coffer-Op,valueonly,separator=%x2C)", "main")
    assert made.splitlines() == [
        "claude-code|delete",
        "claude-code|edit",
        *["claude-code|remember"] * 6,
    ]
    assert filled.texts_of() == sorted([FIRST, edited["text"], *(fact["text"] for fact in facts[2:])])
    filled.check()
