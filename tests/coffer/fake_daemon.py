"""A stand-in for the daemon, run as a program: HTTP and the shim's websocket on the home's socket.

Its one argument says how it behaves: `serve` (the default), `mute` (alive, never listens). It keeps the
pids of all who served in `<home>/pids`, and those that found the home taken in `<home>/refused`.
What it answers is chosen by the path of a request or by the method of a message.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import threading
from typing import Any, BinaryIO

from coffer.discovery import socket_path

BIG = 10_000_000


def note(home: str, name: str) -> None:
    with open(os.path.join(home, name), "a") as file:
        file.write(f"{os.getpid()}\n")


def main() -> None:
    home = os.environ["COFFER_HOME"]
    lock = os.open(os.path.join(home, "daemon.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        note(home, "refused")
        sys.exit(0)
    note(home, "pids")
    if sys.argv[1:] == ["mute"]:
        signal.pause()
    path = socket_path(home)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    if os.path.exists(path):
        os.unlink(path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


def serve(connection: socket.socket) -> None:
    with connection, connection.makefile("rb") as file:
        try:
            path = file.readline().split(b" ")[1].decode()
            headers = {}
            while line := file.readline().strip():
                name, _, value = line.decode("latin-1").partition(": ")
                headers[name.lower()] = value
            if path == "/mcp-stdio":
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
                talk(connection, file, headers)
            else:
                answer(connection, file, path, headers)
        except OSError:
            return


def answer(connection: socket.socket, file: BinaryIO, path: str, headers: dict[str, str]) -> None:
    """Answer one plain request, then keep the connection open until the client closes it."""
    if path == "/early":
        connection.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        return
    body = file.read(int(headers["content-length"]))
    echo = json.dumps({"headers": headers, "body": body.decode("latin-1")}).encode()
    parts = {
        "/echo": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Some: Thing\r\n\r\n%b" % (len(echo), echo),
        "/empty": b"HTTP/1.1 204 No Content\r\n\r\n",
        "/chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nT: v\r\n\r\n",
        "/big": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (BIG, b"x" * BIG),
        "/garbage": b"\x00\xff" * 50_000,
        "/html": b"<html>no</html>\r\n\r\n",
        "/length": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "/half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
        "/silence": b"",
    }
    connection.sendall(parts[path])
    if path != "/half":
        file.read()


def talk(connection: socket.socket, file: BinaryIO, headers: dict[str, str]) -> None:
    """Answer messages until the client closes; every message that came is told to who asks for `seen`."""
    seen: list[Any] = []

    def send(text: bytes, kind: int = 0x81) -> None:
        size = len(text)
        length = bytes((size,)) if size < 126 else b"\x7f" + size.to_bytes(8, "big")
        connection.sendall(bytes((kind,)) + length + text)

    while head := file.read(2):
        size = head[1] & 127
        if size > 125:
            size = int.from_bytes(file.read(2 if size == 126 else 8), "big")
        mask, payload = file.read(4), file.read(size)
        assert head[1] & 0x80 and mask == bytes(4)
        if head[0] & 15 == 10:
            seen.append({"pong": payload.decode()})
            continue
        message = json.loads(payload)
        seen.append(message)
        result: dict[str, Any] = {"pid": os.getpid()}
        match message.get("method"):
            case "seen":
                result |= {"headers": headers, "messages": seen}
            case "echo":
                result |= message["params"]
            case "big":
                result |= {"text": "x" * BIG}
            case "die":
                os._exit(1)
            case "garbage":
                send(b"no message\xff")
                continue
            case "close":
                send(b"\x03\xe8", 0x88)
                return
            case "ping":
                send(b"are you there", 0x89)
            case "ask":
                send(json.dumps({"jsonrpc": "2.0", "id": "a", "method": "roots/list"}).encode())
                continue
            case "initialize" | "pretty" | "fragments":
                pass
            case _:
                continue
        outcome = "error" if message.get("params", {}).get("refuse") else "result"
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], outcome: result}).encode()
        if message["method"] == "pretty":
            reply = reply.replace(b", ", b",\r\n ")
        if message["method"] == "fragments":
            send(reply[:10], 0x01)
            send(reply[10:20], 0x00)
            send(reply[20:], 0x80)
        else:
            send(reply)


if __name__ == "__main__":
    main()
