"""Carry an agent's MCP messages to the daemon and back: the command `coffer-mcp-shim --agent NAME`.

Lines on stdin and stdout on one side, one text message a line over a websocket on the other. The daemon
knows the protocol; here each message is read just far enough to add the caller's folder and name to a
request, to answer what was in flight when the daemon went away, and to repeat the handshake of the
protocol's older revisions to the next daemon. Standard library only, and little of it: an agent waits for
this program at the start of every session.

The main thread carries requests up, a second one reads stdin and notices the end of it, a third one carries
answers down.
"""

from __future__ import annotations

import os
import select
import sys
import time
from _thread import allocate_lock, start_new_thread

from coffer import discovery
from coffer.surfaces.shim_json import decode, encode
from coffer.surfaces.shim_link import Link

try:
    from _queue import SimpleQueue  # the C type: `queue` imports threading
except ImportError:
    from queue import SimpleQueue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Message = dict[str, Any]

_LARGEST_MESSAGE = 4 * 1024 * 1024  # bytes; the daemon takes no more by any of its doors
_PARSE_ERROR, _INVALID_REQUEST, _UNAVAILABLE = -32700, -32600, -32000
_LAST_SECONDS = 1.0
_REPEATED = "coffer-shim-handshake"
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/")


class Shim:
    """What one agent's session says and hears, whichever daemon is there to listen."""

    def __init__(self, environ: Mapping[str, str], agent: str, command: Sequence[str] | None) -> None:
        self.environ, self.command = environ, command
        self.home = discovery.coffer_home(environ)
        try:
            folder = os.fsencode(os.getcwd())
        except OSError:
            folder = b""  # it was removed under our feet
        try:
            self.meta = {"coffer/cwd": folder.decode()}
        except UnicodeDecodeError:
            self.meta = {"coffer/cwd": ""}  # the header holds every byte
        self.headers = f"X-Coffer-Cwd: {_quoted(folder)}\r\n"
        if agent:
            self.meta["coffer/agent"] = agent
            self.headers += f"X-Coffer-Agent: {_quoted(os.fsencode(agent))}\r\n"
        self.lines: SimpleQueue[tuple[float, bytes] | None] = SimpleQueue()
        self.link: Link | None = None
        self.initialize: Message | None = None
        self.initialized: Message | None = None
        self.refused_at, self.refusal = 0.0, ""
        self.printing = allocate_lock()

    def run(self) -> None:
        """Carry messages until stdin ends, then end the process."""
        os.set_blocking(1, True)
        start_new_thread(self.read_stdin, (os.getppid(),))
        while item := self.lines.get():
            self.take_line(*item)
        while self.link and self.link.alive and self.link.pending:
            time.sleep(0.005)  # read_stdin puts an end to this
        os._exit(0)

    def read_stdin(self, parent: int) -> None:
        readable = select.poll()
        readable.register(0, select.POLLIN)
        line = bytearray()
        while True:
            if not readable.poll(1000):
                # Another child of the agent may hold the pipe open, so the end of the parent counts as well.
                if os.getppid() != parent:
                    os._exit(0)
                self.give_up_on_stopped_daemon()
                continue
            try:
                data = os.read(0, 1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            rest, *starts = data.split(b"\n")
            line += rest
            for start in starts:
                self.lines.put((time.monotonic(), bytes(line)))
                line = bytearray(start)
        self.lines.put((time.monotonic(), bytes(line)))
        self.lines.put(None)
        time.sleep(_LAST_SECONDS)  # for what is still in flight
        os._exit(0)

    def give_up_on_stopped_daemon(self) -> None:
        link = self.link
        if link and link.pending and discovery.is_stopped(link.socket):
            link.lost = str(discovery.silence(self.home, stopped=True))
            link.hang_up()

    def take_line(self, arrived: float, line: bytes) -> None:
        """Send up what one line says. A batch goes as single messages, all that newer revisions know."""
        if not line.strip():
            return
        try:
            said = decode(line)
        except (ValueError, RecursionError):
            self.fail(None, _PARSE_ERROR, "That line isn't JSON.")
            return
        for message in said if isinstance(said, list) and said else [said]:
            if not isinstance(message, dict):
                self.fail(None, _INVALID_REQUEST, "A message must be a JSON object.")
            elif "method" not in message or "id" not in message:
                self.take_notification_or_answer(message)
            elif isinstance(message["id"], str | int):
                self.take_request(arrived, message["id"], message)
            else:
                self.fail(None, _INVALID_REQUEST, "The id of a request must be a string or a whole number.")

    def take_request(self, arrived: float, key: str | int, message: Message) -> None:
        params = message.get("params") or {}
        if isinstance(params, dict):
            meta = params.get("_meta")
            meta = {**meta, **self.meta} if isinstance(meta, dict) else self.meta
            message = {**message, "params": {**params, "_meta": meta}}
        try:
            payload = encode(message)
        except (ValueError, RecursionError):
            self.fail(key, _PARSE_ERROR, "The message holds a number or a nesting that JSON can't carry.")
            return
        if len(payload) > _LARGEST_MESSAGE:
            sizes = f"The message has {len(payload)} bytes, Coffer takes {_LARGEST_MESSAGE} at most"
            self.fail(key, _INVALID_REQUEST, f"{sizes}; send less at once.")
        elif arrived < self.refused_at:  # it waited behind a request that found no daemon
            self.fail(key, _UNAVAILABLE, self.refusal)
        else:
            try:
                self.send_request(key, message, payload)
            except discovery.DaemonUnavailable as problem:
                self.refused_at, self.refusal = time.monotonic(), str(problem)
                self.fail(key, _UNAVAILABLE, self.refusal)

    def send_request(self, key: str | int, message: Message, payload: bytes) -> None:
        while True:
            link = self.link
            if link is None or not link.alive:
                link = self.link = self.connect(handshake=message["method"] != "initialize")
            link.pending[key] = message
            try:
                link.send(payload)
                return
            except OSError:
                # No daemon has all of it, so the next may get it, unless the loss has been answered already.
                link.hang_up()
                if not link.pending.pop(key, None):
                    return

    def take_notification_or_answer(self, message: Message) -> None:
        """Pass on what expects no answer, and so isn't worth a new connection."""
        link, method, params = self.link, message.get("method"), message.get("params")
        if method == "notifications/initialized":
            self.initialized = message
        if not link or not link.alive:
            return
        if method == "notifications/cancelled" and isinstance(params, dict):
            key = params.get("requestId")
            if isinstance(key, str | int):
                link.pending.pop(key, None)
        try:
            payload = encode(message)
            if len(payload) <= _LARGEST_MESSAGE:
                link.send(payload)
        except (OSError, ValueError, RecursionError):
            pass  # nobody waits for it

    def connect(self, handshake: bool) -> Link:
        """Return a link to a daemon, started when there is none, that has heard the session's handshake."""
        for _ in range(3):
            try:
                link = Link(self.home, self.headers)
                link.accepted()
                messages = link.messages()
                if handshake and self.initialize:
                    self.repeat_handshake(link, messages, self.initialize)
                link.wait_from_now_on()
                start_new_thread(self.carry_down, (link, messages))
                return link
            except (OSError, ValueError) as problem:
                reason = problem
                discovery.ensure_daemon(self.home, self.environ, command=self.command)
        log = discovery.log_path(self.home)
        raise discovery.DaemonUnavailable(
            f"Coffer's daemon keeps no connection ({reason}); its log is {log}."
        )

    def repeat_handshake(self, link: Link, messages: Iterator[bytes], initialize: Message) -> None:
        link.send(encode({**initialize, "id": _REPEATED}))
        for data in messages:
            if not self.print_message(link, data):
                break
        else:
            raise ConnectionError("it hung up")
        if self.initialized:
            link.send(encode(self.initialized))

    def carry_down(self, link: Link, messages: Iterator[bytes]) -> None:
        try:
            for data in messages:
                self.print_message(link, data)
        except (OSError, ValueError, RecursionError):
            pass  # broken off, or not JSON: whatever is there, it's no daemon any more
        link.hang_up()
        for key in list(link.pending):
            if link.pending.pop(key, None):
                self.fail(key, _UNAVAILABLE, link.lost)

    def print_message(self, link: Link, data: bytes) -> bool:
        """Print what the daemon sent; False, and nothing printed, for the answer to a repeated handshake."""
        message = decode(data)
        if not isinstance(message, dict):
            raise ValueError("not a message")
        key = message.get("id")
        if isinstance(key, str | int) and "method" not in message:
            if key == _REPEATED:
                return False
            asked = link.pending.pop(key, None)
            if asked and asked["method"] == "initialize" and "result" in message:
                self.initialize = asked
        self.print_line(data.replace(b"\r", b" ").replace(b"\n", b" "))
        return True

    def fail(self, key: str | int | None, code: int, text: str) -> None:
        self.print_line(encode({"jsonrpc": "2.0", "id": key, "error": {"code": code, "message": text}}))

    def print_line(self, data: bytes) -> None:
        rest = memoryview(data + b"\n")
        with self.printing:
            try:
                while rest:
                    rest = rest[os.write(1, rest) :]
            except OSError:
                os._exit(0)  # the agent has stopped listening


def _quoted(text: bytes) -> str:
    return "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in text)


def main(command: Sequence[str] | None = None) -> None:
    """Be the program. `command` starts a daemon in place of the installed one."""
    arguments = sys.argv[1:]
    if arguments and (arguments[0] != "--agent" or len(arguments) != 2):
        sys.stderr.write("usage: coffer-mcp-shim [--agent NAME]\n")
        sys.exit(2)
    try:
        Shim(os.environ, arguments[1] if arguments else "", command).run()
    except discovery.DaemonUnavailable as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        os._exit(130)
