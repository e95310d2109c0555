from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from coffer.infrastructure.index.mirror import SearchIndex
from tests.coffer.index.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def index(home: Home) -> Iterator[SearchIndex]:
    opened = home.open()
    yield opened
    opened.close()
