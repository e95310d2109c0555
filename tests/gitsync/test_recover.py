"""What a crash leaves behind is put right at the next start, and nothing acknowledged is lost or doubled."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gitsync.errors import NotKept, WorkTreeChanged
from gitsync.repo import Repository
from gitsync.step import Step
from tests.gitsync.tree import AGENT, DAEMON, Tree, step

FACT = "global/knowledge/inbox/2026-10/use-make.md"
OTHER = "global/rules/rules.md"
POINTS = (
    *("temp-written", "blob", "tree", "commit-object", "flushed", "lock-taken", "renamed"),
    *("new-index", "index-swapped", "ref-moved", "unlocked", "dir-synced"),
)
MANY = [step({f"global/{n}.md": b"%d\n" % n}, f"fact {n}") for n in range(12)]
OPERATIONS: dict[str, list[Step]] = {
    "new": [step({"global/new.md": b"new\n"}, "killed")],
    "overwrite": [step({FACT: b"overwritten\n"}, "killed")],
    "delete": [step({FACT: None}, "killed")],
    "move": [step({"superseded/use-make.md": b"use make\n", FACT: None}, "killed")],
    "many": MANY,
}


@pytest.fixture
def begun(tree: Tree) -> Tree:
    tree.write({FACT: b"use make\n", OTHER: b"- one\n"}, "start")
    return tree


def killed(tree: Tree, point: str, work: Callable[[], object], times: int = 1) -> None:
    """Do `work` in a child process that is killed when it reaches `point` for the n-th time."""
    left = times

    def reached(here: str) -> None:
        nonlocal left
        left -= here == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def child() -> None:
        tree.reached = reached
        tree.reopen()
        work()

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL, f"{point} was never reached"


def paths(steps: Sequence[Step]) -> dict[str, bytes | None]:
    return {path: data for one in steps for path, data in one.edits.items()}


@pytest.mark.report("B09", "B14", "B22")
@pytest.mark.parametrize(
    ("point", "operation"),
    [(p, o) for p in POINTS for o in OPERATIONS if (p, o) != ("temp-written", "delete")],
)
def test_killed_at_any_point(begun: Tree, point: str, operation: str) -> None:
    """After kill -9 a fact would be torn, lost, committed twice or by somebody else, or git would be locked."""
    steps = OPERATIONS[operation]
    before = {path: begun.read(path) for path in paths(steps)}
    killed(begun, point, lambda: begun.commit(steps))
    for path, data in paths(steps).items():
        assert begun.read(path) in (before[path], data)
    begun.reopen()
    begun.recover()
    begun.is_sound()
    installed = POINTS.index(point) > POINTS.index("renamed")
    done = [one for one in steps if all(begun.read(path) == data for path, data in one.edits.items())]
    assert not installed or done == steps
    if operation != "move":
        titles = [one.message.splitlines()[0] for one in done]
        assert begun.log()[::-1] == [f"{AGENT.name}|remember: start", *(f"{AGENT.name}|{t}" for t in titles)]
        assert begun.log("%(trailers:key=Coffer-Agent,valueonly,separator=)")[0] == "claude-code"
    for path in before:
        assert begun.committed(path) == begun.read(path)
    assert begun.committed(FACT) or begun.committed("superseded/use-make.md") or operation == "delete"
    assert begun.recover().committed == ()
    assert begun.write({"global/after.md": b"after\n"}).pending is None
    begun.is_sound()


@pytest.mark.parametrize("point", ["flushed", "renamed", "index-swapped"])
def test_killed_while_adopting(begun: Tree, point: str) -> None:
    """An edit by hand that was being committed when the crash came would be lost or become the agent's."""
    begun.edit(FACT, b"by hand\n")
    killed(begun, point, lambda: begun.write({FACT: b"agent\n"}, "agent"))
    begun.reopen()
    begun.recover()
    begun.is_sound()
    expected = [f"{AGENT.name}|remember: agent"] if point != "flushed" else []
    assert begun.log() == [*expected, "Ann|edit: by hand", f"{AGENT.name}|remember: start"]
    assert begun.committed(FACT, "main" if point == "flushed" else "main~1") == b"by hand\n"


@pytest.mark.parametrize("first", ["renamed", "index-swapped", "ref-moved"])
@pytest.mark.parametrize(
    "second", ["blob", "lock-taken", "new-index", "index-swapped", "ref-moved", "unlocked"]
)
def test_killed_again_while_recovering(begun: Tree, first: str, second: str) -> None:
    """A crash during the repair would leave more damage than the one before it."""
    killed(begun, first, lambda: begun.commit([step({"global/new.md": b"new\n"}, "killed")]))
    begun.edit("global/hand.md", b"hand\n")
    killed(begun, second, begun.recover)
    begun.reopen()
    begun.recover()
    begun.is_sound()
    assert begun.log() == [
        *("Ann|edit: by hand", f"{AGENT.name}|remember: killed", f"{AGENT.name}|remember: start")
    ]


