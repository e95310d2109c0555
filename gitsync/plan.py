"""What a transaction is going to commit, worked out before any lock is taken.

On top of the branch come, in this order: the chains that wait (see `records`), what a person left uncommitted
in the paths that are touched, as theirs, another history that is taken in, and one commit for each step.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise

from gitsync import worktree
from gitsync.errors import Blocked, BranchMoved, Damaged
from gitsync.loose import write_object
from gitsync.objects import Commit, Edits, blob_id
from gitsync.packfile import write_pack
from gitsync.records import Record, records, write_record
from gitsync.refs import BRANCH
from gitsync.repo import Repository
from gitsync.step import Join, Step

# Above this many new objects, one pack is cheaper to write and to flush than as many files.
_LOOSE_AT_MOST = 40
_POINTS = {b"blob": "blob", b"tree": "tree", b"commit": "commit-object"}
_UNKNOWN = "unknown"  # stands for the id of something that isn't a plain file

Adopt = Callable[[Mapping[str, bytes | None]], Step]
"""Makes the step that commits, as the user's, what is on disk at some paths."""


class Plan:
    """A chain of commits on top of the branch; its making raises Damaged where git's data can't be read."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._objects = repo.objects
        self._objects.discard_fresh()
        self.base = self.tip = repo.refs.value(BRANCH)
        self.base_tree = self._tree = self._objects.tree_of(self.base)
        self.commits: list[Commit] = []
        self.ids: list[str | None] = []
        self.changes: dict[str, str | None] = {}
        # Every version that a waiting chain gives a path: a crash of ours may have left it in git's index.
        self.versions: defaultdict[str, set[str | None]] = defaultdict(set)
        self.record: Record | None = None
        self._waiting = records(repo.scratch)
        self._read: dict[str, tuple[str | None, bytes | None]] = {}

    def fill(
        self, steps: Sequence[Step], adopt: Adopt, paths: Iterable[str] = (), join: Join | None = None
    ) -> None:
        """Work out the chain for `join` and `steps`; also adopt what is uncommitted in their paths and `paths`.

        Raises OSError when a file of the work tree can't be read, BranchMoved when `join` comes too late.
        """
        for record in self._waiting:
            self._replay(record)
        early = self._repo.unprepared
        last = {path: data for step in early for path, data in step.edits.items()}
        there = {path for path, data in last.items() if self._on_disk(path)[0] == _id(data)}
        for step in early:
            self._add_step(step, {path: step.edits[path] for path in step.edits.keys() & there})
        touched = dict.fromkeys(path for path, _, _ in self._objects.differences(self.base_tree, self._tree))
        undone = self._repo.recent.dropped_from_branch(self._objects, self.base, self.base_tree)
        touched |= dict.fromkeys([*last, *undone, *paths, *(path for step in steps for path in step.edits)])
        foreign = self._foreign(touched)
        if foreign:
            step = adopt(foreign)
            self._add_step(step, step.edits)
        if join:
            self._join(join)
        self.ids = [self._add_step(step, step.edits) for step in steps]
        self.changes = {path: new for path, _, new in self._objects.differences(self.base_tree, self._tree)}

    def write(self) -> list[str]:
        """Write the new objects and the record of the chain; return the files. Nothing refers to them yet."""
        repo, fresh = self._repo, self._objects.fresh
        folder = os.path.join(repo.folder, "objects")
        os.makedirs(repo.scratch, mode=0o700, exist_ok=True)
        packed = len(fresh) > _LOOSE_AT_MOST
        files = []
        if packed:
            files = write_pack(fresh, self._objects.bases, repo.scratch, os.path.join(folder, "pack"))
        for kind, point in _POINTS.items():
            for oid, (of, content) in () if packed else fresh.items():
                if of == kind:
                    files.append(write_object(oid, kind, content, repo.scratch, folder))
            repo.reached(point)
        self._objects.discard_fresh()
        assert self.tip is not None
        self.record = write_record(repo.scratch, self.base, self.tip)
        return [*files, self.record.path]

    def settle(self, committed: bool) -> None:
        """Note what became of the chain once its files are in place."""
        if committed or self.record:
            self._repo.unprepared.clear()
            for record in self._waiting:
                if record != self.record:
                    record.drop()
        if self.record and committed:
            self.record.drop()
        elif self.record:
            with suppress(OSError):  # then it is found again as one of which that isn't known
                self.record.keep()

    def discard(self) -> None:
        """Forget the chain: nothing of it was put in place, unless it is one that was waiting before."""
        if self.record and self.record not in self._waiting:
            self.record.drop()

    def _replay(self, record: Record) -> None:
        """Take up a chain that waits, on whatever the branch has become since.

        Of a path that was committed otherwise meanwhile, the later version stays. A chain whose files may not
        have been put in place counts only where disk or index show that they were.
        """
        objects = self._objects
        try:
            commits = self._chain(record)
            trees = [objects.tree_of(record.base), *(commit.tree for commit in commits)]
            diffs = [list(objects.differences(old, new)) for old, new in pairwise(trees)]
        except Damaged:
            return  # somebody pruned it: what is on disk will be adopted
        for path, _, new in chain.from_iterable(diffs):
            self.versions[path].add(new)
        last = {path: new for path, _, new in chain.from_iterable(diffs)}
        there = {path for path, new in last.items() if record.installed or self._is_in_place(path, new)}
        if record.base == self.tip and there == last.keys():
            self.commits += commits
            self.tip, self._tree = record.tip, trees[-1]
            return
        for commit, diff in zip(commits, diffs):
            edits = {
                path: new
                for path, old, new in diff
                if path in there and objects.blob_at(self._tree, path) == old
            }
            self._add(edits, commit.author, commit.time, commit.message)

    def _chain(self, record: Record) -> list[Commit]:
        """Return the commits of a chain, oldest first; of one that took in another history, the last alone."""
        try:
            commits = self._objects.first_parents(record.tip, record.base)
            if all(len(commit.parents) < 2 for commit in commits):
                return commits
        except Damaged:
            pass
        return [self._objects.commit(record.tip)]

    def _join(self, join: Join) -> None:
        if self.tip != join.onto:
            raise BranchMoved("the branch has moved on")
        if join.step:
            self._add_step(join.step, join.step.edits, join.commit)
        else:
            commit = self._objects.commit(join.commit)
            self.commits.append(commit)
            self.tip, self._tree = commit.id, commit.tree

    def _is_in_place(self, path: str, oid: str | None) -> bool:
        if self._on_disk(path)[0] == oid:
            return True
        try:
            return self._repo.index.load() and self._repo.index.id_of(path) == oid
        except (Blocked, Damaged):
            return False

    def _foreign(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Return what is on disk at those paths that neither the chain nor what is checked out accounts for."""
        head = self._repo.head()
        foreign = {}
        for path in paths:
            oid, data = self._on_disk(path)
            accounted = {_UNKNOWN, self._objects.blob_at(self._tree, path)}
            if head != self.base:  # another branch's version isn't anybody's edit
                accounted.add(self._objects.blob_at(self._objects.tree_of(head), path))
            if oid not in accounted:
                foreign[path] = data
        return foreign

    def _on_disk(self, path: str) -> tuple[str | None, bytes | None]:
        if path not in self._read:
            try:
                found = worktree.read(self._repo.root, path)
                self._read[path] = (blob_id(found[0]), found[0]) if found else (None, None)
            except worktree.NotAFile:
                self._read[path] = (_UNKNOWN, None)
        return self._read[path]

    def _add_step(
        self, step: Step, edits: Mapping[str, bytes | None], joined: str | None = None
    ) -> str | None:
        message = step.message.replace("\0", "").rstrip("\n") + "\n"
        blobs = {path: None if data is None else self._objects.add_blob(data) for path, data in edits.items()}
        author = step.author.line(step.time)
        return self._add(blobs, author, step.time, message.encode("utf-8", "replace"), joined)

    def _add(
        self, edits: Edits, author: bytes, time: int, message: bytes, joined: str | None = None
    ) -> str | None:
        """Add a commit unless it would change nothing and joins nothing; return the id of the last one."""
        tree = self._objects.add_tree(self._tree, edits)
        if tree != self._tree or joined:
            committer = self._repo.committer.line(time)
            parents = tuple(parent for parent in (self.tip, joined) if parent)
            oid = self._objects.add_commit(tree, parents, author, committer, message)
            self.commits.append(Commit(oid, tree, parents, author, time, message))
            self.tip, self._tree = oid, tree
        return self.tip


def _id(data: bytes | None) -> str | None:
    return None if data is None else blob_id(data)
