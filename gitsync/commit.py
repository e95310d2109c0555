"""The transaction: files and their commits appear together, beside a person who uses git in the same folder.

1. `plan`: blobs, trees and commits are made in memory, written, and noted in a record. No ref knows of them.
2. One flush for all of it and for the caller's new files, which lie beside their final places.
3. `index.lock` and the branch's lock, for milliseconds; then a look at what the person is in the middle of.
4. The caller renames its files; our entries go into the git index; the branch's lock becomes the branch.
5. Unlocked; the folders of what was renamed are flushed.

The index comes before the branch: a crash in between leaves a harmless staged addition, where the other order
would leave a staged removal. If git isn't free, the files are put in place all the same and the chain waits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gitsync.errors import Blocked, Damaged, NotKept, WorkTreeChanged
from gitsync.lockfile import describe, drop_stuck, held, owner_file
from gitsync.objects import Commit, blob_id
from gitsync.plan import Adopt, Plan
from gitsync.refs import BRANCH, NO_COMMIT
from gitsync.repo import Repository
from gitsync.staging import mend_index, write_index
from gitsync.step import Join, Step
from gitsync.worktree import index_entry, pending_paths, read

__all__ = ["Join", "Outcome", "Step", "commit", "pending_paths", "transact"]

_ATTEMPTS = 4
_STATES = {"CHERRYPICK": "cherry-pick", "APPLY": "git am"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The commit of each step, or none and why they wait. A step that changed nothing has its parent's id."""

    commits: tuple[str, ...]
    pending: str | None


class _Moved(Exception):
    """The branch isn't where the plan began."""


class _Install:
    """The caller's renames, done once, their failures told apart from git's."""

    def __init__(self, install: Callable[[], None]) -> None:
        self._install = install
        self.done = False
        self.failure: BaseException | None = None

    def __call__(self) -> None:
        if not self.done:
            try:
                self._install()
            except BaseException as failure:
                self.failure = failure
                raise
            self.done = True


def commit(
    repo: Repository,
    steps: Sequence[Step],
    install: Callable[[], None],
    adopt: Adopt,
    temporary: Sequence[str] = (),
) -> Outcome:
    """Commit `steps` one by one and put their files in place by `install`, called once.

    `temporary` are the absolute names of the new files before `install` renames them. Bytes on disk that no
    commit holds are committed first, by the step that `adopt` makes of them. When this returns, files and
    commits survive a loss of power. Raises WorkTreeChanged from `install` with nothing changed, OSError when
    the files themselves can't be read, flushed or put in place; trouble with git makes the outcome pending,
    or raises NotKept before anything is done where a version would be lost by going on without it.
    """
    for path in {path for step in steps for path in step.edits}:
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")):
            raise ValueError(f"{path!r} isn't the path of a file in the tree")
    result = transact(repo, steps, install, adopt, temporary)
    if result.pending:
        return Outcome((), result.pending)
    return Outcome(tuple(oid or NO_COMMIT for oid in result.ids), None)


@dataclass(frozen=True, slots=True)
class Transacted:
    """What a transaction did: ids of its steps' commits, all commits that the branch gained, why they wait."""

    ids: Sequence[str | None]
    commits: Sequence[Commit]
    pending: str | None


def transact(
    repo: Repository,
    steps: Sequence[Step],
    install: Callable[[], None],
    adopt: Adopt,
    temporary: Sequence[str] = (),
    paths: Collection[str] = (),
    join: Join | None = None,
) -> Transacted:
    """Do what `commit` says, and adopt what is uncommitted in `paths`. Without steps nothing is left waiting.

    A `join` happens whole or not at all: while git isn't free nothing is put in place. `paths` are to name what it
    changes. Raises BranchMoved when it was worked out against another commit than the branch is at by now.
    """
    once = _Install(install)
    plan: Plan | None = None
    flushed = False
    try:
        for _ in range(_ATTEMPTS):
            if plan:
                plan.discard()
            plan, reason = None, None
            for lock in (repo.index.lock, repo.refs.branch_lock):
                drop_stuck(lock)
            try:
                plan = Plan(repo)
                plan.fill(steps, adopt, paths, join)
                if plan.commits and (join or not steps):
                    _look(repo, plan)
                flushed = _prepare(repo, plan, temporary)
                if plan.commits:
                    _publish(repo, plan, once)
            except _Moved:
                reason = "another program keeps moving the branch"
                continue
            except (Blocked, Damaged) as obstacle:
                reason = str(obstacle)
            break
        if reason and join and not once.done:
            if plan:
                plan.discard()
            return Transacted((), (), reason)
        if not once.done and not (plan and plan.record):
            _require_kept(repo, steps, reason or "")
        if not flushed:
            repo.disk.flush(temporary)
        once()
    except BaseException:
        if plan and not once.done and (not once.failure or isinstance(once.failure, WorkTreeChanged)):
            plan.discard()
        raise
    edited = {path for step in steps for path in step.edits} | (set(paths) if join else set())
    folders = {os.path.dirname(os.path.join(repo.root, path)) for path in edited}
    if not reason and plan and plan.commits:
        folders |= {os.path.dirname(repo.refs.branch), repo.folder}
    if folders:
        repo.disk.flush_folders(folders)
        repo.reached("dir-synced")
    if plan:
        plan.settle(committed=not reason)
    if reason and not (plan and plan.record):
        repo.unprepared.extend(steps)
    return Transacted(plan.ids if plan else (), plan.commits if plan and not reason else (), reason)


