"""One exchange with the remote: fetch, look, take in, look again, hand over. And what is known of the distance.

The network and everything that only reads runs on a thread of its own with its own handle, so a remote that
hangs holds up nobody; only the taking in happens on the writer's thread. A ref below `refs/coffer/synced` names
the last commit that both sides had: by it a branch that was moved back and a remote that was rewritten are told from
ordinary work.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import TypeVar

import trio

from coffer.domain.errors import CofferError, ConfigInvalid, SyncFailed, SyncPaused
from coffer.domain.sync import MOVED_BACK, REWRITTEN, UNRELATED, Exchange
from coffer.infrastructure.clock import time_of
from coffer.infrastructure.signatures import COFFER, kept_in
from coffer.infrastructure.tree_git import GitTree
from coffer.infrastructure.tree_join import Joined, busy
from coffer.infrastructure.tree_vetting import check_outgoing, check_removal, check_tree
from gitsync.ancestry import common_ancestors, contains, only_in
from gitsync.errors import GitError
from gitsync.refs import BRANCH
from gitsync.remote import Incoming, Limits, checked_url, fetch, push, unpack
from gitsync.repo import Repository
from gitsync.serve import Push

T = TypeVar("T")

LIMITS = Limits()
MAX_ROUNDS = 4

Accepted = Collection[tuple[str, str]]
"""What a person has said yes to: the reason, and the commit or blob that it was about."""


class TreeSync:
    """Brings the memory tree at `root` and a remote together."""

    def __init__(self, root: str, tree: GitTree, limits: Limits = LIMITS) -> None:
        self._root = root
        self._tree = tree
        self._limits = limits

    async def check(self, url: str) -> str:
        """Return an address that can be synced with; raises ConfigInvalid."""
        try:
            return await trio.to_thread.run_sync(checked_url, url)
        except GitError as refusal:
            raise ConfigInvalid("url", str(refusal).rstrip(".")) from refusal

    async def exchange(self, url: str, accepted: Accepted) -> Exchange:
        """Make both sides the same; raises SyncPaused where a person has to be asked, SyncFailed otherwise.

        Whatever is raised, and whenever this is cancelled, nothing is lost or half done.
        """
        handed = await self._first_try(url, accepted)
        pulled = Joined()
        for round_number in range(MAX_ROUNDS):
            if round_number and (waiting := await self._tree.adopt_edits()):
                raise busy(waiting)
            if handed is not None and await self._look(partial(_has_nothing_new, url), False):
                return Exchange(pulled.pulled, handed, pulled.renamed)
            tip, over = await self._network(partial(self._fetch, url, accepted))
            if tip is not None:
                check = partial(check_removal, subject=tip, accepted=accepted)
                came = await self._tree.join(tip, over, check)
                pulled = Joined(pulled.pulled + came.pulled, pulled.renamed + came.renamed)
            more = await self._network(partial(self._push, url, tip, accepted))
            if more is not None:
                return Exchange(pulled.pulled, more + (handed or 0), pulled.renamed)
        raise SyncFailed("Other machines keep pushing at the same moment; sync tries again later.")

    async def _first_try(self, url: str, accepted: Accepted) -> int | None:
        """Hand over what is committed while what people left on disk is being committed.

        Return how many commits went out, None where the remote has to be looked at first.
        """
        handed: int | None = None
        problem: CofferError | None = None

        async def hand_over() -> None:
            nonlocal handed, problem
            try:
                handed = await self._network(partial(self._hand_over, url, accepted))
            except CofferError as error:
                problem = error

        async with trio.open_nursery() as nursery:
            nursery.start_soon(hand_over)
            waiting = await self._tree.adopt_edits()
        if problem is not None:
            raise problem
        if waiting:
            raise busy(waiting)
        return handed

    async def kept_since(self, commit: str | None) -> list[tuple[str, str]]:
        """Return path and time for each file that a merge after `commit` kept against a removal."""

        def look(repository: Repository) -> list[tuple[str, str]]:
            commits = only_in(repository.objects, repository.refs.value(BRANCH), commit)
            return [
                (path, time_of(each.time))
                for each in commits
                if len(each.parents) > 1
                for path in kept_in(each.message.decode("utf-8", "replace"))
            ]

        return await self._look(look, [])

    async def tip(self) -> str | None:
        """Return the commit that the branch is at."""
        return await self._look(lambda repository: repository.refs.value(BRANCH), None)

    async def distance(self, url: str) -> tuple[int, int]:
        """Return how many commits this machine has that the remote hasn't, as last seen, and the other way round."""

        def count(repository: Repository) -> tuple[int, int]:
            here, synced = repository.refs.value(BRANCH), repository.refs.value(_synced(url))
            ahead = sum(1 for _ in only_in(repository.objects, here, synced))
            return ahead, sum(1 for _ in only_in(repository.objects, synced, here))

        return await self._look(count, (0, 0))

    async def receive(self, pushed: Push) -> None:
        """Land what the user's own git has pushed; raises SyncFailed or GitError with the reason.

        Only what goes forward from the branch as it is, and never over edits that aren't committed yet.
        """
        await self._tree.adopt_edits()
        await self._network(partial(self._unpack, pushed))
        check = partial(check_removal, subject=pushed.new, accepted=())
        try:
            await self._tree.join(pushed.new, None, check, forward=True)
        except SyncPaused as pause:
            raise SyncFailed("this push would remove too much; delete it by `coffer memory`") from pause

    # ── on the network's thread ───────────────────────────────────────────────────────────────────────────

    def _fetch(self, url: str, accepted: Accepted, stop: threading.Event) -> tuple[str | None, str | None]:
        """Let in what the remote has, if it may come in; return its tip and what to merge over.

        The tip is None where there is nothing to take in.
        """
        repository = self._opened()
        here, synced = repository.refs.value(BRANCH), repository.refs.value(_synced(url))
        with fetch(repository, url, self._limits, stop) as incoming:
            _check_history(incoming, here, synced, accepted)
            if incoming.tip is None:
                return None, None
            objects = incoming.objects
            known = objects.tree_of(synced) if synced else None
            check_tree(objects, known, objects.tree_of(incoming.tip), first=synced is None)
            incoming.admit()
            moved_back = not contains(objects, here, synced)
            return incoming.tip, synced if moved_back else None

    def _hand_over(self, url: str, accepted: Accepted, stop: threading.Event) -> int | None:
        """Push without a look at the remote first, if it is where both were last; None where that isn't so.

        One connection instead of two, in the most frequent case: something was written here, and nothing elsewhere.
        """
        if not Repository.exists(self._root):
            return None
        repository = self._opened()
        here, synced = repository.refs.value(BRANCH), repository.refs.value(_synced(url))
        if here is None or synced is None or here == synced or not contains(repository.objects, here, synced):
            return None
        check_outgoing(repository, here, synced, accepted)
        if not push(repository, url, here, self._limits, stop, expected=synced):
            return None
        repository.refs.put(_synced(url), here)
        return sum(1 for _ in only_in(repository.objects, here, synced))

    def _push(self, url: str, theirs: str | None, accepted: Accepted, stop: threading.Event) -> int | None:
        """Hand over what the remote at `theirs` lacks; return how many commits, None when somebody was faster."""
        repository = self._opened()
        here = repository.refs.value(BRANCH)
        count = 0
        if here is not None and here != theirs:
            count = sum(1 for _ in only_in(repository.objects, here, theirs))
            check_outgoing(repository, here, theirs, accepted)
            if not push(repository, url, here, self._limits, stop):
                return None
        if here is not None:
            repository.refs.put(_synced(url), here)
        return count

    def _unpack(self, pushed: Push, stop: threading.Event) -> None:
        """Let a pushed pack in, if it may come in."""
        repository = self._opened()
        here = repository.refs.value(BRANCH)
        if pushed.old != here:
            raise SyncFailed("fetch first: the memory has moved on")
        with unpack(repository, pushed.pack, pushed.new, self._limits, stop) as incoming:
            objects = incoming.objects
            if not contains(objects, pushed.new, here):
                raise SyncFailed("only what goes forward can be pushed: fetch and merge first")
            check_tree(objects, objects.tree_of(here) if here else None, objects.tree_of(pushed.new))
            incoming.admit()

    def _opened(self) -> Repository:
        return Repository.open(self._root, COFFER)

    async def _look(self, look: Callable[[Repository], T], absent: T) -> T:
        """Return what a look at the repository tells; `absent` where there is none, or it can't be read."""

        def opened() -> T:
            return look(self._opened()) if Repository.exists(self._root) else absent

        try:
            return await trio.to_thread.run_sync(opened, abandon_on_cancel=True)
        except (GitError, OSError):
            return absent

    async def _network(self, work: Callable[[threading.Event], T]) -> T:
        stop = threading.Event()
        try:
            return await trio.to_thread.run_sync(work, stop, abandon_on_cancel=True)
        except (GitError, OSError) as problem:
            raise SyncFailed(f"{problem}") from problem
        finally:
            stop.set()


