"""Whatever happens to the index file, recall answers the same."""

from __future__ import annotations

import os
import shutil
import sqlite3 as stdlib_sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from coffer.infrastructure.index import connections, damage, schema
from coffer.infrastructure.index.mirror import SearchIndex
from coffer.infrastructure.sqlite import sqlite3
from tests.coffer.index.home import PROJECT, Home, statements

PARTS = ("", "-wal", "-shm")


@pytest.fixture
def full(home: Home) -> Home:
    """A home with enough facts for an index of many pages, cleanly closed."""
    for number in range(120):
        home.fact(
            f"fact{number}", f"Walrus number {number} sleeps on rock {number * 7}. " + "It snores. " * 20
        )
    home.fact("other", "Penguins swim.", store=PROJECT)
    index = home.open()
    index.reconcile(home.files())
    index.close()
    return home


def answers(home: Home, index: SearchIndex) -> list[object]:
    return [home.recall(index, "rock 77 walrus"), home.recall(index, "pengiuns"), index.state().documents]


def expected(home: Home) -> list[object]:
    path, home.path = home.path, str(home.folder / "expected.sqlite")
    index = home.open()
    told = answers(home, index)
    index.close()
    home.path = path
    return told


def overwrite(path: str, at: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(data)


def truncate(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2 + 100)


def middle(path: str) -> None:
    size = os.path.getsize(path)
    for page in range(size // 4096 // 3, size // 4096 * 2 // 3):
        overwrite(path, page * 4096, b"\xa5" * 512)


DAMAGE: dict[str, Callable[[str], object]] = {
    "header": lambda path: overwrite(path, 0, b"not a database at all" * 5),
    "header page": lambda path: overwrite(path, 100, b"\xff" * 3000),
    "page 2": lambda path: overwrite(path, 4096, b"\xff" * 4096),
    "middle pages": middle,
    "cut": truncate,
    "zero bytes": lambda path: os.truncate(path, 0),
    "text": lambda path: Path(path).write_text("hello"),
    "absent": os.unlink,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_noticed_at_the_start(full: Home, kind: str) -> None:
    """A damaged index would answer wrongly, or keep the daemon from starting."""
    DAMAGE[kind](full.path)
    index = full.open()
    assert answers(full, index) == expected(full)
    state = index.state()
    assert (state.place, state.reason) == ("file", None)
    assert bool(state.set_aside) == (kind not in ("zero bytes", "absent"))
    index.close()
    again = full.open()
    trace = statements(again)
    assert answers(full, again) == expected(full)
    assert not [line for line in trace if line.startswith(("INSERT", "BEGIN"))]
    again.close()


@pytest.mark.report("B11")
@pytest.mark.parametrize("kind", ["absent", "zero bytes", "header"])
def test_an_old_log_is_never_replayed_over_a_new_index(full: Home, kind: str) -> None:
    """Rows of an index that was removed would come back, and SQLite's own check would call them sound."""
    index = full.open()
    full.fact("ghost", "A walrus ghost.")
    index.reconcile(full.files())
    log = Path(full.path + "-wal").read_bytes()
    index.close()
    full.file("knowledge/inbox/2026-11/ghost.md").unlink()
    DAMAGE[kind](full.path)
    Path(full.path + "-wal").write_bytes(log)
    index = full.open()
    assert full.found(index, "ghost") == []
    assert answers(full, index) == expected(full)
    index.close()
    index = full.open()
    assert answers(full, index) == expected(full)
    index.close()


def test_a_damaged_index_is_moved_with_its_log_and_only_one_is_kept(full: Home) -> None:
    """Half of a damaged index would be left behind, or damaged ones would fill the disk."""
    for round_ in (1, 2):
        Path(full.path + "-wal").write_bytes(b"old log")
        overwrite(full.path, 0, b"\xff" * 100)
        full.open().close()
        folders = [entry.name for entry in full.folder.iterdir() if "damaged" in entry.name]
        assert folders == [f"index.damaged-{round_}"]
        assert {"index.sqlite", "index.sqlite-wal"} <= set(os.listdir(full.folder / folders[0]))
    assert oct(os.stat(full.path).st_mode & 0o777) == "0o600"
    assert oct((full.folder / folders[0]).stat().st_mode & 0o777) == "0o700"


def test_damage_behind_a_whole_front_is_found_after_an_unclean_end(full: Home) -> None:
    """Ordinary searches don't notice a damaged page; the wrong answers would go on for months."""
    db = sqlite3.connect(full.path)
    page = db.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'idx_documents_store_digest'"
    ).fetchone()[0]
    db.close()
    overwrite(full.path, (page - 1) * 4096 + 8, b"\x00" * 64)
    index = full.open()
    assert index.state().set_aside
    assert answers(full, index) == expected(full)
    index.close()


def test_a_clean_index_is_not_read_through_at_each_start(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each start would take as long as checking every page does."""
    checks: list[bool] = []
    really = schema.is_whole

    def is_whole(connection: connections.Connection) -> bool:
        checks.append(really(connection))
        return checks[-1]

    monkeypatch.setattr(schema, "is_whole", is_whole)
    index = full.open()
    full.fact("new", "Walrus.")
    index.reconcile(full.files())
    index.close()
    index = full.open()
    assert checks == []
    full.fact("newer", "Walrus.")
    index.reconcile(full.files())
    copy_as_after_a_kill(full)
    index.close()
    crashed = full.open()
    assert checks == [True]
    assert answers(full, crashed) == expected(full)
    crashed.close()


def copy_as_after_a_kill(home: Home) -> None:
    """Go on with the files as a killed process would leave them."""
    target = str(home.folder / "killed.sqlite")
    for part in PARTS:
        if os.path.exists(home.path + part):
            shutil.copy(home.path + part, target + part)
    home.path = target


@pytest.mark.report("B14")
def test_a_deletion_survives_a_kill(full: Home) -> None:
    """A fact that was deleted would be back after a crash."""
    full.file("knowledge/inbox/2026-11/fact7.md").unlink()
    program = (
        "import os, sys; from coffer.infrastructure.index.mirror import SearchIndex, StoreFiles\n"
        "index = SearchIndex(sys.argv[1]); index.reconcile([StoreFiles('global', sys.argv[2])]); os._exit(9)"
    )
    command = [sys.executable, "-c", program, full.path, str(full.file(""))]
    root = Path(damage.__file__).parents[3]
    assert subprocess.run(command, cwd=root, check=False).returncode == 9
    index = full.open()
    assert index.state().documents == 120
    assert answers(full, index) == expected(full)
    index.close()


@pytest.mark.parametrize("point", ["sql-begun", "sql-committed"])
def test_a_kill_in_a_transaction_is_made_up_for(full: Home, point: str) -> None:
    """A crash in the middle of an update would leave half of it."""
    program = (
        "import os, sys; from coffer.infrastructure.index.mirror import SearchIndex, StoreFiles\n"
        "index = SearchIndex(sys.argv[1], reached=lambda name: name == sys.argv[3] and os._exit(9))\n"
        "index.reconcile([StoreFiles('global', sys.argv[2])])"
    )
    full.fact("new", "Rock walrus 77.")
    full.file("knowledge/inbox/2026-11/fact7.md").unlink()
    command = [sys.executable, "-c", program, full.path, str(full.file("")), point]
    root = Path(damage.__file__).parents[3]
    assert subprocess.run(command, cwd=root, check=False).returncode == 9
    index = full.open()
    assert answers(full, index) == expected(full)
    index.close()


@pytest.mark.parametrize("parts", [PARTS, ("",), ("-wal", "-shm"), ("-wal",), ("-shm",)])
def test_deleting_the_index_while_it_is_in_use_changes_no_answer(full: Home, parts: tuple[str, ...]) -> None:
    """After `rm index.sqlite*` the daemon would answer from a file that is gone, and forget it at its end."""
    index = full.open()
    told = answers(full, index)
    for part in parts:
        os.unlink(full.path + part)
    assert index.search("rock 77 walrus", full.stores, 10) == told[0]
    assert answers(full, index) == told
    full.fact("late", "Latecomer.")
    assert full.found(index, "latecomer") == ["late"]
    index.close()
    index = full.open()
    trace = statements(index)
    assert full.found(index, "latecomer") == ["late"]
    assert not [line for line in trace if line.startswith(("INSERT", "BEGIN"))]
    index.close()


def test_a_reader_of_a_deleted_index_harms_the_new_one_not(full: Home) -> None:
    """A search that began before the index was deleted would take the new index's log away at its end."""
    index = full.open()
    full.recall(index, "walrus")
    old = index._database.connections
    with old.reading() as reader:
        reader.execute("SELECT * FROM documents").fetchone()
        for part in PARTS:
            os.unlink(full.path + part)
        full.fact("late", "Latecomer.")
        assert full.found(index, "latecomer") == ["late"]
    assert os.path.exists(full.path + "-wal")
    full.fact("later", "Latecomer too.")
    assert len(full.found(index, "latecomer")) == 2
    copy_as_after_a_kill(full)
    index.close()
    index = full.open()
    assert index.state().set_aside is None
    assert index.state().documents == 123
    index.close()


def test_damage_during_use_is_mended(full: Home) -> None:
    """A bad sector that shows while the daemon runs would make every recall fail until a restart."""
    index = full.open()
    told = answers(full, index)
    index._database.connections.close()
    index._database = index._on_file()
    truncate(full.path)
    middle(full.path)
    assert index.search("rock 77 walrus", full.stores, 10) in (told[0], [])
    assert answers(full, index) == told
    assert (index.state().place, bool(index.state().set_aside)) == ("file", True)
    index.close()


@pytest.mark.parametrize("version", [schema.VERSION + 1, 2**31 - 1])
def test_an_index_of_a_newer_coffer_is_left_alone(full: Home, version: int) -> None:
    """Going back to an older version for a day would cost the newer one its index, or its trust in it."""
    db = sqlite3.connect(full.path, isolation_level=None)
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    before = Path(full.path).read_bytes()
    index = full.open()
    assert answers(full, index) == expected(full)
    state = index.state()
    assert state.place == "memory"
    assert "newer" in str(state.reason)
    full.now += 10**12
    assert answers(full, index) == expected(full)
    index.close()
    assert Path(full.path).read_bytes() == before
    assert sorted(p.name for p in full.folder.glob("index*")) == ["index.sqlite"]


def test_a_newer_version_in_the_log_is_seen_too(full: Home) -> None:
    """A newer Coffer that was killed would find its index replaced."""
    db = sqlite3.connect(full.path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    copy_as_after_a_kill(full)
    db.close()
    index = full.open()
    assert index.state().place == "memory"
    index.close()


@pytest.mark.parametrize(
    "change", ["PRAGMA user_version = 0", "UPDATE about SET value = '0' WHERE key = 'analysis'"]
)
def test_an_index_of_an_older_coffer_is_made_anew(full: Home, change: str) -> None:
    """After an update, words would be looked up that were written down by other rules."""
    db = sqlite3.connect(full.path, isolation_level=None)
    db.execute(change)
    db.close()
    index = full.open()
    assert answers(full, index) == expected(full)
    assert index.state().place == "file"
    assert index.state().set_aside is None
    index.close()


@pytest.mark.report("B10")
@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(24, "Too many open files")]
)
def test_a_file_that_cannot_be_opened_is_not_thrown_away(
    full: Home, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """A wrong permission would cost the index, and the next start would be slow for nothing."""
    before = Path(full.path).read_bytes()

    def shut(path: str) -> bytes:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(damage, "_header", shut)
        index = full.open()
        assert answers(full, index) == expected_from_memory(full, index)
        state = index.state()
        assert state.place == "memory"
        assert str(error.strerror) in str(state.reason)
        assert Path(full.path).read_bytes() == before
        full.now += 10**12
        answers(full, index)
        assert index.state().place == "memory"
    answers(full, index)
    assert index.state().place == "memory"  # tried a moment ago
    full.now += 10**12
    assert answers(full, index) == expected(full)
    assert (index.state().place, index.state().reason) == ("file", None)
    index.close()


def expected_from_memory(home: Home, index: SearchIndex) -> list[object]:
    """Return the answers of another index in memory."""
    other = home.open()
    told = answers(home, other)
    other.close()
    return told


@pytest.mark.parametrize("place", ["folder", "missing/index.sqlite", "file/index.sqlite"])
def test_a_place_where_no_index_can_be_is_no_reason_to_fail(full: Home, place: str) -> None:
    """A folder in the index's place, or a home that is gone, would keep the daemon from answering."""
    told = expected(full)
    (full.folder / "folder").mkdir()
    (full.folder / "file").touch()
    full.path = str(full.folder / place)
    index = full.open()
    assert answers(full, index) == told
    assert index.state().place == "memory"
    assert index.state().reason
    index.close()
    index.close()


@pytest.mark.report("B35")
def test_a_full_disk_turns_recall_to_memory_and_back(full: Home) -> None:
    """With the disk full, recall would fail although it has nothing to write."""
    index = full.open()
    full.recall(index, "walrus")
    db = index._database.connections.writer
    db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")
    for number in range(40):
        full.fact(f"more{number}", f"Walrus in excess {number}. " + f"unheard{number} " * 200)
    assert answers(full, index) == expected(full)
    assert "full" in str(index.state().reason)
    assert os.path.exists(full.path)
    assert index.state().set_aside is None
    full.now += 10**12
    assert answers(full, index) == expected(full)
    assert index.state().place == "file"
    index.close()


@pytest.mark.report("B26")
def test_a_lock_that_is_let_go_is_waited_for(full: Home) -> None:
    """A backup program that holds the index for a moment would turn every recall into an error."""
    index = full.open()
    full.recall(index, "walrus")
    other = sqlite3.connect(full.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    full.fact("new", "Latecomer.")
    timer = threading.Timer(0.3, other.execute, ("ROLLBACK",))
    timer.start()
    assert full.found(index, "latecomer") == ["new"]
    timer.join()
    other.close()
    assert index.state().place == "file"
    index.close()


@pytest.mark.report("B26", "B35")
def test_a_lock_that_is_never_let_go_is_told(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked index would fail each recall, or silently answer with old facts for days."""
    monkeypatch.setattr(connections, "_BUSY_SECONDS", 0.05)
    index = full.open()
    full.recall(index, "walrus")
    other = sqlite3.connect(full.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    full.fact("new", "Latecomer.")
    assert full.found(index, "latecomer") == ["new"]
    assert index.state().place == "memory"
    assert "locked" in str(index.state().reason)
    full.now += 10**12
    assert full.found(index, "latecomer") == ["new"]
    other.execute("ROLLBACK")
    other.close()
    full.now += 10**12
    assert full.found(index, "latecomer") == ["new"]
    assert index.state().place == "file"
    index.close()


@pytest.mark.report("B35")
@pytest.mark.parametrize("point", ["sql-begun", "sql-committed"])
def test_a_failing_disk_at_a_failpoint_still_answers(full: Home, point: str) -> None:
    """An input/output error under the index would reach the agent as an error."""

    def reached(name: str) -> None:
        if name == point:
            raise OSError(5, "Input/output error")

    full.reached = reached
    index = full.open()
    full.fact("new", "Latecomer.")
    assert full.found(index, "latecomer") == ["new"]
    assert index.state().place == "memory"
    index.close()


def test_a_file_system_without_shared_memory_will_do(full: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a network folder, where write-ahead logging is refused, there would be no index."""
    really = connections._open

    def open_(path: str, pragmas: tuple[str, ...]) -> connections.Connection:
        return really(
            path, tuple(p.replace("journal_mode = WAL", "journal_mode = TRUNCATE") for p in pragmas)
        )

    monkeypatch.setattr(connections, "_open", open_)
    os.unlink(full.path)
    index = full.open()
    told = answers(full, index)
    full.fact("new", "Latecomer.")
    assert full.found(index, "latecomer") == ["new"]
    full.file("knowledge/inbox/2026-11/new.md").unlink()
    assert answers(full, index) == told
    assert index.state().place == "file"
    index.close()


def test_the_interpreters_own_sqlite_will_do(full: Home) -> None:
    """Where pysqlite3 has no wheel, Coffer would have no recall."""
    program = (
        "import sys; sys.modules['pysqlite3'] = sys.modules['sqlean'] = None\n"
        "from coffer.infrastructure.index.mirror import SearchIndex, StoreFiles\n"
        "index = SearchIndex(sys.argv[1])\n"
        "index.reconcile([StoreFiles('global', sys.argv[2])])\n"
        "found = index.search('rock 77', ['global'], 3)\n"
        "print(index.state().driver, index.state().place, *[match.document.path for match in found])\n"
        "index.close()"
    )
    root = Path(damage.__file__).parents[3]
    command = [sys.executable, "-c", program, str(full.folder / "own.sqlite"), str(full.file(""))]
    told = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split()
    assert told[:2] == [stdlib_sqlite3.__name__, "file"]
    index = full.open()
    full.recall(index, "")
    assert told[2:] == [match.document.path for match in index.search("rock 77", ["global"], 3)]
    index.close()


def test_a_closed_index_says_so(full: Home) -> None:
    """A read after the end would open the index again behind the daemon's back."""
    index = full.open()
    index.close()
    with pytest.raises(sqlite3.ProgrammingError):
        index.search("walrus", ["global"], 5)
    assert not [entry for entry in full.folder.iterdir() if "damaged" in entry.name]


def test_only_this_user_may_read_the_index(full: Home) -> None:
    """Other users of the machine could read every fact out of the index."""
    index = full.open()
    full.recall(index, "walrus")
    for part in PARTS:
        assert os.stat(full.path + part).st_mode & 0o077 == 0
    index.close()
