"""Named places on the write path where a test can stop, delay or fail the process.

Nothing happens unless the program was started with `COFFER_FAILPOINT=<name>:<action>`, where the action is
`kill` (SIGKILL to itself), `sleep=<seconds>`, or `raise=<errno name>`. `<name>@<n>` acts at the n-th time only.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable

NAMES = (
    "before-temp",
    "temp-written",
    "blob",
    "tree",
    "commit-object",
    "flushed",
    "lock-taken",
    "renamed",
    "dir-synced",
    "new-index",
    "index-swapped",
    "ref-moved",
    "unlocked",
    "sql-begun",
    "sql-committed",
    "acked",
)

Reached = Callable[[str], None]


def ignore(name: str) -> None:
    """Pass every failpoint."""


def from_setting(setting: str | None) -> Reached:
    """Return the function that the write path calls at each named place; `ignore` without a setting."""
    if not setting:
        return ignore
    place, _, action = setting.partition(":")
    name, _, count = place.partition("@")
    if name not in NAMES:
        raise ValueError(f"COFFER_FAILPOINT: {name!r} isn't one of {', '.join(NAMES)}")
    left = [int(count or 1)]
    every_time = not count

    def reached(point: str) -> None:
        if point != name:
            return
        left[0] -= 1
        if left[0] > 0 or (left[0] < 0 and not every_time):
            return
        _act(action)

    return reached


def _act(action: str) -> None:
    verb, _, value = action.partition("=")
    if verb == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif verb == "sleep":
        time.sleep(float(value))
    elif verb == "raise":
        number = getattr(errno, value)
        raise OSError(number, os.strerror(number))
    else:
        raise ValueError(f"COFFER_FAILPOINT: {action!r} isn't kill, sleep=… or raise=…")
