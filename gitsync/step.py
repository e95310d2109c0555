"""One change with its author, which becomes one commit; and another history that the branch takes in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Signature:
    """Who wrote or committed something."""

    name: str
    email: str

    def line(self, time: int) -> bytes:
        """Return name, address and time in UTC as a commit holds them, without what git forbids there."""
        name, email = (
            "".join(c for c in text if c >= " " and c not in "<>").strip() for text in (self.name, self.email)
        )
        return f"{name or 'unknown'} <{email}> {max(0, time)} +0000".encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Step:
    """Exactly one commit: the new bytes of each path, None where it is removed, and who did it, when and why."""

    edits: Mapping[str, bytes | None]
    message: str
    author: Signature
    time: int


@dataclass(frozen=True, slots=True)
class Join:
    """Another history to take in, worked out against the branch at `onto` and refused anywhere else.

    With a step, its edits on top of `onto` become a commit with both as parents. Without one the branch moves
    up to `commit`, which has to descend from `onto`.
    """

    commit: str
    onto: str | None
    step: Step | None
