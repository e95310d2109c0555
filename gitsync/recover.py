"""Put right what a crash, a loss of power or a busy repository left behind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gitsync.commit import Outcome, transact
from gitsync.errors import Damaged, GitError
from gitsync.lockfile import describe, held, is_stale, owner_file, owner_of
from gitsync.loose import loose_objects_in
from gitsync.lost_blobs import restore_blobs
from gitsync.maintenance import PACKING
from gitsync.plan import Adopt
from gitsync.quarantine import INCOMING
from gitsync.records import records
from gitsync.refs import BRANCH
from gitsync.repo import Repository
from gitsync.scratch import write_new
from gitsync.staging import mend_index, set_index_aside, write_index
from gitsync.worktree import pending_paths

# Names that a crashed write of ours or of libgit2 leaves; what git leaves, `git gc` removes.
_OURS = ("owner-", "index-", "branch-", "object-", "pack-")


@dataclass(frozen=True, slots=True)
class Recovery:
    """The commits made, what else was put right or found, in words, and why some commits still wait."""

    committed: tuple[str, ...]
    notes: tuple[str, ...]
    pending: str | None


def recover(repo: Repository, adopt: Adopt, is_ours: Callable[[str], bool]) -> Recovery:
    """Leave the repository as if nothing had crashed; may itself be killed and run again.

    Call it at start, holding the lock that keeps a second daemon out. Locks and temporary files of dead
    processes of ours go, foreign locks stay and are named. Commits that were under way are finished with their
    own author and message where their files are in place; what else differs in paths that `is_ours` is
    committed by `adopt` as the user's.
    """
    notes: list[str] = []
    try:
        notes += _clean(repo)
        notes += _mend_branch(repo)
        if notes:
            notes += [f"wrote {path} into git again" for path in restore_blobs(repo)[0]]
        notes += _mend_index(repo)
        paths = [path for path in pending_paths(repo) if is_ours(path)]
        result = transact(repo, (), lambda: None, adopt, paths=paths)
    except (GitError, OSError) as error:
        return Recovery((), tuple(notes), str(error))
    return Recovery(tuple(commit.id for commit in result.commits), tuple(notes), result.pending)


def retry_pending(repo: Repository, adopt: Adopt, paths: Sequence[str] = ()) -> Outcome:
    """Commit what waits, each with its own author and message; bytes that have changed since go to `adopt`.

    So does what is uncommitted in `paths`, which is how a chain is made up for whose objects were pruned.
    """
    result = transact(repo, (), lambda: None, adopt, paths=paths)
    return Outcome(tuple(commit.id for commit in result.commits), result.pending)


def _clean(repo: Repository) -> Iterator[str]:
    """Remove what crashed processes of ours left, and objects that a loss of power left empty."""
    tips = {os.stat(record.path).st_ino for record in records(repo.scratch)}
    for lock in (repo.index.lock, repo.refs.branch_lock, repo.refs.head_lock):
        with suppress(FileNotFoundError):
            owner = owner_of(lock)
            if (owner and is_stale(owner)) or os.lstat(lock).st_ino in tips:
                os.unlink(lock)
                yield f"removed {os.path.basename(lock)}, which an earlier run left"
            else:
                yield describe(lock, repo.scratch)
    with suppress(FileNotFoundError):
        for entry in os.scandir(repo.scratch):
            if entry.name.startswith(_OURS):
                os.unlink(entry.path)
            elif entry.name.startswith(INCOMING):
                shutil.rmtree(entry.path, ignore_errors=True)
    shutil.rmtree(os.path.join(repo.scratch, PACKING), ignore_errors=True)
    objects = os.path.join(repo.folder, "objects")
    for entry in os.scandir(objects):
        if entry.name.startswith("tmp_object_git2_"):
            os.unlink(entry.path)
    for oid, entry in loose_objects_in(objects):
        if entry.stat().st_size == 0:
            os.unlink(entry.path)
            yield f"removed the empty git object {oid}"


def _mend_branch(repo: Repository) -> Iterator[str]:
    """Where the branch names no readable commit, go back to the last one in its log that is."""
    try:
        commit = repo.refs.value(BRANCH)
        repo.objects.folder(repo.objects.tree_of(commit))
        return
    except Damaged as damage:
        reason = damage
    for commit in repo.refs.logged():
        with suppress(Damaged):
            repo.objects.folder(repo.objects.tree_of(commit))
            os.makedirs(repo.scratch, mode=0o700, exist_ok=True)
            value = os.path.join(repo.scratch, f"branch-{os.getpid()}")
            write_new(value, commit.encode() + b"\n")
            repo.disk.flush([value])
            with held(repo.index.lock, owner_file(repo.scratch)), held(repo.refs.branch_lock, value):
                # It speaks of the commit that was lost; what that one changed would seem to be staged.
                with suppress(FileNotFoundError):
                    set_index_aside(repo)
                os.replace(repo.refs.branch_lock, repo.refs.branch)
            os.unlink(value)
            yield f"{reason}: main was set back to {commit[:12]} from its log"
            return
    raise reason


def _mend_index(repo: Repository) -> Iterator[str]:
    try:
        if repo.index.load():
            return
    except Damaged:
        pass
    with held(repo.index.lock, owner_file(repo.scratch)):
        note = mend_index(repo, repo.objects.tree_of(repo.head()))
        if note:
            write_index(repo, {})
            yield note
