"""A memory tree for each test, away from the settings of whoever runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from tests.gitsync.tree import Tree

_LEVELS = (ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL)


@pytest.fixture
def user_home(tmp_path: Path) -> Iterator[Path]:
    """The home folder that both git and libgit2 read the user's settings from."""
    folder = tmp_path / "user"
    folder.mkdir()
    paths = pygit2.settings.search_path
    before = {level: paths[level] for level in _LEVELS}
    for level in _LEVELS:
        paths[level] = str(folder)
    yield folder
    for level, value in before.items():
        paths[level] = value


@pytest.fixture
def tree(tmp_path: Path, user_home: Path) -> Tree:
    return Tree(tmp_path / "memory", user_home)
