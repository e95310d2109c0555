"""Time and ids."""

from __future__ import annotations

import time

import pytest

from coffer.infrastructure.clock import SystemClock
from lanes.names import is_ulid


def test_ids_keep_growing() -> None:
    """Facts of the same millisecond would list in a random order, or share an id."""
    clock = SystemClock()
    ids = [clock.new_id() for _ in range(5000)]
    assert ids == sorted(set(ids))
    assert all(map(is_ulid, ids))


def test_ids_grow_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A corrected clock would put new facts before old ones."""
    clock = SystemClock()
    first = clock.new_id()
    monkeypatch.setattr(time, "time_ns", lambda: 1)
    assert first < clock.new_id() < clock.new_id()
