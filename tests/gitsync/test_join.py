"""Another history comes in whole or not at all, beside a person who uses git in the same folder."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gitsync.ancestry import contains
from gitsync.commit import Transacted, transact
from gitsync.errors import BranchMoved, Damaged, WorkTreeChanged
from gitsync.merge import Resolved, merge_commits
from gitsync.refs import BRANCH
from gitsync.step import Join, Step
from tests.gitsync.tree import AGENT, DAEMON, TEMPORARY, TIME, Tree, adopt, git_environment, step

FACT = "global/knowledge/inbox/2026-10/use-make.md"
RULES = "global/rules/rules.md"
NEW = "global/knowledge/new.md"
GONE = "global/knowledge/gone.md"
COPY = f"{FACT}.copy.md"
POINTS = (
    *("temp-written", "blob", "tree", "commit-object", "flushed", "lock-taken", "renamed"),
    *("new-index", "index-swapped", "ref-moved", "unlocked", "dir-synced"),
)


def driver(path: str, base: bytes | None, one: bytes | None, other: bytes | None) -> Resolved:
    """Let the larger text win and keep the other beside it."""
    if one is None or other is None:
        return Resolved(one if other is None else other, kept=True)
    return Resolved(max(one, other), (f"{path}.copy.md", min(one, other)))


class Joining(Tree):
    """A memory tree with another one that grew from it, whose objects it has."""

    def __init__(self, root: Path, home: Path) -> None:
        super().__init__(root, home)
        self.other = root.parent / "other"

    def start(self) -> None:
        """Write what both machines have; the other one changes, adds and removes a file."""
        self.write({FACT: b"use make\n", RULES: b"- one\n", GONE: b"gone\n"}, "start")
        subprocess.run(["git", "clone", "-q", self.root, self.other], check=True, env=self._environment())

    def theirs(self, edits: Mapping[str, bytes | None]) -> str:
        """Commit on the other machine and bring its objects here; return its tip."""
        for path, data in edits.items():
            place = self.other / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink() if data is None else place.write_bytes(data)
        self.git("-C", str(self.other), "add", "-A")
        self.git("-C", str(self.other), "commit", "-qm", "theirs")
        self.git("fetch", "-q", str(self.other), "main:refs/coffer/theirs")
        return self.git("rev-parse", "refs/coffer/theirs")

    def _environment(self) -> dict[str, str]:
        return git_environment(self.home)

    def join(
        self, tip: str, before: Callable[[], None] = lambda: None, after: Mapping[str, bytes | None] = {}
    ) -> Transacted:
        """Take `tip` in as the daemon does; `before` happens when all is worked out, `after` is a step on top."""
        objects = self.repo.objects
        objects.discard_fresh()
        onto = self.repo.refs.value(BRANCH)
        changes = {**merge_commits(objects, onto, tip, driver, lambda path, data: path).edits}
        contents = {path: None if oid is None else objects.read(oid) for path, oid in changes.items()}
        forward = contains(objects, tip, onto)
        taken = None if forward else Step(contents, "sync: take in\n\nCoffer-Op: sync\n", DAEMON, TIME + 5)
        contents |= after
        steps = [step(after, "names")] if after else []
        before()
        staged: dict[str, Path] = {}
        for number, (path, data) in enumerate(contents.items()):
            if data is not None:
                place = self.root / path
                place.parent.mkdir(parents=True, exist_ok=True)
                staged[path] = place.parent / f"{TEMPORARY}{number}.tmp"
                staged[path].write_bytes(data)
                self._reached("temp-written")
        stamps = {path: self.read(path) for path in contents}

        def install() -> None:
            self.installs += 1
            for path, found in stamps.items():
                if self.read(path) != found:
                    raise WorkTreeChanged(path)
            for path in sorted(staged, key=lambda path: (self.root / path).exists()):
                os.replace(staged[path], self.root / path)
                self._reached("renamed")
            for path, data in contents.items():
                if data is None:
                    (self.root / path).unlink(missing_ok=True)
                    self._reached("renamed")

        try:
            temporary = [str(each) for each in staged.values()]
            join = Join(tip, onto, taken)
            return transact(self.repo, steps, install, adopt, temporary, list(contents), join)
        finally:
            for each in staged.values():
                each.unlink(missing_ok=True)

    def tree(self) -> str:
        return self.git("rev-parse", "main^{tree}")

    def killed(self, point: str, work: Callable[[], object], times: int) -> bool:
        """Do `work` in a child that is killed at `point` the n-th time; tell whether it came there."""
        left = times

        def reached(here: str) -> None:
            nonlocal left
            left -= here == point
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        def child() -> None:
            self.reached = reached
            self.reopen()
            work()
            os._exit(0)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode != 0

    def unchanged(self, work: Callable[[], object]) -> None:
        """Do `work` and see that neither files, branch, index nor scratch folder are others than before."""
        before = self._everything()
        work()
        assert self._everything() == before
        self.is_tidy()

    def _everything(self) -> tuple[object, ...]:
        files = {
            str(found): found.read_bytes()
            for found in self.root.rglob("*")
            if found.is_file() and ".git" not in found.parts
        }
        status = self.git("--no-optional-locks", "status", "--porcelain")
        return files, self.git("for-each-ref"), self.git("ls-files", "-s"), status


@pytest.fixture
def joining(tmp_path: Path, user_home: Path) -> Joining:
    made = Joining(tmp_path / "memory", user_home)
    made.start()
    return made


THEIRS: dict[str, bytes | None] = {RULES: b"- one\n- theirs\n", NEW: b"new\n", GONE: None}


def test_a_branch_without_work_of_its_own_moves_up(joining: Joining) -> None:
    """Two machines that take turns would never have the same commit, and make merges for ever."""
    tip = joining.theirs(THEIRS)
    done = joining.join(tip)
    assert (done.pending, [commit.id for commit in done.commits]) == (None, [tip])
    assert joining.git("rev-parse", "main") == tip
    assert (joining.read(RULES), joining.read(NEW), joining.read(GONE)) == (*list(THEIRS.values())[:2], None)
    assert joining.git("reflog", "main", "--format=%H").splitlines()[0] == tip
    joining.is_sound()


def test_two_histories_become_one_commit(joining: Joining) -> None:
    """What the other machine wrote would come in without its history, or take the place of what is here."""
    joining.write({FACT: b"use make here\n", "global/mine.md": b"mine\n"}, "mine")
    mine, tip = joining.git("rev-parse", "main"), joining.theirs({**THEIRS, FACT: b"use just there\n"})
    done = joining.join(tip)
    assert done.pending is None
    assert joining.git("show", "-s", "--format=%P|%an|%cn|%s", "main") == (
        f"{mine} {tip}|{DAEMON.name}|Coffer|sync: take in"
    )
    assert joining.git("rev-parse", "main") == done.commits[-1].id
    assert joining.read(FACT) == b"use make here\n"
    assert joining.read(COPY) == b"use just there\n"
    assert joining.read("global/mine.md") == b"mine\n"
    assert joining.read(NEW) == b"new\n"
    assert joining.committed(GONE) is None
    joining.is_sound()
    assert joining.write({NEW: b"newer\n"}).pending is None
    joining.is_sound()


def test_a_merge_that_changes_nothing_here_is_a_commit_all_the_same(joining: Joining) -> None:
    """A history that brings nothing new would be taken in again at every sync."""
    joining.write({NEW: b"new\n"}, "mine")
    tip = joining.theirs({NEW: b"new\n"})
    before = joining.tree()
    assert joining.join(tip).pending is None
    assert joining.tree() == before
    assert joining.git("merge-base", "--is-ancestor", tip, "main") == ""
    joining.is_sound()


def test_a_step_on_top_of_what_came(joining: Joining) -> None:
    """A name that this machine can't hold would be renamed on disk and stay as it was in git."""
    tip = joining.theirs({**THEIRS, "global/a:b.md": b"x\n"})
    done = joining.join(tip, after={"global/a:b.md": None, "global/a-b.md": b"x\n"})
    assert done.pending is None
    assert joining.git("rev-parse", "main~1") == tip
    assert joining.committed("global/a-b.md") == b"x\n"
    joining.is_sound()


