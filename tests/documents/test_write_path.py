"""architecture.md tells the write path as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from coffer.application.recall import recall
from coffer.application.remember import NewFact, remember
from coffer.bootstrap import open_ports
from coffer.domain.facts import Caller
from coffer.domain.stores import GLOBAL
from coffer.infrastructure import failpoints
from tests.documents.pages import quoted, read, rows, section


async def test_failpoints_are_told_in_the_order_in_which_they_are_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks for what a crash left would look at the wrong step, or a failpoint would never be reached."""
    reached: list[str] = []
    monkeypatch.setattr(failpoints, "from_setting", lambda setting: reached.append)
    async with open_ports(str(tmp_path), {}) as ports:
        await remember(ports, Caller(), GLOBAL, NewFact("Water boils at 100 degrees."))
        await recall(ports, [GLOBAL], "boils")
    told = [quoted(row[1])[0] for row in rows(section(read("architecture.md"), "## The write path"))]
    assert told == list(dict.fromkeys(reached))
    assert sorted(told) == sorted(failpoints.NAMES)
