"""The engine of a Coffer that no model is connected to."""

from __future__ import annotations

from coffer.domain.merges import Evidence, Verdict


class NoEngine:
    """Never available, judges nothing."""

    async def available(self) -> bool:
        return False

    async def same_project(self, one: Evidence, other: Evidence) -> Verdict | None:
        return None