def test_the_first_history_of_an_empty_tree(tmp_path: Path, user_home: Path) -> None:
    """A new machine couldn't be set up from the remote."""
    here, there = Joining(tmp_path / "memory", user_home), Tree(tmp_path / "there", user_home)
    there.write({FACT: b"use make\n"})
    here.git("fetch", "-q", str(there.root), "main:refs/coffer/theirs")
    tip = here.git("rev-parse", "refs/coffer/theirs")
    assert here.join(tip).pending is None
    assert here.git("rev-parse", "main") == tip
    assert here.read(FACT) == b"use make\n"
    here.is_sound()


def test_what_a_person_staged_stays_staged(joining: Joining) -> None:
    """Sync would commit what a person is still working on, or throw it out of their index."""
    joining.edit("notes.txt", b"mine\n")
    joining.git("add", "notes.txt")
    joining.edit("loose.txt", b"untracked\n")
    status = joining.git("status", "--porcelain")
    assert joining.join(joining.theirs(THEIRS)).pending is None
    assert joining.git("status", "--porcelain") == status
    assert joining.committed("notes.txt") is None
    assert joining.git("fsck", "--strict", "--no-dangling") == ""


def _staged(tree: Joining) -> None:
    tree.edit(RULES, b"- staged\n")
    tree.git("add", RULES)
    tree.edit(RULES, tree.committed(RULES))


