"""Who is let in: the token, the host, the page that a request comes from. Asked of the port itself."""

from __future__ import annotations

import re
import socket
import stat

import pytest

from tests.acceptance.house import House

READ = "/memory_stores"


@pytest.mark.report("B72")
def test_every_route_asks_for_the_token(house: House) -> None:
    """Any account of this machine could read a memory by the one route that was forgotten."""
    paths = house.get("/openapi.json").done()["paths"]
    walked = [
        (method.upper(), re.sub(r"{\w+}", "global", path).removeprefix("/api/v1"))
        for path, methods in paths.items()
        for method in methods
    ]
    assert len(walked) > 15
    body = {"text": "Walrus fact that nobody may add."}
    with house.nothing_written():
        for token in (None, "", "wrong", "x" * 43):
            for method, path in walked:
                sent = body if method in ("POST", "PATCH") else None
                reply = house.ask(method, path, sent, {"X-Coffer-Token": token})
                if path == "/daemon/status":
                    assert set(reply.done()) == {"version", "pid", "uptime_s", "ready"}
                else:
                    reply.refusal(401, "UNAUTHORIZED")
    for path in ("/nowhere", f"{READ}?token={(house.home / 'token').read_text().strip()}"):
        assert house.ask("GET", path, None, {"X-Coffer-Token": None}).status == 401
    for path in ("/mcp", "/mcp-stdio", "/mcp/"):
        assert house.ask("POST", path, {}, {"X-Coffer-Token": None}).status == 401


def test_token_is_taken_from_either_header(house: House) -> None:
    """A client that can set only the usual header would be locked out."""
    token = (house.home / "token").read_text().strip()
    bearer = {"X-Coffer-Token": None, "Authorization": f"Bearer {token}"}
    assert house.ask("GET", READ, None, bearer).status == 200
    assert house.ask("GET", READ, None, {**bearer, "Authorization": f"Basic {token}"}).status == 401


def test_rotated_token_shuts_the_old_one_out(house: House) -> None:
    """A token that leaked would open the memory for ever."""
    old = (house.home / "token").read_text().strip()
    said = house.coffer("daemon", "rotate-token")
    new = (house.home / "token").read_text().strip()
    assert old != new and new not in said
    assert house.ask("GET", READ, None, {"X-Coffer-Token": old}).status == 401
    assert house.get(READ).status == 200


@pytest.mark.report("B73")
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost:1",
        "localhost",
        "localhost.:{port}",
        "0.0.0.0:{port}",
    ],
)
def test_foreign_host_is_refused(house: House, host: str) -> None:
    """A web page whose name was bound anew to 127.0.0.1 could read the memory."""
    for path in (f"{READ}/global/facts", "/daemon/status", "/mcp"):
        reply = house.ask("GET", path, None, {"Host": host.format(port=house.port)})
        reply.refusal(403, "FORBIDDEN_ORIGIN")


@pytest.mark.report("B73")
def test_two_hosts_are_refused(house: House) -> None:
    """The guard would look at one of them and the rest of the daemon at the other."""
    with socket.create_connection(("127.0.0.1", house.port), 60) as raw:
        token = (house.home / "token").read_text().strip()
        raw.sendall(
            f"GET /api/v1{READ} HTTP/1.1\r\nHost: 127.0.0.1:{house.port}\r\nHost: evil.example\r\n"
            f"X-Coffer-Token: {token}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = raw.makefile("rb").readline()
    assert answer.split()[1] in (b"400", b"403")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LocalHost:{port}", "[::1]:{port}"])
def test_own_host_is_let_in(house: House, host: str) -> None:
    """The address that the docs name would be refused."""
    assert house.ask("GET", READ, None, {"Host": host.format(port=house.port)}).status == 200


@pytest.mark.report("B71", "B74")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://127.0.0.1:3000"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_pages_are_refused(house: House, headers: dict[str, str]) -> None:
    """A page in the user's browser, also one served from this machine, could read and write the memory."""
    sent = {name: value.format(port=house.port) for name, value in headers.items()}
    with house.nothing_written():
        for method, path, body in (
            ("GET", f"{READ}/global/facts", None),
            ("POST", f"{READ}/global/facts", {"text": "Walrus fact from a web page."}),
            ("DELETE", f"{READ}/global/facts", None),
            ("OPTIONS", f"{READ}/global/facts", None),
            ("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        ):
            reply = house.ask(method, path, body, sent)
            reply.refusal(403, "FORBIDDEN_ORIGIN")
            assert not [name for name in reply.headers if name.startswith("access-control-")]


def test_own_page_is_let_in(house: House) -> None:
    """Coffer's own page couldn't use the API."""
    own = {"Origin": f"http://127.0.0.1:{house.port}", "Sec-Fetch-Site": "same-origin"}
    reply = house.ask("GET", READ, None, own)
    assert reply.status == 200 and not [name for name in reply.headers if name.startswith("access-control-")]
    assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_are_refused(house: House, kind: str) -> None:
    """A form on any page can post these without asking first."""
    with house.nothing_written():
        body = b'{"text": "Walrus fact from a form."}'
        reply = house.ask("POST", f"{READ}/global/facts", body, {"Content-Type": kind})
        reply.refusal(403, "FORBIDDEN_ORIGIN")


def test_oversized_body_is_refused(house: House) -> None:
    """One request could fill the daemon's memory."""
    with house.nothing_written():
        reply = house.ask("POST", f"{READ}/global/facts", {"text": "x" * (1024 * 1024)})
        assert reply.refusal(413, "PAYLOAD_TOO_LARGE")["details"] == {"limit": 1024 * 1024}


def test_home_is_its_owners_alone(house: House) -> None:
    """Another account of this machine could read the facts, the token, or talk to the private socket."""
    modes = {
        path.name: stat.S_IMODE(path.lstat().st_mode)
        for path in (house.home, house.tree, *house.home.iterdir())
        if path.exists()
    }
    assert modes.pop(house.home.name) == 0o700 and modes["token"] == modes["daemon.sock"] == 0o600
    assert not [name for name, mode in modes.items() if mode & 0o077]


def test_port_can_be_switched_off(own_house: House) -> None:
    """A user who wants no port at all would lose the memory with it."""
    own_house.environ["COFFER_PORT"] = "off"
    own_house.start()
    own_house.coffer("memory", "add", "global", "Dugong fact.")
    assert "Dugong fact." in own_house.coffer("memory", "recall", "global", "dugong")
    with pytest.raises(ConnectionRefusedError):
        own_house.get("/daemon/status")
