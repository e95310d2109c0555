"""The one form of a time that Coffer writes and compares."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_time(text: str) -> str | None:
    """Bring an ISO 8601 time of any precision and zone to whole seconds of UTC; None when it isn't one.

    A time without a zone is taken as UTC.
    """
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None, microsecond=0).isoformat() + "Z"
