"""The exchange with the remote that all machines of a user share: get what it has, hand over what it lacks.

Nothing that is fetched reaches the repository before `Incoming.admit`, and no push is ever forced. Every call ends
by its deadline, and when the event `stop` is set; then nothing that it has started is left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Event

from gitsync.errors import RemoteFailed, RemoteRefused
from gitsync.git_program import (
    SPOKEN,
    environment,
    fetch_command,
    heads_command,
    push_command,
    unpack_command,
)
from gitsync.guarded import Ended, run
from gitsync.quarantine import TIP, Incoming
from gitsync.refs import Refs
from gitsync.remote_address import checked_url
from gitsync.remote_said import declined, failure, last_words, not_git
from gitsync.repo import Repository
from gitsync.scratch import write_new

__all__ = ["Incoming", "Limits", "checked_url", "fetch", "push", "unpack"]

# What other programs than git's say when somebody else has moved the branch at the same moment.
_RACE = re.compile(
    r"fetch first|non-fast-forward|stale info|cannot lock ref|failed to (?:update|lock)|lock error"
    r"|incorrect old value|reference already exists|but expected"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an exchange may take, and how many bytes (packed) and objects may come."""

    seconds: float = 120.0
    size: int = 512 << 20
    objects: int = 2_000_000


def fetch(repo: Repository, url: str, limits: Limits, stop: Event) -> Incoming:
    """Get what the remote's main has and this repository hasn't; close what is returned.

    Its tip is None where the remote is empty. Raises RemoteFailed, RemoteRefused for an address that isn't used
    or a remote with other branches alone, and Damaged.
    """
    url = checked_url(url)
    with ExitStack() as undo:
        incoming = undo.enter_context(Incoming(repo))
        check = partial(incoming.check, limits.size, limits.objects)
        talk = partial(_talk, repo, url, limits, stop, check)
        ended = talk(fetch_command(repo, incoming.folder, url))
        if ended.status == 0:
            check()
            tip = Refs(incoming.folder).value(TIP)
            if tip is None:  # such as a history that the remote itself has but the end of
                raise failure(ended.err, url)
            incoming.has_come(tip)
        elif "couldn't find remote ref" not in ended.err:
            raise failure(ended.err, url)
        else:
            heads = talk(heads_command(repo, incoming.folder, url))
            if heads.status:
                raise failure(heads.err, url)
            if SPOKEN not in heads.err:
                raise not_git()
            if heads.out.strip():
                raise RemoteRefused(
                    "The remote has branches, but no main. Give an empty repository, or name its branch main."
                )
        undo.pop_all()
        return incoming


def push(
    repo: Repository, url: str, tip: str, limits: Limits, stop: Event, expected: str | None = None
) -> bool:
    """Move the remote's main forward to `tip`; False when somebody was faster and has to be fetched first.

    With `expected`, an ancestor of `tip`, only if the remote is exactly there, so that nothing has to be fetched
    before. Raises RemoteFailed and RemoteRefused.
    """
    url = checked_url(url)
    ended = _talk(repo, url, limits, stop, lambda: None, push_command(repo, url, tip, expected))
    for line in ended.out.splitlines():
        flag, *fields = line.split("\t")
        if flag == "!" and fields:
            if _RACE.search(fields[-1]):
                return False
            raise declined(fields[-1], ended.err)
    if ended.status:
        raise failure(ended.err, url)
    return True


def unpack(repo: Repository, pack: bytes, tip: str, limits: Limits, stop: Event) -> Incoming:
    """Take what somebody has pushed, and hold it like what was fetched; raises RemoteFailed and Damaged."""
    count = int.from_bytes(pack[8:12], "big")
    if len(pack) > limits.size or count > limits.objects:
        raise RemoteFailed("That is more than can be pushed at once.", "size")
    with ExitStack() as undo:
        incoming = undo.enter_context(Incoming(repo))
        if count:  # a branch that moves to what is here already comes with an empty pack
            source = os.path.join(incoming.folder, "pushed")
            write_new(source, pack)
            command = unpack_command(repo, incoming.folder, limits.size)
            ended = run(command, environment(repo), limits.seconds, stop, source=source)
            if ended.status:
                raise RemoteFailed(f"What was pushed can't be read: {last_words(ended.err)}.")
        incoming.has_come(tip)
        undo.pop_all()
        return incoming


def _talk(
    repo: Repository, url: str, limits: Limits, stop: Event, check: Callable[[], None], command: list[str]
) -> Ended:
    return run(command, environment(repo, url), limits.seconds, stop, check)