def _unstaged(tree: Joining) -> None:
    tree.git("rm", "-q", "--cached", RULES)


def _rebasing(tree: Joining) -> None:
    for branch in ("upstream", "side"):
        tree.git("checkout", "-qb", branch, "main")
        tree.edit(FACT, branch.encode())
        tree.git("commit", "-qam", branch)
    tree.git("rebase", "upstream", check=False)


def _detached(tree: Joining) -> None:
    tree.git("checkout", "-q", "--detach")


def _locked(tree: Joining) -> None:
    (tree.root / ".git" / "index.lock").write_bytes(b"")


@pytest.mark.report("B59")
@pytest.mark.parametrize(
    ("busy", "reason"),
    [
        (_staged, f"{RULES} is staged by you"),
        (_unstaged, f"{RULES} is staged by you"),
        (_rebasing, "rebase in progress"),
        (_detached, "HEAD is detached"),
        (_locked, "another program holds the git lock (index.lock"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_while_git_is_not_free_nothing_happens(
    joining: Joining, busy: Callable[[Joining], None], reason: str, own: bool
) -> None:
    """Sync would write into the middle of a rebase, and what a person is doing be lost or doubled."""
    if own:
        joining.write({"global/mine.md": b"mine\n"}, "mine")
    tip = joining.theirs(THEIRS)
    busy(joining)

    def join() -> None:
        done = joining.join(tip)
        assert done.pending and done.pending.startswith(reason), done.pending
        assert done.commits == ()
        (joining.root / ".git" / "index.lock").unlink(missing_ok=True)

    joining.unchanged(join)
    assert joining.installs == 1 + own, "those of the writes before"


def test_a_file_edited_meanwhile_is_committed_first(joining: Joining) -> None:
    """A save in an editor in the moment of a sync would be overwritten."""
    tip = joining.theirs(THEIRS)
    joining.edit(RULES, b"- edited\n")

    def join() -> None:
        with pytest.raises(BranchMoved):
            joining.join(tip)

    joining.unchanged(join)
    assert transact(joining.repo, (), lambda: None, adopt, paths=[RULES]).pending is None
    assert joining.join(tip).pending is None
    assert joining.read(RULES) == b"- one\n- theirs\n"
    assert joining.read(f"{RULES}.copy.md") == b"- edited\n"
    joining.is_sound()


def test_an_untracked_file_in_the_way_is_kept(joining: Joining) -> None:
    """A file that a person made under the name that comes in would be replaced by it."""
    tip = joining.theirs(THEIRS)
    joining.edit(NEW, b"by hand\n")

    def join() -> None:
        with pytest.raises(BranchMoved):
            joining.join(tip)

    joining.unchanged(join)


def test_an_edit_at_the_last_moment_stops_it(joining: Joining) -> None:
    """A save between the look and the rename would be lost, or half of the other machine's work be here."""
    tip = joining.theirs(THEIRS)

    def save(point: str) -> None:
        if point == "lock-taken":
            joining.edit(RULES, b"- saved\n")

    joining.reached = save
    with pytest.raises(WorkTreeChanged):
        joining.join(tip)
    assert (joining.read(RULES), joining.read(NEW)) == (b"- saved\n", None)
    assert joining.git("status", "--porcelain") == f" M {RULES}"
    joining.is_tidy()


def test_a_branch_that_moves_meanwhile_stops_it(joining: Joining) -> None:
    """A commit that a person made in the same instant would be undone by the sync."""
    tip = joining.theirs(THEIRS)

    def commit() -> None:
        joining.edit("theirs.txt", b"x\n")
        joining.git("add", "theirs.txt")
        joining.git("commit", "-qm", "by hand")

    with pytest.raises(BranchMoved):
        joining.join(tip, before=commit)
    joining.is_sound()

    def race(point: str) -> None:
        if point == "flushed":
            joining.reached = lambda point: None
            joining.git("commit", "-q", "--allow-empty", "-m", "by hand again")

    joining.reached = race
    with pytest.raises(BranchMoved):
        joining.join(tip)
    joining.is_sound()
    assert joining.read(NEW) is None
    assert joining.join(tip).pending is None
    assert joining.committed("theirs.txt") == b"x\n"
    joining.is_sound()


def test_what_waits_for_its_commit_goes_first(joining: Joining) -> None:
    """A fact that was written during a rebase would come after, and on top of, what it didn't know of."""
    tip = joining.theirs(THEIRS)
    joining.git("checkout", "-q", "--detach")
    assert joining.write({"global/waits.md": b"waits\n"}, "waits").pending
    joining.git("checkout", "-q", "main")
    with pytest.raises(BranchMoved):
        joining.join(tip)
    assert joining.retry().pending is None
    assert joining.join(tip).pending is None
    assert joining.git("show", "-s", "--format=%s", "main^1") == "remember: waits"
    joining.is_sound()


def test_a_commit_that_is_not_there_is_no_join(joining: Joining) -> None:
    """A fetch that was pruned away would leave the branch pointing at nothing."""
    tip = joining.theirs(THEIRS)
    joining.git("update-ref", "-d", "refs/coffer/theirs")
    joining.git("gc", "-q", "--prune=now")
    joining.reopen()
    with pytest.raises(Damaged):
        joining.join(tip)
    done = transact(joining.repo, (), lambda: None, adopt, join=Join(tip, joining.repo.head(), None))
    assert done.pending == f"git object {tip} can't be read"
    joining.is_sound()


@pytest.mark.report("B33")
@pytest.mark.parametrize("point", ["commit-object", "new-index", "index-swapped", "ref-moved"])
@pytest.mark.parametrize("own", [True, False])
def test_no_space_for_git(joining: Joining, point: str, own: bool) -> None:
    """With the disk full in the middle, the next try would find a memory that is neither the old nor the new."""
    if own:
        joining.write({FACT: b"mine\n"}, "mine")
    tip = joining.theirs({**THEIRS, FACT: b"theirs\n"})

    def full(reached: str) -> None:
        if reached == point:
            raise OSError(errno.ENOSPC, "No space left on device")

    joining.reached = full
    done = joining.join(tip)
    assert done.pending == "the git folder can't be written (No space left on device)"
    assert (joining.read(NEW) is None) == (point == "commit-object")
    joining.reached = lambda point: None
    assert joining.retry().pending is None
    joining.repo.objects.discard_fresh()
    if not contains(joining.repo.objects, joining.repo.head(), tip):
        assert joining.join(tip).pending is None
    assert joining.read(FACT) == b"theirs\n"
    assert joining.read(COPY) == (b"mine\n" if own else None)
    joining.is_sound()


@pytest.mark.report("B09", "B14", "B22")
@pytest.mark.parametrize(
    ("point", "times"), [*((point, 1) for point in POINTS), *(("renamed", n) for n in range(2, 6))]
)
@pytest.mark.parametrize("own", [True, False])
def test_killed_at_any_point(joining: Joining, point: str, times: int, own: bool) -> None:
    """After kill -9 in the middle of a sync a text of one of the two machines would be gone, or git be locked."""
    if own:
        joining.write({FACT: b"mine\n", "global/mine.md": b"mine\n"}, "mine")
    tip = joining.theirs({**THEIRS, FACT: b"theirs\n"})
    assert joining.killed(point, lambda: joining.join(tip), times) or (point, own, times) == (
        "renamed",
        False,
        5,
    )
    joining.reopen()
    assert joining.recover().pending is None
    joining.is_sound()
    texts = {found.read_bytes() for found in joining.root.rglob("*.md")}
    assert not own or b"mine\n" in texts
    again = joining.repo.refs.value(BRANCH)
    if not contains(joining.repo.objects, again, tip):
        assert joining.join(tip).pending is None
    joining.is_sound()
    assert {path: joining.committed(path) for path in (FACT, COPY, RULES, NEW, GONE)} == {
        **THEIRS,
        FACT: b"theirs\n",
        COPY: b"mine\n" if own else None,
    }
    assert joining.git("ls-files").count("\n") == (4 if own else 2)
    if point in POINTS[POINTS.index("new-index") :]:
        assert joining.git("rev-parse", "main" if not own else "main^2") == tip, "joined before the crash"
    assert joining.recover().committed == ()
    assert joining.log("%an")[-1] == AGENT.name


@pytest.mark.parametrize(
    ("point", "times"), [("flushed", 1), ("renamed", 1), ("renamed", 2), ("index-swapped", 1)]
)
def test_killed_while_moving_up_to_a_merge(joining: Joining, point: str, times: int) -> None:
    """A crash while taking in what the other machine had merged would put all of its history on ours once more."""
    joining.git("-C", str(joining.other), "checkout", "-qb", "own")
    joining.theirs({NEW: b"theirs\n"})
    joining.git("-C", str(joining.other), "checkout", "-q", "-B", "main", "own")
    joining.write({"global/mine.md": b"mine\n"}, "mine")
    ours = joining.git("rev-parse", "main")
    joining.git("-C", str(joining.other), "pull", "-q", "--no-rebase", "--no-edit", str(joining.root), "main")
    tip = joining.theirs({RULES: b"- theirs\n"})
    assert joining.git("rev-list", "--first-parent", tip).find(ours) < 0
    assert joining.killed(point, lambda: joining.join(tip), times)
    joining.reopen()
    assert joining.recover().pending is None
    joining.is_sound()
    if joining.git("rev-parse", "main") != tip:
        assert joining.join(tip).pending is None
    joining.is_sound()
    assert joining.tree() == joining.git("rev-parse", f"{tip}^{{tree}}")
    assert int(joining.git("rev-list", "--count", "main")) <= 7
