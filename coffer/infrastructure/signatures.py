"""Who a commit says it is by, and the words of its message."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Callable, Mapping, Sequence

from coffer.domain.changes import ChangeSet
from coffer.domain.facts import Caller
from gitsync.repo import Signature
from lanes.names import single_line, slug

KEPT = "Coffer-Kept: "
COFFER = Signature("Coffer", "coffer@localhost")


def local_user() -> Signature:
    """Return the login name at this machine, for a user without a git identity."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = "user"
    return Signature(login, f"{login}@{socket.gethostname() or 'localhost'}")


def author_of(caller: Caller, user: Callable[[Signature], Signature]) -> Signature:
    """Return a commit's author: an agent under its own name, a person as `user` makes of their login."""
    if caller.actor == "user":
        return user(local_user())
    if caller.actor == "system":
        return COFFER
    agent = _agent(caller)
    return Signature(agent, f"{slug(agent)}@coffer.localhost")


def message_of(operation: ChangeSet) -> str:
    """Return a subject that reads like a sentence and the trailers that history is told from."""
    caller = operation.caller
    trailers = {"Coffer-Op": operation.op, "Coffer-Store": operation.store, "Coffer-Actor": caller.actor}
    if caller.actor == "agent":
        trailers["Coffer-Agent"] = _agent(caller)
    if caller.session:
        trailers["Coffer-Session"] = single_line(caller.session)[:200]
    return _message(operation.subject, trailers)


def join_message(subject: str, kept: Sequence[str]) -> str:
    """Return the message of a commit that takes in another machine's; `kept` are paths that it had removed."""
    told = "".join(f"{KEPT}{path}\n" for path in kept)
    return _message(subject, {"Coffer-Op": "sync", "Coffer-Actor": "system"}) + told


def kept_in(message: str) -> list[str]:
    """Return the paths that a commit of `join_message` names as kept."""
    return [line.removeprefix(KEPT) for line in message.splitlines() if line.startswith(KEPT)]


def edit_message(edits: Mapping[str, bytes | None]) -> str:
    """Return the message for what a person changed with an editor or with their own git."""
    paths = sorted(edits)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return _message(f"edit: {paths[0]}{more} by hand", {"Coffer-Op": "edit", "Coffer-Actor": "user"})


def _agent(caller: Caller) -> str:
    return single_line(caller.agent or "")[:100] or "agent"


def _message(subject: str, trailers: Mapping[str, str]) -> str:
    lines = [single_line(subject), "", *(f"{key}: {value}" for key, value in trailers.items())]
    return "\n".join(lines) + "\n"
