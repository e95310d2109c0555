"""What another program's file held before Coffer changed it, kept as no more than what differs."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Original:
    """The way back from what Coffer left in a file to what it had found there.

    `written` tells what Coffer left, by its hash: a file that somebody edited since isn't put back by this.
    `middle` stands for what is now between the first `head` and the last `tail` bytes; None means that
    there was no file. The rest of the file, which may hold what nobody should copy, isn't kept.
    """

    written: str
    head: int
    tail: int
    middle: bytes | None

    def fits(self, content: bytes | None) -> bool:
        """Return whether `content` is what Coffer left."""
        return self.written == _mark(content)

    def found(self, content: bytes | None) -> bytes | None:
        """Return what Coffer had found in the file that holds `content` now, which has to fit."""
        if self.middle is None:
            return None
        now = content or b""
        return now[: self.head] + self.middle + now[len(now) - self.tail :]


def original(before: bytes | None, after: bytes | None) -> Original:
    """Return the way back from `after` to `before`."""
    if before is None:
        return Original(_mark(after), 0, 0, None)
    new = after or b""
    head = _shared(before, new)
    tail = _shared(before[head:][::-1], new[head:][::-1])
    return Original(_mark(after), head, tail, before[head : len(before) - tail])


def _mark(content: bytes | None) -> str:
    return "absent" if content is None else sha256(content).hexdigest()


def _shared(one: bytes, other: bytes) -> int:
    """Return how many bytes two texts have in common at their beginning."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same
