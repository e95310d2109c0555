"""Whatever happens in whatever order, the memory holds what was acknowledged: a random walk against a dictionary."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from bench.preloaded import Preloaded
from coffer.infrastructure.failpoints import NAMES
from tests import invariants
from tests.faults.home import AGENT, Gone, Home, Json

pytestmark = pytest.mark.faults


class Memory(RuleBasedStateMachine):
    """One home, and what it has to hold: id to text of every fact that was acknowledged and not removed."""

    preloaded: Preloaded
    facts = Bundle("facts")

    def __init__(self) -> None:
        super().__init__()
        shared = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.root = Path(tempfile.mkdtemp(prefix="coffer-model-", dir=shared))
        self.home = Home(self.root, self.preloaded)
        self.held: dict[str, str] = {}
        self.paths: dict[str, Path] = {}
        self.ever: set[str] = set()
        self.count = 0
        self.fresh = False

    def teardown(self) -> None:
        try:
            self.home.texts_of()
            everything = invariants.texts_ever(self.home.tree)
            assert [text for text in self.ever if text not in everything] == []
            edited = self.home.git("status", "--porcelain", "-uall").splitlines()
            self.home.check(status=edited, edited=[line[3:] for line in edited])
        finally:
            self.home.end_all()
            shutil.rmtree(self.root)

    @initialize()
    def begin(self) -> None:
        self.home.start()
        self.keep(self.home.remember("The first fact makes the tree."))

    def text(self) -> str:
        self.count += 1
        return f"Text number {self.count} was said."

    def keep(self, fact: Json) -> str:
        self.held[fact["id"]] = fact["text"]
        self.paths[fact["id"]] = Path(fact["path"])
        self.ever.add(fact["text"])
        return str(fact["id"])

    @rule(target=facts)
    def remember(self) -> str:
        return self.keep(self.home.remember(self.text()))

    @rule(fact=facts)
    def edit(self, fact: str) -> None:
        if fact in self.held:
            self.ever.add(self.held[fact])  # also when a person has just written it
            self.keep(self.home.edit(fact, self.text()))

    @rule(fact=facts)
    def delete(self, fact: str) -> None:
        if fact in self.held:
            self.home.delete(fact)
            self.ever.add(self.held.pop(fact))

    @rule(fact=facts, target=facts)
    def supersede(self, fact: str) -> str:
        old = [fact] if fact in self.held else []
        new = self.home.remember(self.text(), supersedes=old)
        self.ever.update(self.held.pop(one) for one in old)
        return self.keep(new)

    @rule(fact=facts)
    def restore(self, fact: str) -> None:
        versions = self.home.get(f"/memory_stores/global/facts/{fact}/history")
        told = (
            [one for one in versions.json.get("versions", ()) if one["text"]]
            if versions.status == 200
            else []
        )
        if told:
            path = f"/memory_stores/global/facts/{fact}/restore"
            self.keep(self.home.ask("POST", path, {"commit": told[-1]["commit"]}, AGENT).done())

    @rule()
    def clear(self) -> None:
        self.home.ask("DELETE", "/memory_stores/global/facts", None, AGENT).done()
        self.ever.update(self.held.values())
        self.held.clear()

    @rule(fact=facts)
    def edit_by_hand(self, fact: str) -> None:
        if fact in self.held:
            text = self.text()
            path = self.paths[fact]
            path.write_text(path.read_text().replace(self.held[fact], text))
            self.held[fact] = text

    @rule(fact=facts)
    def delete_by_hand(self, fact: str) -> None:
        if fact in self.held:
            self.paths[fact].unlink()
            del self.held[fact]

    @rule()
    def commit_by_hand(self) -> None:
        self.home.git("add", "-A")
        self.home.git("commit", "-q", "-m", "by hand", check=False)

    @rule()
    def kill(self) -> None:
        self.home.restart()

    @rule(fact=facts, point=st.sampled_from(NAMES), removes=st.booleans())
    def kill_at(self, fact: str, point: str, removes: bool) -> None:
        """Be killed while writing: the old or the new, and from here on whichever it was."""
        if fact not in self.held:
            return
        text = self.text()
        try:
            self.home.restart(f"{point}:kill")
            if removes:
                self.home.delete(fact)
            else:
                self.home.edit(fact, text)
        except Gone:
            self.home.restart()
            found = {one["id"]: one["text"] for one in self.home.facts()}.get(fact)
            assert found in {self.held[fact], None if removes else text}
        else:
            self.home.restart()
            found = None if removes else text
        if found is None:
            del self.held[fact]
        else:
            self.held[fact] = found
            self.ever.add(found)

    @invariant()
    def holds_what_was_acknowledged(self) -> None:
        if self.home.started:
            assert {fact["id"]: fact["text"] for fact in self.home.facts()} == self.held


def test_any_order_of_anything(preloaded: Preloaded) -> None:
    """Two troubles that are harmless alone would together cost a text."""
    machine = type("MemoryAt", (Memory,), {"preloaded": preloaded})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
