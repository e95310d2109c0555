"""A daemon that has run out of file handles."""

from __future__ import annotations

import resource
import socket

import pytest

from tests.faults.home import Gone, Home, until

pytestmark = pytest.mark.faults


def test_a_daemon_without_file_handles_recovers(home: Home) -> None:
    """A client that leaks connections would take the memory away from all others, for good."""
    home.start().remember("Before the flood.")
    assert home.texts_of() == ["Before the flood."]
    resource.prlimit(home.daemon.pid, resource.RLIMIT_NOFILE, (48, 48))
    flood = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for connection in flood:
        connection.connect(str(home.home / "daemon.sock"))
    until(lambda: "EMFILE" in home.log())
    with pytest.raises(Gone):
        home.ask("GET", "/daemon/status", timeout=1)
    for connection in flood:
        connection.close()
    until(lambda: home.ask("GET", "/daemon/status").status == 200)
    assert home.remember("After the flood.")["commit"] == "committed"
    assert home.texts_of() == ["After the flood.", "Before the flood."]
    home.check()
