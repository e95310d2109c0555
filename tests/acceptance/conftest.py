"""The house that tests share, and one of its own for those that stop or break it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.house import House


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house for a whole module: each test takes projects and words of its own."""
    house = House(tmp_path_factory.mktemp("house"))
    try:
        yield house.start()
    finally:
        house.stop()


@pytest.fixture
def own_house(tmp_path: Path) -> Iterator[House]:
    """A house for one test, whose daemon isn't started yet."""
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.stop()


@pytest.fixture
def project(house: House) -> Path:
    """A new project in the shared house."""
    return house.project()


@pytest.fixture
def store(house: House, project: Path) -> str:
    """The name of the new project's store."""
    return house.store(project)
