"""The index damaged, lost, mixed up or forbidden: every answer stays the same, because the files are the truth."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.home import Home, without_privileges

pytestmark = pytest.mark.faults

TOPICS = ("deploy", "staging", "database", "release", "invoice", "login", "cache", "queue")
QUERIES = (*TOPICS, "number 7", "the login of number 3", "nothing like that")

Answers = list[list[tuple[str, float]]]


@pytest.fixture
def filled(home: Home) -> Home:
    """A home whose daemon serves two dozen facts."""
    home.start()
    for number in range(24):
        home.remember(
            f"The {TOPICS[number % 8]} of number {number} is described in chapter {number * 7 % 24}. " * 4
        )
    return home


def answers(home: Home) -> Answers:
    return [
        [(hit["text"], hit["score"]) for hit in home.recall("global", query, top_k=10)] for query in QUERIES
    ]


def index_of(home: Home) -> Path:
    return home.home / "index.sqlite"


def overwrite(path: Path, offset: int, size: int = 4096) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(os.urandom(size))


def set_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def middle(path: Path) -> int:
    return path.stat().st_size // 2 // 4096 * 4096


DAMAGES: dict[str, Callable[[Path], None]] = {
    "header": lambda path: overwrite(path, 0, 100),
    "second page": lambda path: overwrite(path, 4096),
    "middle page": lambda path: overwrite(path, middle(path)),
    "last page": lambda path: overwrite(path, path.stat().st_size - 4096),
    "cut": lambda path: os.truncate(path, path.stat().st_size // 2 + 100),
    "text": lambda path: path.write_text("This isn't a database. " * 500) and None,
}


@pytest.mark.report("B12")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_put_aside_and_made_again(filled: Home, damage: str) -> None:
    """After a bad shutdown, recall would fail, or find less than there is and say nothing."""
    before = answers(filled)
    filled.stop()
    DAMAGES[damage](index_of(filled))
    damaged = index_of(filled).read_bytes()
    filled.start()
    assert answers(filled) == before
    assert (filled.home / "index.damaged-1" / "index.sqlite").read_bytes() == damaged
    filled.check()


@pytest.mark.parametrize("damage", ["header", "middle page"])
def test_the_log_goes_aside_with_the_index(filled: Home, damage: str) -> None:
    """The log of the damaged file would be replayed over the new one, and spoil it too."""
    before = answers(filled)
    filled.kill()
    assert index_of(filled).with_name("index.sqlite-wal").stat().st_size
    DAMAGES[damage](index_of(filled))
    filled.start()
    assert answers(filled) == before
    filled.stop()
    aside = filled.home / "index.damaged-1"
    if aside.exists():  # a log that holds every page mends the file under it
        assert {"index.sqlite", "index.sqlite-wal"} <= {path.name for path in aside.iterdir()}
    filled.check()


@pytest.mark.parametrize(
    "lost",
    [("",), ("", "-wal", "-shm"), ("-wal",), ("-shm",), ("-wal", "-shm")],
    ids=["main", "all", "log", "memory", "log and memory"],
)
@pytest.mark.parametrize("running", [False, True], ids=["killed", "running"])
def test_any_part_of_the_index_may_be_deleted(filled: Home, lost: tuple[str, ...], running: bool) -> None:
    """Somebody who cleans up would break recall, or bring back what was deleted."""
    gone = filled.facts()[0]
    before = answers(filled)
    filled.delete(gone["id"])
    if not running:
        filled.kill()
    for part in lost:
        index_of(filled).with_name(f"index.sqlite{part}").unlink(missing_ok=True)
    if not running:
        filled.start()
    found = answers(filled)
    assert [[text for text, _ in hits] for hits in found] != [[text for text, _ in hits] for hits in before]
    filled.restart()
    for path in filled.home.glob("index.sqlite*"):
        path.unlink()
    assert answers(filled) == found
    filled.check()


@pytest.mark.parametrize("older", [False, True], ids=["empty", "of an older version"])
def test_an_index_of_no_use_is_made_again(filled: Home, older: bool) -> None:
    """SQLite calls an empty file a sound database, and an old one is; recall would find nothing and be content."""
    before = answers(filled)
    filled.stop()
    if older:
        set_version(index_of(filled), 0)
    else:
        os.truncate(index_of(filled), 0)
    filled.start()
    assert answers(filled) == before
    filled.check()


@pytest.mark.report("B11")
def test_an_old_log_beside_a_new_index_brings_nothing_back(filled: Home, tmp_path: Path) -> None:
    """A restored or rebuilt index would show facts that were deleted since the log was written."""
    log = index_of(filled).with_name("index.sqlite-wal")
    filled.texts_of()
    filled.kill()
    shutil.copy(log, tmp_path / "old-log")
    for path in filled.home.glob("index.sqlite*"):
        path.unlink()
    filled.start()
    for fact in filled.facts()[:16]:
        filled.delete(fact["id"])
    before = answers(filled)
    filled.stop()
    shutil.copy(tmp_path / "old-log", log)
    filled.start()
    assert answers(filled) == before
    filled.check()


def test_an_index_of_a_newer_version_is_left_alone(filled: Home) -> None:
    """Going back to an older Coffer for a day would throw away what the newer one had made."""
    before = answers(filled)
    filled.stop()
    set_version(index_of(filled), 99)
    newer = index_of(filled).read_bytes()
    filled.start()
    assert answers(filled) == before
    (finding,) = filled.findings("index")
    assert "newer Coffer" in finding["message"]
    filled.check(index=False)
    assert index_of(filled).read_bytes() == newer


@pytest.mark.report("B10")
def test_an_index_that_may_not_be_read_is_left_alone(filled: Home) -> None:
    """A good index would be deleted on the suspicion that what can't be opened is broken."""
    before = answers(filled)
    filled.stop()
    kept = index_of(filled).read_bytes()
    index_of(filled).chmod(0)
    filled.start(command=without_privileges())
    assert answers(filled) == before
    (finding,) = filled.findings("index")
    assert finding["status"] == "warning" and "kept in memory" in finding["message"]
    filled.remember("A new fact is found without the index on disk.")
    assert filled.texts("global", "new fact without disk")
    filled.stop()
    assert index_of(filled).read_bytes() == kept
    index_of(filled).chmod(0o600)
    filled.start()
    assert filled.texts("global", "new fact without disk")
    filled.check()
