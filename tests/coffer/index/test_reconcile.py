"""What people and programs do to files shows in the next recall, whatever they do."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coffer.infrastructure.index import reading, scan
from coffer.infrastructure.index.mirror import Problem, SearchIndex, StoreFiles
from lanes.journal import Entry, append_entry
from lanes.names import path_id
from tests.coffer.index.home import LANES, NOON, PROJECT, Home, fact_id, statements


def reasons(index: SearchIndex) -> dict[str, str]:
    return {problem.path: problem.reason for problem in index.problems()}


def test_a_fact_is_recalled_with_all_that_its_file_tells(home: Home, index: SearchIndex) -> None:
    """A hit would lack its author, its time, its place or its id."""
    home.fact("deploy", "Deploys go through make release.", agent="codex")
    (match,) = home.recall(index, "deploy")
    document = match.document
    assert (document.store, document.id, document.lane) == ("global", fact_id("deploy"), "inbox")
    assert (document.path, document.agent) == ("knowledge/inbox/2026-11/deploy.md", "codex")
    assert (document.created_at, document.updated_at, document.minted) == (NOON, NOON, True)
    assert (document.text, match.passage) == ("Deploys go through make release.",) * 2


def test_files_written_by_hand_are_recalled_by_their_path(home: Home, index: SearchIndex) -> None:
    """A note that a person puts into the folder without any header would not be found."""
    home.write("knowledge/inbox/today.md", "Lunch is at noon.\n", mtime=1_700_000_000)
    home.write("knowledge/team/food/lunch.md", "# Lunch\n\nThe canteen closes at two.\n")
    hits = {match.document.path: match.document for match in home.recall(index, "lunch")}
    loose = hits["knowledge/inbox/today.md"]
    assert (loose.id, loose.minted, loose.lane) == (path_id(loose.path), False, "inbox")
    assert loose.created_at == loose.updated_at == "2023-11-14T22:13:20Z"
    assert hits["knowledge/team/food/lunch.md"].lane == "topic"
    assert index.counts("global") == {"inbox": 1, "topic": 1}


def test_only_the_recalled_lanes_are_searched(home: Home, index: SearchIndex) -> None:
    """A rule, an archived text or the table of contents would turn up as a fact."""
    for path in (
        *("knowledge/INDEX.md", "rules/rules.md", "handoff/main.md", "superseded/old.md", "loose.md"),
        *("knowledge/.draft.md", "knowledge/.trash/x.md", "knowledge/notes.txt"),
    ):
        home.write(path, "The walrus is everywhere.\n")
    home.write("knowledge/walrus.md", "The walrus is here.\n")
    assert home.found(index, "walrus") == ["walrus"]
    assert index.problems() == []


def test_each_journal_entry_is_found_by_itself(home: Home, index: SearchIndex) -> None:
    """A day's events would come back as one lump, or count as facts."""
    day = append_entry(None, "2026-11-30", Entry(NOON, "codex", "s1", "The walrus deploy failed."))
    day = append_entry(day, "2026-11-30", Entry(NOON, "codex", "s1", "We rolled back the penguin."))
    assert day is not None
    home.write("journal/2026-11-30.md", day.decode())
    best = home.recall(index, "penguin")[0]
    assert best.passage == "We rolled back the penguin."
    assert (best.document.path, best.document.lane) == ("journal/2026-11-30.md", "journal")
    assert index.counts("global") == {"journal": 2}


def test_a_file_that_was_never_readable_is_recalled_as_it_was_committed(home: Home) -> None:
    """Deleting the index would lose what it still knew of a file that a person damaged."""
    committed = {"knowledge/a.md": b"The walrus is committed.\n"}
    index = SearchIndex(home.path, committed=lambda store, path: committed.get(path))
    home.write("knowledge/a.md", "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n")
    home.write("knowledge/b.md", "")
    assert [match.passage for match in home.recall(index, "walrus")] == ["The walrus is committed."]
    assert [problem.path for problem in index.problems()] == ["knowledge/a.md", "knowledge/b.md"]
    index.close()


