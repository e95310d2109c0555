"""The repository for another git over smart HTTP: what it is offered, and how it is answered.

Only the branch and HEAD are offered, whatever else the repository has. Reading is git's own `upload-pack`, or
dulwich's where there is no git program. A push is taken apart here, as `receive-pack` has no way to land it
without touching the work tree: the formats are those of git's `gitprotocol-pack`.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gitsync.errors import GitError
from gitsync.refs import BRANCH, NO_COMMIT
from gitsync.repo import Repository

_FLUSH = b"0000"
_OFFERED = "report-status ofs-delta object-format=sha1 agent=coffer"
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "transfer.hideRefs=refs/",
    f"transfer.hideRefs=!{BRANCH}",
    "uploadpack.allowFilter=true",
)


class NotAPush(GitError):
    """A request that isn't the push of one branch."""


@dataclass(frozen=True, slots=True)
class Push:
    """What somebody wants: the branch from `old` to `new`, and the pack with what that takes."""

    old: str | None
    new: str
    pack: bytes


def upload_command(folder: str, advertise: bool) -> list[str] | None:
    """Return the command that answers a reader of the repository in `folder`; None without a git program."""
    git = shutil.which("git")
    if git is None:
        return None
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    return [
        git,
        *settings,
        "upload-pack",
        "--strict",
        "--stateless-rpc",
        *(["--advertise-refs"] if advertise else []),
        folder,
    ]


def announced(service: str) -> bytes:
    """Return what comes before the refs of a service."""
    return _line(f"# service={service}\n".encode()) + _FLUSH


def push_refs(repo: Repository) -> bytes:
    """Return what somebody who wants to push is offered."""
    tip = repo.refs.value(BRANCH)
    name = BRANCH if tip else "capabilities^{}"
    return _line(f"{tip or NO_COMMIT} {name}\0{_OFFERED}\n".encode()) + _FLUSH


def read_push(body: bytes) -> Push:
    """Take a push apart; raises NotAPush for anything but one move of our branch."""
    commands, at = [], 0
    while body[at : at + 4] != _FLUSH:
        try:
            size = int(body[at : at + 4], 16)
        except ValueError:
            raise NotAPush("that isn't a push") from None
        if size <= 4 or at + size > len(body):
            raise NotAPush("that isn't a push")
        commands.append(body[at + 4 : at + size].partition(b"\0")[0].strip().decode("utf-8", "replace"))
        at += size
    if len(commands) != 1 or len(words := commands[0].split(" ")) != 3:
        raise NotAPush(f"only {BRANCH} can be pushed, and nothing beside it")
    old, new, ref = words
    if ref != BRANCH:
        raise NotAPush(f"only {BRANCH} can be pushed")
    if new == NO_COMMIT:
        raise NotAPush("the branch can't be deleted")
    return Push(None if old == NO_COMMIT else old, new, body[at + 4 :])


def report(refusal: str | None) -> bytes:
    """Return what whoever pushed is told: that it landed, or why it didn't."""
    said = f"ng {BRANCH} {' '.join(refusal.split())}" if refusal else f"ok {BRANCH}"
    return _line(b"unpack ok\n") + _line(f"{said}\n".encode()[:60_000]) + _FLUSH


def upload_by_library(folder: str, request: bytes, advertise: bool) -> Iterator[bytes]:
    """Answer a reader without a git program."""
    from dulwich.protocol import ReceivableProtocol  # slow to import, and rarely needed
    from dulwich.repo import Repo
    from dulwich.server import DictBackend, UploadPackHandler

    written: list[bytes] = []
    repo: Any = Repo(folder)
    with repo:
        # A second symbolic ref makes some versions of git run amok.
        offered = {name: oid for name, oid in repo.get_refs().items() if name in (b"HEAD", BRANCH.encode())}
        repo.get_refs = lambda: offered
        repo.refs.get_symrefs = lambda: {b"HEAD": BRANCH.encode()}
        protocol = ReceivableProtocol(io.BytesIO(request).read, written.append)
        backend: Any = DictBackend({"/": repo})
        options: Any = {"stateless_rpc": True, "advertise_refs": advertise}
        UploadPackHandler(backend, ["/"], protocol, **options).handle()
    yield from written


def _line(data: bytes) -> bytes:
    return b"%04x%b" % (len(data) + 4, data)