def _has_nothing_new(url: str, repository: Repository) -> bool:
    return repository.refs.value(BRANCH) == repository.refs.value(_synced(url))


def _synced(url: str) -> str:
    return f"refs/coffer/synced/{hashlib.sha256(url.encode('utf-8', 'replace')).hexdigest()[:16]}"


def _check_history(incoming: Incoming, here: str | None, synced: str | None, accepted: Accepted) -> None:
    """Raise SyncPaused where one side's branch was moved to somewhere else than forward."""
    objects, tip = incoming.objects, incoming.tip
    if not contains(objects, tip, synced):
        met = tip is None or here is None or common_ancestors(objects, here, tip)
        reason = REWRITTEN if met else UNRELATED
        what = (
            "no longer has what both had at the last sync"
            if met
            else "has nothing to do with this one any more"
        )
        if (reason, tip or "") not in accepted:
            raise SyncPaused(
                reason,
                f"The remote's history {what}. With your yes both are joined, and what this machine has is pushed "
                "again.",
                (tip or "",),
            )
    if synced and not contains(objects, here, synced) and (MOVED_BACK, synced) not in accepted:
        raise SyncPaused(
            MOVED_BACK,
            f"The branch main was moved back by hand, before {synced[:12]}, which the remote has. With your yes "
            f"every machine gets the memory as it is here now; `git reset --hard {synced[:12]}` in the memory "
            "tree brings back what was there.",
            (synced,),
        )
