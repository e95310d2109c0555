"""The git side of the memory tree: made at the first write, mended after a crash, and what waits for a commit."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from coffer.domain.activity import Finding
from coffer.domain.changes import ChangeSet
from coffer.domain.errors import SyncFailed
from coffer.domain.ports import Clock
from coffer.infrastructure.failpoints import Reached
from coffer.infrastructure.signatures import COFFER, author_of, edit_message, local_user, message_of
from coffer.infrastructure.tree_files import (
    MAX_FILE_BYTES,
    TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX,
    TreeFiles,
)
from coffer.infrastructure.tree_join import Check, Joined, join
from gitsync.changed_paths import keep_up
from gitsync.commit import Outcome, Step, commit, pending_paths
from gitsync.errors import GitError, NotKept, RepositoryUnusable
from gitsync.lost_blobs import restore_blobs
from gitsync.maintenance import loose_objects, pack, small_packs
from gitsync.recover import recover, retry_pending
from gitsync.repo import Repository
from lanes import LANES, lane_of
from lanes.layout import store_of

log = logging.getLogger(__name__)

LOOSE_AT_MOST = 2000
PACKS_AT_MOST = 20
ATTRIBUTES = ".gitattributes"
# Bytes on disk are the bytes in git, whatever a user's configuration says about line ends.
ATTRIBUTES_TEXT = b"* -text\n"


class TreeRepository:
    """Commits operations on the tree's files. Every method that writes runs on the writer's thread but `pack`."""

    def __init__(self, root: str, clock: Clock, reached: Reached) -> None:
        self._root = root
        self._clock = clock
        self._reached = reached
        self._repository: Repository | None = None
        self._unusable: str | None = None
        self._pending: dict[str, str] = {}
        self._notes: tuple[str, ...] = ()
        self._lost: list[str] = []

    def commit(
        self, operations: Sequence[ChangeSet], install: Callable[[], None], temporary: Sequence[str]
    ) -> Outcome:
        """Make one commit of each operation, renaming the files by `install` in the middle.

        Where the repository can't be used the files are flushed and renamed all the same: they are the truth.
        """
        paths = [change.path for operation in operations for change in operation.changes]
        repository = self._opened()
        if repository is None:
            outcome = self._without_git(operations, install, temporary)
        else:
            steps = [self._step(repository, operation) for operation in operations]
            outcome = commit(repository, steps, install, self._adopt, temporary)
        if outcome.pending:
            self._pending.update(dict.fromkeys(paths, outcome.pending))
        elif self._pending:
            self.retry()
        return outcome

    def recover(self) -> None:
        """Finish or undo what a crash interrupted, and commit what a person left uncommitted in a lane."""
        repository = self._opened() if Repository.exists(self._root) else None
        if repository is None:
            return
        try:
            recovery = recover(repository, self._adopt, self._is_ours)
        except (GitError, OSError) as problem:
            self._unusable = str(problem)
            return
        self._notes = recovery.notes
        if recovery.pending:
            self._pending = dict.fromkeys(self._uncommitted(repository), recovery.pending)

    def retry(self) -> None:
        """Commit what waits, if the repository is free by now."""
        repository = self._opened()
        if repository is None:
            return
        try:
            paths = [path for path in self._pending if _is_committed(path)]
            outcome = retry_pending(repository, self._adopt, paths)
        except (GitError, OSError) as problem:
            outcome = Outcome((), str(problem))
        if outcome.pending:
            self._pending = dict.fromkeys(self._pending, outcome.pending)
        else:
            self._pending.clear()

    def adopt_edits(self) -> str | None:
        """Commit what waits, and what a person has left on disk in a lane; return why that isn't possible now."""
        repository = self._opened()
        if repository is None:
            return self._unusable
        try:
            paths = [path for path in pending_paths(repository) if self._is_ours(path)]
            waiting = retry_pending(repository, self._adopt, paths).pending
        except (GitError, OSError) as problem:
            waiting = str(problem)
        if not waiting:
            self._pending.clear()
        return waiting

    def join(self, files: TreeFiles, tip: str, over: str | None, check: Check, forward: bool) -> Joined:
        """Take another machine's commits into the branch; raises SyncFailed, and what `check` raises."""
        repository = self._opened()
        if repository is None:
            raise SyncFailed(f"The memory tree can't be committed to: {self._unusable}.")
        try:
            return join(repository, files, self._adopt, tip, over, check, self._seconds(), forward)
        except (GitError, OSError) as problem:
            raise SyncFailed(f"{problem}") from problem

    def pack(self) -> None:
        """Pack the repository when many small objects or packs have come together, and note what commits changed.

        On any thread, beside writes.
        """
        if not Repository.exists(self._root):
            return
        try:
            handle = Repository.open(self._root, COFFER)
            if loose_objects(handle) > LOOSE_AT_MOST or small_packs(handle) > PACKS_AT_MOST:
                pack(handle)
            keep_up(handle)
        except (GitError, OSError) as problem:
            log.warning("packing the memory tree: %s", problem)

    def look(self) -> None:
        """Look whether git still has every file that is committed, for `findings`; mend what can be mended."""
        repository = self._opened() if Repository.exists(self._root) else None
        if repository is None:
            return
        try:
            mended, self._lost = restore_blobs(repository)
        except (GitError, OSError) as problem:
            self._notes = tuple(dict.fromkeys((*self._notes, str(problem))))
        else:
            self._notes += tuple(f"wrote {path} into git again, which had lost it" for path in mended)

    def pending(self) -> dict[str, str]:
        """Return the paths that are saved but not committed, each with the reason."""
        return dict(self._pending)

    def findings(self) -> list[Finding]:
        """Say for doctor how the repository is."""
        found = [Finding("recovery", "warning", note) for note in self._notes]
        for path in self._lost:
            message = f"Git has lost the committed version of {path}; the file itself is served."
            action = "Fetch it from another copy of the repository, if there is one."
            found.append(Finding("history", "warning", message, action))
        if self._unusable:
            message = f"{self._root} can't be committed to: {self._unusable}. Facts are kept as files."
            action = "Mend the repository with git; Coffer commits what waits once it is whole."
            found.append(Finding("repository", "problem", message, action))
        elif self._pending:
            reasons = "; ".join(sorted(set(self._pending.values())))
            message = f"{len(self._pending)} saved files wait for their commit: {reasons}."
            action = "Finish what you do with git in the memory tree; Coffer tries again by itself."
            found.append(Finding("repository", "warning", message, action))
        else:
            found.append(Finding("repository", "ok", f"Every operation on {self._root} is committed."))
        return found

    def _opened(self) -> Repository | None:
        """Return the repository, made when there is none; None when it can't be used."""
        if self._repository is None:
            try:
                os.makedirs(self._root, mode=0o700, exist_ok=True)
                self._repository = Repository.create(
                    self._root, COFFER, self._reached, ignores=_ignored_by_git()
                )
                self._unusable = None
            except RepositoryUnusable as problem:
                self._unusable = problem.reason
        return self._repository

    def _uncommitted(self, repository: Repository) -> list[str]:
        """Return the paths that HEAD doesn't have as they are, or a name for all when git can't tell."""
        with suppress(GitError, OSError):
            return [path for path in pending_paths(repository) if _is_committed(path)] or ["."]
        return ["."]

    def _step(self, repository: Repository, operation: ChangeSet) -> Step:
        """Return the commit of one operation. Derived files are written but never committed."""
        return Step(
            edits={c.path: c.content for c in operation.changes if _is_committed(c.path)},
            message=message_of(operation),
            author=author_of(operation.caller, repository.user_signature),
            time=self._seconds(),
        )

    def _adopt(self, edits: Mapping[str, bytes | None]) -> Step:
        """Return the commit of what a person left uncommitted, as theirs."""
        fallback = local_user()
        author = self._repository.user_signature(fallback) if self._repository else fallback
        return Step(edits, edit_message(edits), author, self._seconds())

    def _without_git(
        self, operations: Sequence[ChangeSet], install: Callable[[], None], temporary: Sequence[str]
    ) -> Outcome:
        """Write new files alone. What would replace or remove one is refused, as nothing could keep it."""
        reason = self._unusable or "the repository can't be used"
        for change in (change for operation in operations for change in operation.changes):
            held = _bytes_of(os.path.join(self._root, change.path))
            if held not in (None, change.content):
                raise NotKept(change.path, reason)
        for name in temporary:
            _flush(name)
        install()
        paths = {change.path for operation in operations for change in operation.changes}
        for folder in sorted({os.path.dirname(os.path.join(self._root, path)) for path in paths}):
            _flush(folder)
        return Outcome((), reason)

    def _is_ours(self, path: str) -> bool:
        """Tell whether what a person left at a path is to be committed: a file of a lane that isn't too large."""
        with suppress(OSError):
            return _is_committed(path) and os.lstat(os.path.join(self._root, path)).st_size <= MAX_FILE_BYTES
        return _is_committed(path)  # it is gone

    def _seconds(self) -> int:
        return self._clock.milliseconds() // 1000


def _is_committed(path: str) -> bool:
    """Tell whether a path belongs in git: everything of a lane that other machines are to have too."""
    if path == ATTRIBUTES:
        return True
    located = store_of(path)
    lane = lane_of(located[1]) if located else None
    return lane is not None and lane.synced


def _ignored_by_git() -> list[str]:
    return [
        f"{TEMPORARY_PREFIX}*{TEMPORARY_SUFFIX}",
        *(f"/**/{lane.folder}" for lane in LANES if not lane.synced),
    ]


def _bytes_of(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _flush(path: str) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
