from __future__ import annotations

import pytest

from lanes.times import utc_time


@pytest.mark.report("B82")
@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z"),
        ("2026-12-01T00:30:00.999+01:00", "2026-11-30T23:30:00Z"),
        ("2026-11-30T23:30:00-08:00", "2026-12-01T07:30:00Z"),
        ("2026-11-30 10:00", "2026-11-30T10:00:00Z"),
        ("2026-11-30", "2026-11-30T00:00:00Z"),
        ("0001-01-01T00:00:00+01:00", None),
        ("2026-02-30T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_times_are_brought_to_utc(text: str, time: str | None) -> None:
    """Entries of two zones would stand in the wrong order, or a broken time would stop the reader."""
    assert time == utc_time(text)
