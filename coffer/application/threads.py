"""Work that would hold up everybody else's answers: reading files, and taking long texts apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import trio

T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, done on a worker thread."""
    return await trio.to_thread.run_sync(work)
