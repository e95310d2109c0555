"""A memory in this process, without the doors: what most of these reports are about."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from coffer.bootstrap import open_ports
from coffer.domain.ports import Ports

Memory = Callable[[], AbstractAsyncContextManager[Ports]]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """Open the memory of one home; again after it was closed, if a test likes."""
    (tmp_path / "home").mkdir()
    environ = {"HOME": str(tmp_path)}
    return lambda: open_ports(str(tmp_path / "home"), environ)
