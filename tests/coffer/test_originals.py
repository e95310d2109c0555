"""The way back for another program's file, and how a change of one is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coffer.domain.agents import Agent
from coffer.domain.originals import Original, original
from coffer.domain.short_diff import short_diff
from coffer.infrastructure.agent_registry import SqliteAgents
from coffer.infrastructure.state import SqliteState

TEXTS = st.none() | st.binary(max_size=40) | st.lists(st.sampled_from([b"a", b"b", b"\n"])).map(b"".join)


@given(before=TEXTS, after=TEXTS)
def test_every_file_finds_its_way_back(before: bytes | None, after: bytes | None) -> None:
    """A file would be put back as something that it never was."""
    way_back = original(before, after)
    assert way_back.fits(after)
    assert way_back.found(after) == before


@given(before=TEXTS, after=TEXTS, now=TEXTS)
def test_a_file_that_was_edited_has_none(
    before: bytes | None, after: bytes | None, now: bytes | None
) -> None:
    """What its owner wrote since would be overwritten."""
    assert original(before, after).fits(now) == (now == after)


def test_only_what_differs_is_kept() -> None:
    """A copy of the person's keys would lie in Coffer's own files."""
    before = b'{"token": "mine", "mcpServers": {}, "other": "mine"}'
    way_back = original(before, before.replace(b"{}", b'{"coffer": 1}'))
    assert (way_back.middle, way_back.found(before.replace(b"{}", b'{"coffer": 1}'))) == (b"", before)


async def test_the_way_back_outlasts_a_restart(tmp_path: Path) -> None:
    """After a restart of the daemon no file could be put back as it was."""
    ways = {"/a": original(None, b"x"), "/b": original(b"\x00old", b"new"), "/c": original(b"", b"")}
    agent = Agent("ada", "codex", "/c", True, False)
    state = SqliteState(str(tmp_path / "state.sqlite"), lambda: "2026-11-30T12:00:00Z")
    await state.open()
    agents = SqliteAgents(state)
    for path, way_back in {**ways, "/d": original(b"1", b"2")}.items():
        agents.keep_original(path, way_back)
    agents.keep_original("/d", None)
    await agents.save(agent, "{}")
    await state.close()

    state = SqliteState(str(tmp_path / "state.sqlite"), lambda: "2026-11-30T12:00:00Z")
    await state.open()
    agents = SqliteAgents(state)
    found: dict[str, Original] = dict(await agents.originals())
    assert found == ways
    assert (await agents.all(), await agents.native_prior("ada")) == ([agent], "{}")
    await agents.remove("ada")
    assert await agents.all() == [] and await agents.native_prior("ada") is None
    await state.close()


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (None, b"{}\n", "+ {}"),
        (b"{}\n", None, "- {}"),
        (b"a\nb\nc\n", b"a\nB\nc\n\nd\n", "- b\n+ B\n+\n+ d"),
        (b"a", b"a", ""),
        (b"\xffa\n", b"\xffb\n", "- \ufffda\n+ \ufffdb"),
    ],
)
def test_a_change_is_shown_by_its_lines(before: bytes | None, after: bytes | None, shown: str) -> None:
    """A person would say yes to a change that they didn't see."""
    assert short_diff(before, after) == shown


def test_a_file_in_one_line_is_shown_by_what_is_new() -> None:
    """The screen would be full of what stays, keys and all."""
    packed = json.dumps({str(number): number for number in range(200)}).encode()
    assert short_diff(packed, packed[:-1] + b', "mcp": {}}') == '+ …, "mcp": {}…'
