"""The machine's clock, and ids that keep growing even when that clock is set back."""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime

from lanes.names import ulid


class SystemClock:
    """Time and ids of this machine. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._tail = b""

    def now(self) -> str:
        return time_of(int(time.time()))

    def milliseconds(self) -> int:
        with self._lock:
            self._last = max(self._last, time.time_ns() // 1_000_000)
            return self._last

    def elapsed(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        """Return a ULID above every earlier one of this process: within a millisecond the tail counts on."""
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now > self._last or not self._tail:
                self._last, self._tail = max(now, self._last), os.urandom(10)
            else:
                number = (int.from_bytes(self._tail, "big") + 1 + os.urandom(1)[0]) % (1 << 80)
                self._tail = number.to_bytes(10, "big")
            return ulid(self._last, self._tail)


def time_of(seconds: int) -> str:
    """Return a Unix time as ISO 8601 UTC in whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