def test_killed_between_two_renames(begun: Tree) -> None:
    """Of an operation over two files, the half that was done would be committed by the wrong author."""
    steps = [step({"global/a.md": b"a\n", "global/b.md": b"b\n"}, "both")]
    killed(begun, "renamed", lambda: begun.commit(steps))
    begun.reopen()
    begun.recover()
    assert begun.read("global/a.md") == b"a\n"
    assert begun.read("global/b.md") is None
    assert begun.log()[0] == f"{AGENT.name}|remember: both"
    begun.is_sound()


def test_an_edit_after_the_crash_is_the_users(begun: Tree) -> None:
    """A correction made before the daemon came back would be signed by the agent or taken for staged."""
    killed(begun, "index-swapped", lambda: begun.write({FACT: b"agent\n"}, "agent"))
    begun.edit(FACT, b"agent, then me\n")
    begun.reopen()
    assert begun.recover().pending is None
    assert begun.log()[:2] == ["Ann|edit: by hand", f"{AGENT.name}|remember: agent"]
    begun.is_sound()


def test_a_crash_while_main_is_not_checked_out(begun: Tree) -> None:
    """What waited for the end of a rebase when the daemon was killed would lose its author."""
    begun.git("checkout", "-q", "--detach")
    begun.write({"global/one.md": b"1\n"}, "one")
    killed(begun, "dir-synced", lambda: begun.write({"global/two.md": b"2\n"}, "two"))
    begun.reopen()
    assert begun.recover().pending == "HEAD is detached"
    begun.git("checkout", "-q", "main")
    assert begun.recover().pending is None
    assert begun.log("%s")[::-1] == ["remember: start", "remember: one", "remember: two"]
    begun.is_sound()


def test_edits_by_hand_are_committed_only_where_they_are_ours(begun: Tree) -> None:
    """The user's own notes in the tree would be committed, or their edit of a fact forgotten."""
    begun.edit(FACT, b"by hand\n")
    begun.edit(OTHER, None)
    begun.edit("global/made.md", b"made\n")
    begun.edit("notes.txt", b"mine\n")
    begun.edit("global/INDEX.md", b"derived\n")
    recovery = begun.recover()
    assert len(recovery.committed) == 1
    assert begun.git("show", "--format=%an", "--name-only", "main").split() == [
        *("Ann", FACT, "global/made.md", OTHER)
    ]
    assert begun.git("status", "--porcelain") == "?? notes.txt"
    assert begun.recover() == type(recovery)((), (), None)


def test_a_dead_owners_lock_goes_and_a_live_ones_stays(begun: Tree) -> None:
    """A daemon killed in its lock would shut the user's git out, or a running one's lock would be broken."""
    lock = begun.root / ".git" / "index.lock"
    lock.write_text(f"coffer {2**22 + 1} 1\n")
    begun.edit("global/new.md", b"new\n")
    recovery = begun.recover()
    assert recovery.notes == ("removed index.lock, which an earlier run left",)
    assert recovery.pending is None
    lock.write_text(f"coffer {os.getpid()} 1\n")  # our number, an earlier life
    assert begun.recover().notes == ("removed index.lock, which an earlier run left",)
    start = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[19]
    lock.write_text(f"coffer {os.getppid()} {start}\n")
    begun.edit("global/newer.md", b"newer\n")
    recovery = begun.recover()
    assert recovery.pending and f"pid {os.getppid()}" in recovery.pending
    assert recovery.notes == (recovery.pending,)
    assert lock.exists()


@pytest.mark.report("B59")
@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_foreign_lock_is_named_and_kept(begun: Tree, name: str) -> None:
    """A stale lock of another program would be broken, or not be mentioned anywhere."""
    lock = begun.root / ".git" / name
    lock.write_bytes(b"")
    os.utime(lock, (1, 1))
    begun.edit("global/new.md", b"new\n")
    recovery = begun.recover()
    assert recovery.pending and recovery.pending.startswith(
        f"another program holds the git lock ({lock.name}"
    )
    assert "pid unknown" in recovery.notes[0] and int(recovery.notes[0].split(", ")[2].split()[0]) > 10**9
    lock.unlink()
    assert begun.recover().pending is None
    begun.is_sound()


def test_an_empty_object_is_removed_and_written_again(begun: Tree) -> None:
    """A loss of power would leave an object that git calls corrupt for ever."""
    folder = begun.root / ".git" / "objects" / "d8"
    folder.mkdir(exist_ok=True)
    empty = folder / ("0" * 38)
    empty.write_bytes(b"")
    (folder / "tmp_obj_x").write_bytes(b"git's own")
    assert begun.recover().notes == (f"removed the empty git object d8{'0' * 38}",)
    assert not empty.exists()


