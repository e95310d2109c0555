"""One websocket (RFC 6455) to the daemon: what the shim needs of the client's side, over a local socket.

Two corners of the protocol are cut, because nothing stands between the two ends: the opening key is fixed
and its echo isn't checked (it guards against caches), and the mask is all zeros (random ones guard proxies).
"""

from __future__ import annotations

import time
from _thread import allocate_lock

from coffer import discovery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_HANDSHAKE_SECONDS = (
    60.0  # a daemon accepts at once and may import its libraries for many seconds on a busy disk
)
_SHUT_BOTH = 2
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_OPENING = (
    b"GET /mcp-stdio HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: Y29mZmVyLW1jcC1zaGltIQ==\r\nSec-WebSocket-Version: 13\r\n"
)


class Link:
    """A connection to one daemon, with the requests that it still owes an answer to.

    Made by asking for the connection; `accepted` must be called before anything else. One thread may send
    while another reads.
    """

    def __init__(self, home: str, headers: str) -> None:
        self.home = home
        self.alive = True
        self.lost = (
            "Coffer's daemon went away during this call, which may or may not have been done; "
            f"look, then ask again. Its log is {discovery.log_path(home)}."
        )
        self.pending: dict[str | int, dict[str, Any]] = {}
        self.socket = discovery.connect(home, 2.0)
        self._buffer = bytearray()
        self._sending = allocate_lock()
        self._deadline: float | None = time.monotonic() + _HANDSHAKE_SECONDS
        self.socket.sendall(_OPENING + headers.encode() + b"\r\n")

    def accepted(self) -> None:
        """Wait for the daemon's yes. OSError if it hangs up, DaemonUnavailable if it says no or nothing."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            self._more()
        status = self._buffer[: self._buffer.find(b"\r\n")].decode("latin-1")
        if " 101 " not in status:
            log = discovery.log_path(self.home)
            raise discovery.DaemonUnavailable(
                f"Coffer's daemon refused the shim: {status}; its log is {log}."
            )
        del self._buffer[: end + 4]

    def wait_from_now_on(self) -> None:
        """Lift the deadline that holds until the handshakes are over."""
        self._deadline = None
        self.socket.settimeout(None)

    def send(self, payload: bytes, kind: int = _TEXT) -> None:
        """Send one message. OSError means that the daemon hasn't got the whole of it."""
        size = len(payload)
        if size < 126:
            length = bytes((0x80 | size,))
        elif size < 65536:
            length = b"\xfe" + size.to_bytes(2, "big")
        else:
            length = b"\xff" + size.to_bytes(8, "big")
        with self._sending:
            self.socket.sendall(bytes((0x80 | kind,)) + length + bytes(4) + payload)

    def messages(self) -> Iterator[bytes]:
        """Yield what the daemon sends until it closes. OSError when the connection breaks."""
        message = b""
        while True:
            first, size = self._take(2)
            if size > 125:
                size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
            payload = self._take(size)
            kind = first & 0x0F
            if kind == _CLOSE:
                return
            if kind == _PING:
                self.send(payload, _PONG)
            elif kind != _PONG:
                message += payload
                if first & 0x80:
                    yield message
                    message = b""

    def hang_up(self) -> None:
        """End the connection, so that nothing more is sent on it and whoever reads it stops."""
        self.alive = False
        try:
            self.socket.shutdown(_SHUT_BOTH)
        except OSError:
            return  # the daemon was first

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._more()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _more(self) -> None:
        if self._deadline is not None:
            data = discovery.receive(self.socket, self.home, self._deadline)
        elif not (data := self.socket.recv(1 << 18)):
            raise ConnectionError("it hung up")
        self._buffer += data
