"""A memory tree for each test, away from the settings of whoever runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ConfigLevel

from tests.gitsync.peers import Bare, Wire, hide_git, settle_environment
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


@pytest.fixture
def remote(tmp_path: Path) -> Bare:
    """The bare repository of the user's machines."""
    return Bare(tmp_path / "remote.git")


@pytest.fixture
def wire(tree: Tree, user_home: Path, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """The end of a memory tree with one commit, where there is a git program."""
    settle_environment(monkeypatch, user_home)
    tree.write({"here.md": b"here\n"})
    return Wire(tree)


@pytest.fixture(params=["git", "dulwich"])
def any_wire(wire: Wire, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Wire:
    """The same, where there is one and where there is none."""
    if request.param == "dulwich":
        hide_git(monkeypatch)
    return wire
