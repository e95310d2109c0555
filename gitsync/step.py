"""One change with its author, which becomes one commit."""

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
