"""Taking another machine's history into the memory tree: merged in memory, then written like any other operation.

Runs on the writer's thread, so that no operation of ours comes in between; a person's edit that does makes it
start again from there. What would be renamed, and which version of a path both sides have changed, depends on
the contents alone, so every machine that merges the same two histories gets the same files.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from coffer.domain.errors import SyncFailed
from coffer.infrastructure.signatures import COFFER, join_message
from coffer.infrastructure.tree_files import Staged, TreeFiles
from coffer.infrastructure.tree_moves import keep_moved
from gitsync.ancestry import contains, only_in
from gitsync.commit import Join, Step, transact
from gitsync.errors import BranchMoved, WorkTreeChanged
from gitsync.merge import Resolved, merge_commits
from gitsync.merge_lines import merge_lines
from gitsync.objects import Objects
from gitsync.plan import Adopt
from gitsync.refs import BRANCH
from gitsync.repo import Repository
from lanes.layout import STORE_FILE, portable_path, store_of
from lanes.merging import conflict_path, merge

MAX_ATTEMPTS = 8
MAX_FOLDERS_OPEN = 200

Check = Callable[[Objects, str, str], None]
"""Looks at the tree before and the tree after; raises what stops the one from becoming the other."""


@dataclass(frozen=True, slots=True)
class Joined:
    """What came in: how many commits, and the names of files that were given others."""

    pulled: int = 0
    renamed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Worked:
    """A join worked out: what changes on disk, and the commits that say so."""

    join: Join
    steps: tuple[Step, ...]
    changes: Mapping[str, str | None]
    renamed: tuple[str, ...]


def join(
    repo: Repository,
    files: TreeFiles,
    adopt: Adopt,
    tip: str,
    over: str | None,
    check: Check,
    now: int,
    forward: bool,
) -> Joined:
    """Take `tip`, whose objects are in the repository, into the branch; nothing if it is there already.

    `over` is a commit to merge over instead of what both have in common; with `forward` nothing is merged, and
    the branch has to be where `tip` comes from. Raises SyncFailed while git isn't free
    or something is in the way, and what `check` raises; then nothing has changed.
    """
    for _ in range(MAX_ATTEMPTS):
        onto = repo.refs.value(BRANCH)
        repo.objects.discard_fresh()
        if onto and contains(repo.objects, onto, tip):
            return Joined()
        if forward and not contains(repo.objects, tip, onto):
            raise SyncFailed(
                "fetch first: the memory has moved on, perhaps by an edit that wasn't committed yet"
            )
        pulled = sum(1 for _ in only_in(repo.objects, tip, onto))
        worked = _work_out(repo.objects, onto, tip, over, pulled, check, now)
        try:
            _land(repo, files, adopt, worked)
            return Joined(pulled, worked.renamed)
        except WorkTreeChanged:
            continue
        except BranchMoved:  # a person has changed one of these files: theirs is committed first
            waiting = transact(repo, (), lambda: None, adopt, paths=list(worked.changes)).pending
            if waiting:
                raise busy(waiting) from None
    raise SyncFailed("Another program keeps changing the memory tree; sync tries again later.")


def _work_out(
    objects: Objects, onto: str | None, tip: str, over: str | None, pulled: int, check: Check, now: int
) -> _Worked:
    before = objects.tree_of(onto)
    merged = merge_commits(objects, onto, tip, _driver, conflict_name, over)
    keep_moved(objects, merged.over, before, objects.tree_of(tip), merged.edits)
    renamed = (*merged.renamed, *_make_portable(objects, before, merged.edits))
    after = objects.add_tree(before, merged.edits)
    check(objects, before, after)

    def step(subject: str, start: str) -> Step:
        edits = {
            path: None if new is None else objects.read(new)
            for path, _, new in objects.differences(start, after)
        }
        return Step(edits, join_message(subject, merged.kept), COFFER, now)

    if over or not contains(objects, tip, onto):
        what = f"{pulled} commit" if pulled == 1 else f"{pulled} commits"
        taken = Join(tip, onto, step(f"sync: take in {what} of the remote", before))
        steps: tuple[Step, ...] = ()
    else:
        taken = Join(tip, onto, None)
        steps = (step("sync: give files names that every machine can hold", objects.tree_of(tip)),)
        steps = steps if steps[0].edits else ()
    return _Worked(taken, steps, merged.edits, renamed)


def _driver(path: str, base: bytes | None, one: bytes | None, other: bytes | None) -> Resolved:
    located = store_of(path)
    folder, inside = located or ("", path)
    merged = merge(inside, base, one, other, merge_lines)
    start = f"{folder}/" if folder else ""
    copy = (start + merged.copy[0], merged.copy[1]) if merged.copy else None
    return Resolved(merged.content, copy, merged.kept)


def conflict_name(path: str, content: bytes) -> str:
    """Return the name of a second file beside the one at a path of the tree."""
    located = store_of(path)
    return f"{located[0]}/{conflict_path(located[1], content)}" if located else conflict_path(path, content)


def _make_portable(objects: Objects, before: str, edits: dict[str, str | None]) -> tuple[str, ...]:
    """Rename what comes in under a name that not every machine can hold; return the new names."""
    renamed = []
    for path, oid in list(edits.items()):
        if oid and store_of(path) and (name := portable_path(path)) != path:
            del edits[path]
            if objects.blob_at(before, path):
                edits[path] = None
            if edits.get(name, objects.blob_at(before, name)) not in (None, oid):
                name = conflict_name(name, objects.read(oid))  # an earlier version came under that name
            edits[name] = oid
            renamed.append(name)
    return tuple(renamed)


def _land(repo: Repository, files: TreeFiles, adopt: Adopt, worked: _Worked) -> None:
    try:
        stamps = {path: files.stamp(path) for path in worked.changes if _is_free(files, path)}
    except OSError as error:
        raise SyncFailed(f"{error.filename} is in the way: {error.strerror or error}.") from error
    # What is new comes before what is replaced: a crash in between leaves a text twice, never not at all.
    contents = {
        path: None if oid is None else repo.objects.read(oid)
        for path, oid in sorted(worked.changes.items(), key=lambda change: stamps[change[0]] is not None)
    }
    staged: list[Staged] = []

    def install() -> None:
        for path, stamp in stamps.items():
            if files.stamp(path) != stamp:
                raise WorkTreeChanged(path)
        while staged:
            files.install(staged[0])
            del staged[0]
        for path, content in contents.items():
            if content is None:
                files.remove(path)

    few = len({path.rpartition("/")[0] for path in contents}) <= MAX_FOLDERS_OPEN
    try:
        os.makedirs(files.root, mode=0o700, exist_ok=True)
        with files.together() if few else nullcontext():
            for path, content in contents.items():
                if content is not None:
                    staged.append(files.stage(path, content))
            temporary = [files.absolute(one.temporary) for one in staged]
            done = transact(repo, worked.steps, install, adopt, temporary, list(contents), worked.join)
    except OSError as error:
        raise SyncFailed(
            f"{error.filename or files.root} can't be written: {error.strerror or error}."
        ) from error
    finally:
        for one in staged:
            files.discard(one)
    if done.pending:
        raise busy(done.pending)
    for store in {located[0] for path in contents if (located := store_of(path))}:
        if files.stamp(f"{store}/{STORE_FILE}") is None:
            files.drop_empty(store)


def busy(reason: str) -> SyncFailed:
    """Return the refusal for as long as a person's own git work is in the way."""
    return SyncFailed(f"Git isn't free in the memory tree: {reason}. Sync tries again later.")


def _is_free(files: TreeFiles, path: str) -> bool:
    """Tell that a path is a file or nothing; raise SyncFailed for anything else, which isn't ours to replace."""
    try:
        mode = os.lstat(files.absolute(path)).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return True
    if not stat.S_ISREG(mode):
        raise SyncFailed(f"{path} is in the way: it isn't a file. Move it elsewhere, then sync goes on.")
    return True
