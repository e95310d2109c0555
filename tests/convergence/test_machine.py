"""Three machines that edit apart, sync in any order and are cut off in the middle end with one memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from bench.preloaded import Preloaded
from tests.convergence.daemons import Daemons
from tests.convergence.machine import Machines
from tests.convergence.machine_home import Loop
from tests.convergence.written import Figures


@pytest.fixture
def machines() -> Iterator[type[Machines]]:
    class Some(Machines):
        loop = Loop()
        figures = Figures()

    yield Some
    Some.loop.close()


def test_machines_that_edit_apart_end_with_one_memory(machines: type[Machines]) -> None:
    """Two machines would stay different for good, or a sentence would be gone that nobody had removed."""
    run_state_machine_as_test(
        machines,
        settings=settings(
            max_examples=10,
            stateful_step_count=20,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert machines.figures.lines_lost == machines.figures.divergences == machines.figures.markers == 0
    assert machines.figures.merges > 0


def test_daemons_that_are_killed_end_with_one_memory(tmp_path: Path) -> None:
    """A daemon killed in the middle of a sync would leave its machine behind, or take a sentence with it."""
    preloaded = Preloaded()
    try:
        figures = Daemons(tmp_path, preloaded, seed=1).run(steps=8)
    finally:
        preloaded.close()
    assert figures.lines_lost == figures.divergences == figures.markers == 0
    assert figures.merges > 0