def _require_kept(repo: Repository, steps: Sequence[Step], reason: str) -> None:
    """Raise NotKept where a file would go whose bytes are in no commit, now that none could be prepared."""
    for path, data in ((path, data) for step in steps for path, data in step.edits.items()):
        found = read(repo.root, path)
        if found is None or found[0] == data:
            continue
        try:
            committed = repo.objects.blob_at(repo.objects.tree_of(repo.head()), path)
        except Damaged:
            committed = None
        if committed != blob_id(found[0]):
            raise NotKept(path, reason)


def _prepare(repo: Repository, plan: Plan, temporary: Sequence[str]) -> bool:
    """Write and flush a plan and the caller's files; raises OSError when it is the caller's that can't be."""
    try:
        files = plan.write() if plan.commits else []
    except OSError as error:
        raise _unwritable(error) from error
    if not files and not temporary:
        return True
    try:
        repo.disk.flush([*files, *temporary])
    except OSError as error:
        repo.disk.flush_each(temporary)
        raise _unwritable(error) from error
    repo.reached("flushed")
    return True


def _publish(repo: Repository, plan: Plan, install: _Install) -> None:
    """Put the files in place, splice the index and move the branch, all under git's own locks."""
    assert plan.record
    try:
        with (
            held(repo.index.lock, owner_file(repo.scratch)),
            held(repo.refs.branch_lock, plan.record.path),
        ):
            repo.reached("lock-taken")
            _require_free(repo, plan)
            mend_index(repo, plan.base_tree)
            dropped = _require_unstaged(repo, plan)
            install()
            entries = {
                path: None if oid is None else index_entry(repo.root, path, oid)
                for path, oid in {**dropped, **plan.changes}.items()
            }
            write_index(repo, entries)
            repo.refs.move(plan.base, plan.commits, repo.committer)
            repo.reached("ref-moved")
            before = {path: repo.objects.blob_at(plan.base_tree, path) for path in plan.changes}
            repo.recent.note(
                plan.tip, {path: (before[path], oid) for path, oid in plan.changes.items()}, repo.index
            )
    except OSError as error:
        if install.failure:
            raise
        raise _unwritable(error) from error
    repo.reached("unlocked")


def _require_free(repo: Repository, plan: Plan) -> None:
    """Raise Blocked while a person is in the middle of something, _Moved when the branch isn't the plan's."""
    state = repo.git.state().name.partition("_")[0]
    if state != "NONE":
        raise Blocked(f"{_STATES.get(state, state.lower())} in progress")
    repo.refs.require_main()
    _require_unlocked(repo, repo.refs.head_lock)
    if repo.refs.value(BRANCH) != plan.base:
        raise _Moved


def _require_unlocked(repo: Repository, *locks: str) -> None:
    for lock in locks:
        if os.path.lexists(lock):
            raise Blocked(describe(lock, repo.scratch))


def _require_unstaged(repo: Repository, plan: Plan) -> Mapping[str, str | None]:
    """Raise Blocked when a person has staged one of our paths; return what git's index has lost of ours.

    What a crash of ours left staged, or another git wrote back unawares (see `recent`), is no obstacle.
    """
    if repo.index.unmerged:
        raise Blocked("unmerged files")
    dropped = repo.recent.dropped_from_index(repo.objects, repo.index, plan.base_tree)
    for path in plan.changes:
        ours = plan.versions[path] | {repo.objects.blob_at(plan.base_tree, path)}
        if path not in dropped and repo.index.id_of(path) not in ours:
            raise Blocked(f"{path} is staged by you")
    return dropped


def _look(repo: Repository, plan: Plan) -> None:
    """Raise Blocked for what can be seen without a lock, before anything is written for nothing."""
    _require_free(repo, plan)
    _require_unlocked(repo, repo.index.lock, repo.refs.branch_lock)
    with suppress(Damaged):
        if repo.index.load():
            _require_unstaged(repo, plan)


def _unwritable(error: OSError) -> Blocked:
    return Blocked(f"the git folder can't be written ({error.strerror or error})")
