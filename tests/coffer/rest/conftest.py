from __future__ import annotations

import pytest

from coffer.domain.ports import Ports
from tests.coffer.rest.doors import Client
from tests.coffer.rest.memory_ports import memory_ports


@pytest.fixture
def ports() -> Ports:
    """An empty memory."""
    return memory_ports()


@pytest.fixture
def client(ports: Ports) -> Client:
    """Somebody with the token on a loopback port."""
    return Client(ports)
