from __future__ import annotations

import pytest

from lanes import LANES, lane_of


def test_each_lane_stands_in_the_table_once() -> None:
    """A lane missing from the table, or twice in it, would be treated by chance."""
    names = [lane.name for lane in LANES]

    assert names == ["inbox", "topic", "index", "rules", "journal", "handoff", "superseded", "log", "store"]
    assert len({lane.folder for lane in LANES}) == len(LANES)


def test_traits_of_the_lanes() -> None:
    """Recall would show the archive, or sync would carry files that belong to one machine."""
    assert {"inbox", "topic", "journal"} == {lane.name for lane in LANES if lane.recalled}
    assert {"index", "log"} == {lane.name for lane in LANES if not lane.synced}
    assert {"index"} == {lane.name for lane in LANES if lane.derived}
    assert {"inbox", "topic"} == {lane.name for lane in LANES if lane.counted}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("knowledge/inbox/2026-11/deploys-7v6b1ca0.md", "inbox"),
        ("knowledge/inbox/by hand.md", "inbox"),
        ("knowledge/deploy.md", "topic"),
        ("knowledge/deep/er/deploy.MD", "topic"),
        ("knowledge/cafe\u0301.md", "topic"),
        ("knowledge/deploy.conflict-0a1b2c3d.md", "topic"),
        ("knowledge/INDEX.md", "index"),
        ("knowledge/index.md", "index"),
        ("rules/rules.md", "rules"),
        ("rules/git/commit.md", "rules"),
        ("journal/2026-11-30.md", "journal"),
        ("handoff/main.md", "handoff"),
        ("superseded/deploy-20261130T101500Z.md", "superseded"),
        ("consolidation-log.md", "log"),
        ("store.yaml", "store"),
    ],
)
def test_files_belong_to_their_lane(path: str, name: str) -> None:
    """A fact in the wrong lane is not recalled, or a rule is."""
    lane = lane_of(path)

    assert lane is not None
    assert name == lane.name


@pytest.mark.parametrize(
    "path",
    [
        "",
        "notes.md",
        "MEMORY.md",
        "knowledge",
        "knowledge/",
        "knowledge/picture.png",
        "knowledge/.obsidian/cache.md",
        "knowledge/.#deploy.md",
        "knowledge/../store.md",
        "knowledge//deploy.md",
        "knowledge\\deploy.md",
        "/knowledge/deploy.md",
        "journal/notes.md",
        "journal/2026/2026-11-30.md",
        "handoff/deep/main.md",
        "rules.md",
    ],
)
def test_other_files_are_left_alone(path: str) -> None:
    """Loose, hidden and foreign files of the user would turn up in recall."""
    assert lane_of(path) is None
