"""Doctor: everything that a person should know about this memory's health, in one list."""

from __future__ import annotations

from coffer.domain.activity import Finding
from coffer.domain.ports import Ports


async def diagnose(ports: Ports) -> list[Finding]:
    """Return findings on the repository and the index, after every store was brought up to date."""
    for store in await ports.tree.stores():
        await ports.index.refresh(store)
    return [*await ports.tree.findings(), *await ports.index.findings()]
