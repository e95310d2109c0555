"""The daemon killed in the instant after it has said yes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.acceptance.house import ROOT
from tests.faults.home import DAEMON, Home

pytestmark = pytest.mark.faults

ROUNDS = 120


@pytest.mark.report("B22", "B14")
def test_what_was_acknowledged_survives(home: Home) -> None:
    """An agent told "saved" would find its note gone after a crash, or a deleted one back."""
    kept: dict[str, str] = {}
    for number in range(ROUNDS):
        home.start()
        match number % 4:
            case 0 | 1:
                fact = home.remember(f"Note {number} was saved.")
                kept[fact["id"]] = fact["text"]
            case 2:
                edited = list(kept)[-1]
                kept[edited] = home.edit(edited, f"Note {number} was edited.")["text"]
            case 3:
                deleted = list(kept)[-2]
                home.delete(deleted)
                del kept[deleted]
        home.kill()
        if number % 10 == 9:
            home.start()
            assert {fact["id"]: fact["text"] for fact in home.facts()} == kept
            home.kill()
    home.start()
    assert {fact["id"]: fact["text"] for fact in home.facts()} == kept
    subjects = home.git("log", "--format=%an|%(trailers:key=Coffer-Op,valueonly,separator=%x2C)").splitlines()
    assert sorted(subjects) == sorted(
        f"claude-code|{('remember', 'remember', 'edit', 'delete')[number % 4]}" for number in range(ROUNDS)
    )
    home.check()


@pytest.mark.report("B14")
def test_a_deleted_fact_stays_deleted(home: Home) -> None:
    """A fact that its owner deleted would come back out of the index after a crash."""
    fact = home.start().remember("The old wiki is at wiki.example.org.")
    assert home.texts("global", "old wiki")
    home.delete(fact["id"])
    home.restart()
    assert home.texts("global", "old wiki") == []
    assert not Path(fact["path"]).exists()
    home.check()


@pytest.mark.report("B03")
def test_another_installation_finds_the_same_memory(home: Home, tmp_path: Path) -> None:
    """An update or a reinstallation would begin with an empty memory."""
    home.start().remember("The release branch is cut on Thursdays.")
    home.stop()
    elsewhere = tmp_path / "reinstalled"
    for package in ("coffer", "gitsync", "lanes"):
        shutil.copytree(Path(ROOT) / package, elsewhere / package)
    home.environ["PYTHONPATH"] = str(elsewhere)
    home.start(command=DAEMON)
    assert home.texts("global", "release branch") == ["The release branch is cut on Thursdays."]
    assert "release branch" in home.coffer("memory", "recall", "global", "release branch")
    home.check()