@pytest.mark.report("B64")
@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"deadbeef" * 5 + b"\n"])
def test_a_broken_branch_goes_back_to_the_last_good_commit(begun: Tree, content: bytes) -> None:
    """After a loss of power the branch would be empty or name nothing, and every fact seem uncommitted."""
    begun.write({"global/new.md": b"new\n"}, "newest")
    (begun.root / ".git/refs/heads/main").write_bytes(content)
    assert begun.write({"global/b.md": b"b\n"}, "meanwhile").pending
    begun.reopen()
    recovery = begun.recover()
    assert recovery.pending is None
    assert any("was set back to" in note for note in recovery.notes)
    assert begun.log()[1:] == [f"{AGENT.name}|remember: newest", f"{AGENT.name}|remember: start"]
    begun.is_sound()


def test_a_lost_tip_is_made_again_from_the_files(begun: Tree) -> None:
    """A commit whose objects a loss of power took would leave a repository that can't be used."""
    begun.write({"global/new.md": b"new\n"}, "lost")
    tip = begun.git("rev-parse", "main")
    (begun.root / ".git/objects" / tip[:2] / tip[2:]).unlink()
    begun.reopen()
    assert begun.recover().pending is None
    assert begun.log() == ["Ann|edit: by hand", f"{AGENT.name}|remember: start"]
    assert begun.committed("global/new.md") == b"new\n"
    assert begun.git("status", "--porcelain") == ""


def test_nothing_left_to_go_back_to_is_said(begun: Tree) -> None:
    """A repository beyond repair would be overwritten by a fresh one, or crash the daemon."""
    shutil.rmtree(begun.root / ".git" / "logs")
    (begun.root / ".git/refs/heads/main").write_bytes(b"")
    recovery = begun.recover()
    assert recovery.pending == "refs/heads/main is damaged"
    before = begun.read(FACT)
    with pytest.raises(NotKept, match="refs/heads/main is damaged"):
        begun.write({FACT: b"new\n"})
    assert begun.read(FACT) == before
    assert begun.write({f"{FACT}-2.md": b"new\n"}).pending == "refs/heads/main is damaged"
    assert begun.read(f"{FACT}-2.md") == b"new\n"


@pytest.mark.parametrize("damage", [None, b"", b"garbage"])
def test_the_index_is_made_anew_at_start(begun: Tree, damage: bytes | None) -> None:
    """A user whose git says `index file corrupt` would have to know what to do."""
    index = begun.root / ".git" / "index"
    index.unlink() if damage is None else index.write_bytes(damage)
    recovery = begun.recover()
    assert [note.endswith("was made anew from the last commit") for note in recovery.notes] == [True]
    assert begun.git("status", "--porcelain") == ""
    assert (begun.root / ".git/coffer/index.damaged").exists() == (damage is not None)
    assert begun.recover().notes == ()


def test_a_symlink_and_an_executable_survive_a_new_index(begun: Tree) -> None:
    """What the user committed beside our facts would be staged for removal."""
    (begun.root / "link").symlink_to("nowhere")
    begun.edit("tool.sh", b"#!/bin/sh\n")
    begun.git("add", "-A")
    begun.git("update-index", "--chmod=+x", "tool.sh")
    begun.git("commit", "-qm", "theirs")
    (begun.root / ".git" / "index").unlink()
    begun.recover()
    assert begun.git("status", "--porcelain") == ""


def test_an_unborn_repository_is_fine(tree: Tree) -> None:
    """The first start after creating the tree would report damage."""
    assert tree.recover() == type(tree.recover())((), (), None)
    assert tree.retry().pending is None
    tree.edit("global/a.md", b"a\n")
    assert tree.recover().pending is None
    assert tree.log() == ["Ann|edit: by hand"]


def test_a_copy_of_a_running_home_starts(begun: Tree, tmp_path: Path, user_home: Path) -> None:
    """A home restored from a backup taken in the middle of a write would be locked or lose the write."""
    copy = tmp_path / "copy"

    def backup(point: str) -> None:
        if point == "index-swapped":
            shutil.copytree(begun.root, copy, symlinks=True)

    begun.reached = backup
    begun.write({"global/new.md": b"new\n"}, "copied")
    (copy / ".git/index.lock").write_text(f"coffer {2**22 + 1} 1\n")
    (copy / ".git/refs/heads/main.lock").unlink()
    restored = Tree(copy, user_home)
    assert restored.recover().pending is None
    assert restored.log()[0] == f"{AGENT.name}|remember: copied"
    restored.is_sound()


def test_a_refused_write_leaves_nothing_to_recover(begun: Tree) -> None:
    """A write that was refused because the file had changed would come back at the next start."""

    def check() -> None:
        raise WorkTreeChanged(FACT)

    with pytest.raises(WorkTreeChanged):
        begun.commit([step({"global/refused.md": b"x\n"})], check)
    begun.edit("global/refused.md", b"x\n")  # by chance the user writes the very same
    begun.reopen()
    begun.recover()
    assert begun.log()[0] == "Ann|edit: by hand"


def test_recovery_needs_a_repository_that_opens(begun: Tree) -> None:
    """An unrelated handle on the repository would be stopped by what recovery is for."""
    (begun.root / ".git/refs/heads/main").write_bytes(b"")
    (begun.root / ".git/index").write_bytes(b"")
    assert Repository.open(str(begun.root), DAEMON)