def test_an_edit_shows_also_when_it_keeps_size_and_time(home: Home, index: SearchIndex) -> None:
    """A correction made with a tool that restores the modification time would never be seen."""
    file = home.fact("port", "The port is 7420.")
    assert home.recall(index, "port")[0].passage == "The port is 7420."
    before = file.stat()
    file.write_bytes(file.read_bytes().replace(b"7420", b"9999"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert home.recall(index, "port")[0].passage == "The port is 9999."


def test_an_edit_that_leaves_no_trace_is_seen_while_the_file_is_fresh(home: Home, index: SearchIndex) -> None:
    """Two saves within one tick of the clock would leave the first one in the index for good."""
    file = home.fact("port", "The port is 7420.")
    home.now = file.stat().st_ctime_ns  # scanned in the moment of the change
    home.recall(index, "port")
    content = file.read_bytes().replace(b"7420", b"9999")
    _change_without_trace(index, file, content)
    assert home.recall(index, "port")[0].passage == "The port is 9999."


def _change_without_trace(index: SearchIndex, file: Path, content: bytes) -> None:
    """Write `content` and make the index believe that the file has had these times all along."""
    file.write_bytes(content)
    seen = index._database._seen["global"]
    path = f"knowledge/inbox/2026-11/{file.name}"
    stamp = scan.stamp_of(file.stat())
    seen.keep(path, stamp, path.rpartition("/")[2] in seen.racy[path.rpartition("/")[0]])
    index._database.connections.writer.execute("UPDATE files SET stamp = ?", (" ".join(map(str, stamp)),))


@pytest.mark.parametrize("second", [0, 1_700_000_000 * 10**9, 99_999_999_999 * 10**9])
def test_odd_clocks_are_survived(home: Home, index: SearchIndex, second: int) -> None:
    """A file from 1970 or from the year 5138 would break the scan, or be read again for ever."""
    file = home.write("knowledge/odd.md", "Odd times happen.\n")
    os.utime(file, ns=(second, second))
    assert home.found(index, "odd") == ["odd"]
    trace = statements(index)
    assert home.found(index, "odd") == ["odd"]
    assert not [statement for statement in trace if not statement.startswith("SELECT")]


@pytest.mark.report("B20")
def test_a_deleted_file_is_gone_at_once(home: Home, index: SearchIndex) -> None:
    """What a person deleted by hand would still be told to agents."""
    home.fact("keep", "Walrus one.")
    file = home.fact("drop", "Walrus two.")
    assert sorted(home.found(index, "walrus")) == ["drop", "keep"]
    file.unlink()
    assert home.found(index, "walrus") == ["keep"]
    home.file("knowledge/inbox/2026-11/keep.md").unlink()
    home.file("knowledge/inbox/2026-11").rmdir()
    assert home.found(index, "walrus") == []
    assert index.state().documents == 0


def test_a_store_without_a_folder_is_empty(home: Home, index: SearchIndex) -> None:
    """A store that does not exist yet, or was removed, would be an error."""
    assert home.found(index, "anything") == []
    file = home.fact("a", "Walrus.")
    assert home.found(index, "walrus") == ["a"]
    for folder in (file, *file.parents):
        if folder.name == "memory":
            break
        (folder.rmdir if folder.is_dir() else folder.unlink)()
    assert home.found(index, "walrus") == []
    assert index.problems() == []


def test_a_renamed_file_is_the_same_fact(home: Home, index: SearchIndex) -> None:
    """Renaming a file would double the fact, or change its id."""
    file = home.fact("a", "Walrus.")
    home.recall(index, "walrus")
    target = home.file("knowledge/animals/walrus.md")
    target.parent.mkdir(parents=True)
    file.rename(target)
    (match,) = home.recall(index, "walrus")
    assert (match.document.id, match.document.path) == (fact_id("a"), "knowledge/animals/walrus.md")
    assert match.document.lane == "topic"


def test_of_two_files_with_one_id_the_older_keeps_it(home: Home, index: SearchIndex) -> None:
    """A copied file would make its fact ambiguous, or hide one of the two texts."""
    young = home.fact("a", "Walrus, young.", time="2026-11-30T13:00:00Z")
    young.rename(young.with_name("b.md"))
    (document,) = (match.document for match in home.recall(index, "walrus"))
    assert document.id == fact_id("a")
    home.fact("a", "Walrus, old.", time="2026-11-30T11:00:00Z")
    ids = {match.document.text: match.document for match in home.recall(index, "walrus")}
    assert (ids["Walrus, old."].id, ids["Walrus, old."].minted) == (fact_id("a"), True)
    twin = ids["Walrus, young."]
    assert (twin.id, twin.minted) == (path_id(twin.path), False)
    assert "same id" in reasons(index)[twin.path]
    home.file("knowledge/inbox/2026-11/a.md").unlink()
    assert [match.document.id for match in home.recall(index, "walrus")] == [fact_id("a")]
    assert index.problems() == []


def test_the_same_id_in_two_stores_is_two_facts(home: Home, index: SearchIndex) -> None:
    """A fact copied to another store would replace the first, or be taken for its twin."""
    home.fact("a", "Walrus.")
    home.fact("a", "Walrus.", store=PROJECT)
    assert {m.document.store for m in home.recall(index, "walrus")} == {"global", PROJECT}
    assert index.problems() == []


def test_what_a_file_says_of_its_time_beats_the_file_system(home: Home, index: SearchIndex) -> None:
    """After a fresh clone, or a touch, every fact would look as if it were written today."""
    file = home.fact("a", "Walrus.", time="2024-01-01T00:00:00Z")
    os.utime(file, (1_800_000_000, 1_800_000_000))
    assert home.recall(index, "walrus")[0].document.updated_at == "2024-01-01T00:00:00Z"
    home.write("knowledge/t.md", "---\nupdated_at: 2024-02-01T01:00:00+02:00\n---\nWalrus.\n")
    index.reconcile(home.files())
    topic = index.documents("global", ["topic"], 10, 0)[0][0]
    assert topic.created_at == topic.updated_at == "2024-01-31T23:00:00Z"


def test_a_touched_file_without_times_moves_in_time(home: Home, index: SearchIndex) -> None:
    """The list of facts would depend on whether the index was there when the file was touched."""
    file = home.write("knowledge/t.md", "Walrus.\n", mtime=1_700_000_000)
    home.recall(index, "walrus")
    os.utime(file, (1_700_086_400, 1_700_086_400))
    assert home.recall(index, "walrus")[0].document.updated_at == "2023-11-15T22:13:20Z"


@pytest.mark.report("B29")
def test_nothing_is_written_when_nothing_changed(home: Home) -> None:
    """Every recall would take the write lock, and wear the disk."""
    for number in range(20):
        home.fact(f"fact{number}", f"Walrus number {number}.")
    index = home.open()
    home.recall(index, "walrus")
    for _ in range(2):
        trace = statements(index)
        assert len(home.recall(index, "walrus")) == 10
        assert [line for line in trace if not line.startswith(("SELECT", "PRAGMA"))] == []
        index.close()
        index = home.open()
    index.close()


def test_files_that_were_fresh_are_verified_once_and_then_left_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each recall, or each start, would read every file that was ever indexed right after it was written."""
    file = home.fact("a", "Walrus.")
    home.now = file.stat().st_ctime_ns
    index = home.open()
    home.recall(index, "walrus")
    home.now += 10**9
    home.recall(index, "walrus")
    index.close()
    index = home.open()
    monkeypatch.setattr(reading, "_read", lambda handle: pytest.fail("read again"))
    assert home.found(index, "walrus") == ["a"]
    index.close()


@pytest.mark.report("B17")
def test_one_bad_file_harms_only_itself(home: Home, index: SearchIndex) -> None:
    """One typing error in a header would hide the whole store, or go unnoticed."""
    for number in range(199):
        home.fact(f"fact{number}", f"Walrus number {number}.")
    home.write("knowledge/inbox/bad.md", "---\ntitle: [\n---\nWalrus.\n")
    index.reconcile(home.files())
    assert index.state().documents == 199
    assert list(reasons(index)) == ["knowledge/inbox/bad.md"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00w",
        b"---\ntitle: [\n---\nnew\n",
        b"<<<<<<< ours\nnew\n=======\nother\n>>>>>>> theirs\n",
        b"x" * (1 << 21),
    ],
    ids=["empty", "not UTF-8", "broken header", "conflict", "too large"],
)
def test_the_last_readable_version_stays(home: Home, index: SearchIndex, content: bytes) -> None:
    """A half-saved or conflicted file would be forgotten, and come back as if it were new."""
    file = home.fact("a", "Walrus.")
    etag = home.recall(index, "walrus")[0].document.etag
    file.write_bytes(content)
    (match,) = home.recall(index, "walrus")
    assert (match.passage, match.document.etag) == ("Walrus.", etag)
    assert list(reasons(index)) == [match.document.path]
    trace = statements(index)
    home.recall(index, "walrus")
    assert not [line for line in trace if line.startswith(("BEGIN", "INSERT"))]
    home.fact("a", "Walrus again.")
    assert home.recall(index, "walrus")[0].passage == "Walrus again."
    assert index.problems() == []
    file.write_bytes(content)
    index.reconcile(home.files())
    file.unlink()
    assert home.recall(index, "walrus") == []
    assert index.problems() == []


@pytest.mark.parametrize(
    "failure", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")]
)
def test_a_file_that_cannot_be_read_keeps_its_last_version(
    home: Home, index: SearchIndex, monkeypatch: pytest.MonkeyPatch, failure: OSError
) -> None:
    """A bad sector or a missing permission would look like a deletion."""
    file = home.fact("a", "Walrus.")
    home.fact("b", "Walrus too.")
    home.recall(index, "walrus")
    file.write_bytes(file.read_bytes() + b"More.\n")
    really = os.open

    def open_(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "a.md":
            raise failure
        return really(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_)
        assert sorted(home.found(index, "walrus")) == ["a", "b"]
        assert str(failure.strerror) in reasons(index)["knowledge/inbox/2026-11/a.md"]
    assert home.found(index, "more") == ["a"]
    assert index.problems() == []


@pytest.mark.parametrize("shut", ["knowledge", "2026-11", "global"])
def test_a_folder_that_cannot_be_listed_is_unknown_not_empty(
    home: Home, index: SearchIndex, monkeypatch: pytest.MonkeyPatch, shut: str
) -> None:
    """A folder whose permission was changed by accident would empty the memory."""
    home.fact("a", "Walrus.")
    home.recall(index, "walrus")
    really = os.open

    def open_(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if Path(path).name == shut:
            raise PermissionError(13, "Permission denied")
        return really(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", open_)
        assert home.found(index, "walrus") == ["a"]
        assert ["Permission denied" in reason for reason in reasons(index).values()] == [True]
    assert home.found(index, "walrus") == ["a"]
    assert index.problems() == []


def test_symbolic_links_are_reported_and_never_followed(home: Home, index: SearchIndex) -> None:
    """A link in a synced store would bring any file of the machine into recall."""
    outside = home.folder / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("Walrus password.\n")
    file = home.fact("a", "Walrus.")
    home.recall(index, "walrus")
    home.file("knowledge/linked").symlink_to(outside)
    home.file("knowledge/one.md").symlink_to(outside / "secret.md")
    file.unlink()
    file.symlink_to(outside / "secret.md")
    for _ in range(2):
        assert home.found(index, "walrus") == []
        assert set(reasons(index)) == {
            *("knowledge/linked", "knowledge/one.md", "knowledge/inbox/2026-11/a.md")
        }
    folder = home.file("knowledge/inbox/2026-11")
    file.unlink()
    folder.rmdir()
    folder.symlink_to(outside)
    assert home.found(index, "walrus") == []


def test_a_store_that_is_a_link_is_not_entered(home: Home, index: SearchIndex) -> None:
    """A project folder that points elsewhere would be read as this project's memory."""
    home.fact("a", "Walrus.", store="elsewhere")
    home.stores = ["global"]
    home.file("").symlink_to(home.file("", "elsewhere"))
    assert home.found(index, "walrus") == []
    assert [problem.path for problem in index.problems()] == [""]


def test_pipes_and_folders_named_like_files_are_passed_over(home: Home, index: SearchIndex) -> None:
    """A named pipe would hold up every recall for ever."""
    home.fact("a", "Walrus.")
    os.mkfifo(home.file("knowledge/inbox/pipe.md"))
    home.write("knowledge/folder.md/inner.md", "Walrus inside.\n")
    assert sorted(home.found(index, "walrus")) == ["a", "inner"]
    assert list(reasons(index)) == ["knowledge/inbox/pipe.md"]


def test_names_that_not_every_system_can_hold_are_served_and_reported(home: Home, index: SearchIndex) -> None:
    """A file called `what?.md` would break the clone on another machine without a word before."""
    home.write("knowledge/what?.md", "Walrus.\n")
    folder = os.fsencode(home.file("knowledge"))
    os.close(os.open(folder + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    assert home.found(index, "walrus") == ["what?"]
    assert set(reasons(index).values()) == {"not a portable name", "file name is not UTF-8"}


def test_secrets_in_files_are_named_by_kind(home: Home) -> None:
    """A password pasted by hand would travel with the next push unnoticed."""
    home.inspect = lambda text: "a token" if "tok" + "en=" in text else None
    home.fact("a", "Walrus tok" + "en=12345.")
    home.fact("b", "Walrus.")
    index = home.open()
    assert len(home.found(index, "walrus")) == 2
    assert index.problems() == [Problem("global", "knowledge/inbox/2026-11/a.md", "a token")]
    index.close()
    index = home.open()
    assert len(index.problems()) == 1
    index.close()


def test_a_file_that_moves_while_it_is_read_is_read_again(
    home: Home, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the old text and half of the new would be recalled as one."""
    file = home.fact("a", "Walrus one.")
    really = reading._read
    reads: list[bytes] = []

    def read(handle: int) -> bytes:
        data = really(handle)
        if not reads:
            file.write_bytes(data.replace(b"one", b"two, longer"))
        reads.append(data)
        return data

    monkeypatch.setattr(reading, "_read", read)
    assert home.recall(index, "walrus")[0].passage == "Walrus two, longer."
    assert len(reads) == 2


def test_a_file_that_never_rests_is_tried_again_later(
    home: Home, index: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log-like file would keep a recall busy for ever, or be indexed in pieces."""
    file = home.fact("a", "Walrus.")
    really = reading._read

    def read(handle: int) -> bytes:
        with file.open("ab") as more:
            more.write(b"!")
        return really(handle)

    with monkeypatch.context() as patch:
        patch.setattr(reading, "_read", read)
        assert home.found(index, "walrus") == []
        assert "changes while" in reasons(index)["knowledge/inbox/2026-11/a.md"]
    assert home.found(index, "walrus") == ["a"]
    assert index.problems() == []


@pytest.mark.report("B16")
def test_a_fact_is_never_absent_while_it_is_edited(home: Home, index: SearchIndex) -> None:
    """An agent that recalls while an editor saves would be told that there is no such fact."""
    home.fact("a", "Walrus 0.")
    home.recall(index, "walrus")
    stop = threading.Event()
    lost: list[str] = []

    def look() -> None:
        while not stop.is_set():
            lost.extend([] if index.search("walrus", ["global"], 5) else ["search"])
            lost.extend([] if index.holders("global", "none") == [] else ["holders"])

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(60):
        scratch = home.fact("a", f"Walrus {number}.").with_suffix(".swp")
        scratch.write_bytes(b"")
        if number % 2:
            os.replace(home.fact("a", f"Walrus {number}."), home.file("knowledge/inbox/2026-11/a.md"))
        index.reconcile(home.files())
    stop.set()
    for reader in readers:
        reader.join()
    assert lost == []
    assert index.search("walrus", ["global"], 5)[0].passage == "Walrus 59."


@pytest.mark.report("B12")
def test_checking_out_an_older_commit_is_seen(home: Home, index: SearchIndex) -> None:
    """After a checkout the index would go on answering from the newer files."""
    tree = home.folder / "memory"
    git = [
        "git",
        "-C",
        str(tree),
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "core.hooksPath=",
    ]

    def run(*command: str) -> None:
        subprocess.run([*git, *command], check=True, capture_output=True)

    home.fact("a", "Walrus old.")
    run("init", "-q", "-b", "main")
    run("add", ".")
    run("commit", "-qm", "one")
    home.fact("a", "Walrus new.")
    home.fact("b", "Walrus more.")
    run("add", ".")
    run("commit", "-qm", "two")
    assert sorted(m.passage for m in home.recall(index, "walrus")) == ["Walrus more.", "Walrus new."]
    run("checkout", "-q", "HEAD~1")
    assert [m.passage for m in home.recall(index, "walrus")] == ["Walrus old."]
    run("checkout", "-q", "main")
    assert sorted(m.passage for m in home.recall(index, "walrus")) == ["Walrus more.", "Walrus new."]


def test_a_failed_pass_changes_nothing_and_is_made_up_for(home: Home) -> None:
    """A crash between two files would leave the index with one of them for good."""
    armed = [False]

    def reached(name: str) -> None:
        if armed[0] and name == "sql-begun":
            raise KeyboardInterrupt

    home.reached = reached
    home.fact("a", "Walrus.")
    index = home.open()
    home.recall(index, "walrus")
    armed[0] = True
    home.fact("b", "Walrus.")
    home.file("knowledge/inbox/2026-11/a.md").unlink()
    with pytest.raises(KeyboardInterrupt):
        index.reconcile(home.files())
    assert [m.document.path[-4:] for m in index.search("walrus", ["global"], 5)] == ["a.md"]
    armed[0] = False
    assert home.found(index, "walrus") == ["b"]
    index.close()


def test_failpoints_are_passed_in_order(home: Home) -> None:
    """The fault suite could not stop the daemon in the middle of a transaction."""
    passed: list[str] = []
    home.reached = passed.append
    index = home.open()
    home.fact("a", "Walrus.")
    home.recall(index, "walrus")
    home.recall(index, "walrus")
    assert passed == ["sql-begun", "sql-committed"]
    index.forget("global")
    assert passed == ["sql-begun", "sql-committed"] * 2
    index.close()


def test_a_forgotten_store_leaves_nothing(home: Home, index: SearchIndex) -> None:
    """A removed store would still weigh in the ranking, or turn up in a search."""
    home.fact("a", "Walrus.")
    home.fact("b", "Penguin, not a walrus.", store=PROJECT)
    home.recall(index, "walrus")
    index.forget(PROJECT)
    index.forget("project-unheard-of")
    assert [m.document.store for m in index.search("walrus", home.stores, 5)] == ["global"]
    assert index.counts(PROJECT) == {}
    db = index._database.connections.writer
    assert db.execute("SELECT count(*) FROM vocabulary WHERE word = 'penguin'").fetchone() == (0,)
    assert sorted(home.found(index, "walrus")) == ["a", "b"]


def test_lists_and_lookups(home: Home, index: SearchIndex) -> None:
    """Browsing would miss facts, order them wrongly or count them twice."""
    for day in (3, 1, 2):
        home.fact(f"d{day}", f"Day {day}.", time=f"2026-11-0{day}T00:00:00Z")
    home.write("knowledge/topic.md", "---\nupdated_at: 2026-11-02T12:00:00Z\n---\nDay 1.\n")
    home.fact("other", "Day 1.", store=PROJECT)
    index.reconcile(home.files())
    page, total = index.documents("global", LANES, 3, 0)
    assert ([d.path.rpartition("/")[2] for d in page], total) == (["d3.md", "topic.md", "d2.md"], 4)
    page, total = index.documents("global", ["inbox"], 10, 2)
    assert ([d.text for d in page], total) == (["Day 1."], 3)
    assert index.documents("project-none", LANES, 10, 0) == ([], 0)
    assert index.document("global", fact_id("d2")) == index.documents("global", ["inbox"], 1, 1)[0][0]
    assert index.document(PROJECT, fact_id("d2")) is None
    assert index.document("global", "\ud800' OR 1") is None
    assert index.holders("global", "Day 1.") == ["knowledge/inbox/2026-11/d1.md", "knowledge/topic.md"]
    assert index.holders("global", "Day") == index.holders("global", "\ud800") == []


def test_a_store_named_twice_is_indexed_once(home: Home, index: SearchIndex) -> None:
    """A scope that lists a store twice would double every fact."""
    home.fact("a", "Walrus.")
    index.reconcile([*home.files(), *home.files()])
    assert index.state().documents == 1
    assert [m.document.id for m in index.search("walrus", ["global", "global"], 5)] == [fact_id("a")]


def test_deeply_nested_folders_have_an_end(home: Home, index: SearchIndex) -> None:
    """A tree of ten thousand nested folders would exhaust the daemon."""
    home.write("knowledge/" + "d/" * 60 + "deep.md", "Walrus.\n")
    home.fact("a", "Walrus.")
    assert home.found(index, "walrus") == ["a"]
    assert "nested" in next(iter(reasons(index).values()))


def test_stores_may_be_reconciled_one_by_one(home: Home, index: SearchIndex) -> None:
    """Reading one store would drop the others from the index."""
    home.fact("a", "Walrus.")
    home.fact("b", "Walrus.", store=PROJECT)
    index.reconcile(home.files(["global"]))
    index.reconcile([StoreFiles(PROJECT, str(home.file("", PROJECT)))])
    assert index.state().documents == 2


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.sampled_from(
        [b"", b"---\ntitle: walrus\n---\n", b"---\ncreated_at: 0001-01-01\nid: 7\n---\n", b"---\n"]
    ),
    body=st.binary(max_size=200) | st.text("#-`|> \n部a", max_size=700).map(str.encode),
)
def test_any_file_is_survived(home: Home, index: SearchIndex, header: bytes, body: bytes) -> None:
    """Some sequence of bytes in one file would stop recall for all."""
    home.write("knowledge/odd.md", header + body)
    home.fact("a", "Penguin.")
    assert "a" in home.found(index, "penguin")
    home.file("knowledge/odd.md").unlink()
    index.reconcile(home.files())
    db = index._database.connections.writer
    assert db.execute("SELECT count(*) FROM passages_docsize").fetchone() == (1,)
    db.execute("INSERT INTO passages(passages) VALUES('integrity-check')")
