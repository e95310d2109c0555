"""Git hosts that refuse, hang, drip and lie, on loopback; and repositories that nobody honest would push."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

Answer = Callable[[socket.socket], None]


@contextmanager
def host(answer: Answer) -> Iterator[str]:
    """Answer every connection by `answer`, on a thread each; yield an address."""
    listener = socket.create_server(("127.0.0.1", 0))
    open_ones: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                open_ones.append(connection)
                threading.Thread(target=_answered, args=(answer, connection), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/memory.git"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in open_ones:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        thread.join()


def _answered(answer: Answer, connection: socket.socket) -> None:
    with suppress(OSError):
        answer(connection)


def refuses(connection: socket.socket) -> None:
    """Ask for a password, whatever comes."""
    connection.recv(65536)
    connection.sendall(
        b'HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm="host"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
    )
    connection.close()


def hangs(connection: socket.socket) -> None:
    """Take the request and never say anything."""
    while connection.recv(65536):
        pass


def drips(connection: socket.socket) -> None:
    """Answer, a byte at a time, and never come to an end."""
    connection.recv(65536)
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n001e# servic"
    )
    while True:
        connection.sendall(b"e")
        time.sleep(1)


def rubbish(connection: socket.socket) -> None:
    """Answer with a web page."""
    connection.recv(65536)
    body = b"<html>Welcome to the hotel network</html>"
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
        % (len(body), body)
    )
    connection.close()


def bare(place: Path, entries: list[tuple[str, str, bytes]]) -> Path:
    """Make a bare repository whose main holds (mode, path, bytes), names git wouldn't take included."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(place)], check=True)
    tree = _tree(place, [(mode, path.split("/"), data) for mode, path, data in entries])
    commit = _git(
        place, "-c", "user.name=Eve", "-c", "user.email=eve@host", "commit-tree", tree, "-m", "hello"
    )
    _git(place, "update-ref", "refs/heads/main", commit)
    return place


def _tree(place: Path, entries: list[tuple[str, list[str], bytes]]) -> str:
    lines, below = [], {}
    for mode, (name, *rest), data in entries:
        if rest:
            below.setdefault(name, []).append((mode, rest, data))
        elif mode == "160000":
            lines.append((mode, name, "1" * 40))
        else:
            lines.append((mode, name, _blob(place, data)))
    lines += [("40000", name, _tree(place, inner)) for name, inner in below.items()]
    lines.sort(key=lambda line: (line[1] + "/" * (line[0] == "40000")).encode("utf-8", "surrogateescape"))
    raw = b"".join(
        f"{mode} ".encode() + name.encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(oid)
        for mode, name, oid in lines
    )
    return _git(place, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=raw)


@cache
def _blob(place: Path, data: bytes) -> str:
    return _git(place, "hash-object", "-w", "--stdin", stdin=data)


def _git(place: Path, *words: str, stdin: bytes = b"") -> str:
    done = subprocess.run(["git", "-C", str(place), *words], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()
