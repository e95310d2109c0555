"""The shim as agents run it: a process with three pipes, against a stand-in for the daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coffer.discovery import ensure_daemon
from coffer.surfaces import shim_json
from coffer.surfaces.shim_json import decode, encode

ROOT = str(Path(__file__).parents[2])
FAKE = (sys.executable, str(Path(__file__).with_name("fake_daemon.py")))
MUTE = (*FAKE, "mute")
STATES = {signal.SIGKILL: "ZX", signal.SIGSTOP: "T", signal.SIGCONT: "RSD"}
FAILING = (
    sys.executable,
    "-c",
    "import os, sys; open(os.environ['COFFER_HOME'] + '/tries', 'a').write('x'); sys.exit('the disk is full')",
)


def program(command: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-c", f"from coffer.surfaces.shim import main; main({command!r})"]


class Session:
    """An agent's side of one shim."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()

    def ask(self, key: object, method: str, **params: object) -> None:
        self.say({"jsonrpc": "2.0", "id": key, "method": method, "params": params})

    def tell(self, method: str, **params: object) -> None:
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def hear(self) -> dict[str, Any]:
        """Return the next line, which must be a message."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the shim has ended"
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def result(self, key: object, method: str, **params: object) -> Any:
        self.ask(key, method, **params)
        answer = self.hear()
        assert answer["id"] == key
        return answer["result"]

    def error(self, key: object) -> Any:
        answer = self.hear()
        assert answer["id"] == key
        return answer["error"]

    def end(self) -> int:
        """Close stdin and return the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(30)


class House:
    """A home, a project folder, and the shims and daemons that were started for them."""

    def __init__(self, path: Path) -> None:
        self.home, self.project = path / "home", path / "pro ject é"
        self.project.mkdir()
        self.environ = {**os.environ, "COFFER_HOME": str(self.home), "PYTHONPATH": ROOT}
        self.shims: list[subprocess.Popen[bytes]] = []

    def shim(self, command: tuple[str, ...] = FAKE, agent: str = "claude", **environ: str) -> Session:
        process = subprocess.Popen(
            [*program(command), "--agent", agent],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self.project,
            env={**self.environ, **environ},
        )
        self.shims.append(process)
        return Session(process)

    def daemons(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return [int(line) for line in (self.home / "pids").read_text().split()]
        return []

    def signal_daemons(self, how: signal.Signals) -> None:
        """Send a signal and wait until it has taken effect."""
        for pid in self.daemons():
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(pid, how)
                while Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in STATES[how]:
                    os.sched_yield()

    def clear(self) -> None:
        for process in self.shims:
            process.kill()
        self.signal_daemons(signal.SIGKILL)

    def close(self) -> None:
        self.clear()
        for process in self.shims:
            process.wait(30)
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what the shim hasn't read
                    assert pipe is not None
                    pipe.close()


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    rescue = threading.Timer(60, house.clear)  # a shim that hangs must not hang the tests
    rescue.start()
    yield house
    rescue.cancel()
    house.close()


@pytest.mark.report("B03")
def test_first_call_starts_the_daemon_and_is_answered(house: House) -> None:
    """The first session of the day would have no memory."""
    shim = house.shim()
    result = shim.result(1, "initialize", protocolVersion="2025-06-18")
    assert [result["pid"]] == house.daemons()
    assert shim.end() == 0


def test_every_request_says_where_and_who(house: House) -> None:
    """A call would be kept in the wrong project, or under the wrong agent's name."""
    shim = house.shim()
    mine = {"coffer/cwd": str(house.project), "coffer/agent": "claude"}
    own: list[dict[str, Any]] = [
        {},
        {"_meta": None},
        {"_meta": [1]},
        {"_meta": {"coffer/cwd": "/etc"}, "a": 1},
    ]
    for number, params in enumerate(own):
        assert shim.result(number, "echo", **params)["_meta"] == mine
    assert shim.result("p", "echo", _meta={"progressToken": 7})["_meta"] == {"progressToken": 7, **mine}
    headers = shim.result("s", "seen")["headers"]
    assert headers["x-coffer-cwd"].endswith("/pro%20ject%20%C3%A9")
    assert (headers["x-coffer-agent"], headers["host"]) == ("claude", "localhost")


def test_folder_that_is_not_utf8_is_told_byte_by_byte(house: House) -> None:
    """Projects with an old name would have no memory, or each call an error."""
    house.project = Path(os.fsdecode(os.fsencode(house.project) + b"\xff"))
    house.project.mkdir()
    shim = house.shim()
    assert shim.result(1, "echo", _meta={"coffer/cwd": "/etc"})["_meta"]["coffer/cwd"] == ""
    assert shim.result(2, "seen")["headers"]["x-coffer-cwd"].endswith("%C3%A9%FF")


def test_request_without_params_says_where(house: House) -> None:
    """A tool list asked for in the short form would come without a folder."""
    shim = house.shim()
    shim.say(
        {"jsonrpc": "2.0", "id": 1, "method": "echo"},
        {"jsonrpc": "2.0", "id": 2, "method": "echo", "params": None},
    )
    assert [shim.hear()["result"]["_meta"]["coffer/agent"] for _ in range(2)] == ["claude"] * 2


def test_texts_pass_unharmed(house: House) -> None:
    """What is remembered would differ from what was said."""
    shim = house.shim()
    for key, text in enumerate(
        ["é\u2028\n\r\t\0", "漢字 🎉", "\ud800 alone", "x" * 200, "x" * 70_000, "é" * 2_000_000]
    ):
        assert shim.result(key, "echo", text=text)["text"] == text
    assert shim.result("n", "echo", a=10**30, b=1.5e300, c=[None, True])["a"] == 10**30


def test_answers_of_every_shape_are_one_line(house: House) -> None:
    """A large answer, or one with line breaks, would break the agent's connection."""
    shim = house.shim()
    assert shim.result(1, "pretty")["pid"] == shim.result(2, "fragments")["pid"]
    assert len(shim.result(3, "big")["text"]) == 10_000_000
    assert shim.result(4, "echo", a=1)["a"] == 1


def test_daemon_may_ask_and_is_answered(house: House) -> None:
    """Coffer couldn't ask the agent for its folders, or the user for a decision."""
    shim = house.shim()
    shim.ask(1, "ask")
    assert shim.hear()["method"] == "roots/list"
    shim.say({"jsonrpc": "2.0", "id": "a", "result": {"roots": []}})
    shim.tell("notifications/progress", progress=1)
    seen = shim.result(2, "seen")["messages"]
    assert [message.get("id") or message["method"] for message in seen] == [
        1,
        "a",
        "notifications/progress",
        2,
    ]


def test_daemon_may_look_whether_the_shim_is_there(house: House) -> None:
    """The daemon would take a quiet session for a dead one and end it."""
    shim = house.shim()
    assert shim.result(1, "ping")
    assert {"pong": "are you there"} in shim.result(2, "seen")["messages"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{half a line", -32700),
        (b"\xff\xfe\x00", -32700),
        (b'{"id": 1} {}', -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"x": NaN}}', -32700),
        (b"9" * 5000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"[7]", -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "echo"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "echo"}', -32600),
    ],
    ids=lambda value: str(value)[:24],
)
def test_garbage_harms_only_itself(house: House, line: bytes, code: int) -> None:
    """One bad line would end the session's memory."""
    shim = house.shim()
    shim.say(b"", b"   ", line)
    assert shim.error(None)["code"] == code
    assert shim.result(1, "echo", a=1)["a"] == 1


def test_number_that_json_does_not_have_is_told(house: House) -> None:
    """A call with it would wait for an answer for ever."""
    shim = house.shim()
    shim.say(b'{"jsonrpc": "2.0", "id": 5, "method": "echo", "params": {"x": 1e999}}')
    assert shim.error(5)["code"] == -32700


def test_batch_is_taken_apart(house: House) -> None:
    """Clients of the one revision that has batches would get no answer."""
    shim = house.shim()
    calls = [{"jsonrpc": "2.0", "id": key, "method": "echo", "params": {"a": key}} for key in (1, 2)]
    shim.say([calls[0], {"jsonrpc": "2.0", "method": "notifications/x"}, calls[1]])
    assert [shim.hear()["result"]["a"] for _ in range(2)] == [1, 2]


def test_oversize_call_is_refused_alone(house: House) -> None:
    """A text that is too large would end the session's memory, or never be answered."""
    shim = house.shim()
    shim.ask("large", "echo", text="x" * 10_000_000)
    shim.tell("notifications/x", text="x" * 10_000_000)
    error = shim.error("large")
    assert error["code"] == -32600 and "4194304" in error["message"] and "send less" in error["message"]
    assert [message["id"] for message in shim.result(1, "seen")["messages"]] == [1]


def test_call_in_flight_is_answered_when_the_daemon_dies(house: House) -> None:
    """The agent would wait for ever, or a call would be done twice."""
    shim = house.shim()
    shim.ask(1, "hang")
    shim.ask(2, "die")
    for _ in range(2):
        answer = shim.hear()
        assert answer["id"] in (1, 2) and answer["error"]["code"] == -32000
        assert "may or may not" in answer["error"]["message"] and "daemon.log" in answer["error"]["message"]
    assert [message["id"] for message in shim.result(3, "seen")["messages"]] == [3]
    assert len(house.daemons()) == 2


@pytest.mark.parametrize("method", ["garbage", "close"])
def test_daemon_that_makes_no_sense_is_left(house: House, method: str) -> None:
    """Something that isn't a message would reach the agent, or the call would never be answered."""
    shim = house.shim()
    shim.ask(1, method)
    assert shim.error(1)["code"] == -32000
    assert shim.result(2, "echo", a=1)["a"] == 1


def test_new_daemon_hears_the_handshake_again(house: House) -> None:
    """After an update of Coffer, running sessions would lose their memory."""
    shim = house.shim()
    shim.result("i", "initialize", protocolVersion="2025-06-18")
    shim.tell("notifications/initialized")
    first = shim.result(1, "seen")
    shim.ask("x", "die")
    shim.error("x")
    second = shim.result(2, "seen")
    assert second["pid"] != first["pid"]
    *handshake, last = second["messages"]
    assert [message["method"] for message in handshake] == ["initialize", "notifications/initialized"]
    assert handshake[0]["params"] == first["messages"][0]["params"]
    assert last["id"] == 2


def test_session_without_handshake_repeats_none(house: House) -> None:
    """Clients of the newest revision would be taken for old ones after a restart."""
    shim = house.shim()
    shim.ask(1, "die")
    shim.error(1)
    shim.tell("notifications/initialized")
    assert [message["method"] for message in shim.result(2, "seen")["messages"]] == ["seen"]


def test_refused_handshake_is_not_repeated(house: House) -> None:
    """A client that goes on in the newer way would be taken for an old one after a restart."""
    shim = house.shim()
    shim.ask(1, "initialize", refuse=True)
    shim.error(1)
    shim.ask(2, "die")
    shim.error(2)
    assert [message["id"] for message in shim.result(3, "seen")["messages"]] == [3]


def test_new_handshake_is_not_preceded_by_the_old_one(house: House) -> None:
    """A client that begins again would be refused by the new daemon."""
    shim = house.shim()
    shim.result(1, "initialize")
    shim.ask(2, "die")
    shim.error(2)
    shim.result(3, "initialize")
    assert [message["id"] for message in shim.result(4, "seen")["messages"]] == [3, 4]


def test_cancelled_call_is_over(house: House) -> None:
    """The agent would get an error for a call that it has given up."""
    shim = house.shim()
    shim.ask(7, "hang")
    shim.tell("notifications/cancelled", requestId=7)
    shim.tell("notifications/cancelled", requestId={})
    methods = [message["method"] for message in shim.result(8, "seen")["messages"]]
    assert methods == ["hang", "notifications/cancelled", "notifications/cancelled", "seen"]
    shim.ask(9, "die")
    assert shim.error(9)["code"] == -32000
    assert shim.result(10, "echo", a=1)["a"] == 1


def test_frozen_daemon_is_told(house: House) -> None:
    """Every call would hang without a word while the daemon's process is stopped."""
    shim, late = house.shim(), house.shim()
    shim.result(1, "echo")
    house.signal_daemons(signal.SIGSTOP)
    shim.ask(2, "echo")
    late.ask(3, "echo")
    assert "is stopped" in shim.error(2)["message"]
    assert "is stopped" in late.error(3)["message"]
    house.signal_daemons(signal.SIGCONT)
    assert shim.result(4, "echo", a=1)["a"] == late.result(5, "echo", a=1)["a"] == 1
    assert len(house.daemons()) == 1


def test_without_a_daemon_each_request_is_told_what_to_do(house: House) -> None:
    """The agent would only say that a server has failed."""
    shim = house.shim(FAILING)
    calls = [{"jsonrpc": "2.0", "id": key, "method": "echo"} for key in (1, "b")]
    shim.say(
        b"\n".join(json.dumps(call).encode() for call in [calls[0], {"method": "notifications/x"}, calls[1]])
    )
    for key in (1, "b"):
        error = shim.error(key)
        assert error["code"] == -32000
        assert f"see {house.home}/logs/daemon.log" in error["message"]
        assert "the disk is full" in error["message"]
    assert (house.home / "tries").read_text() == "x"  # what waited behind the first isn't tried again
    ensure_daemon(str(house.home), house.environ, command=FAKE)
    assert shim.result(3, "echo", a=1)["a"] == 1


def test_home_that_cannot_be_made_is_told(house: House) -> None:
    """A misspelt COFFER_HOME would end the shim without a word to the agent."""
    house.home.write_text("a file")
    shim = house.shim(COFFER_HOME=f"{house.home}/x")
    shim.ask(1, "initialize")
    assert "can't be started" in shim.error(1)["message"]


@pytest.mark.report("B25", "B30")
def test_twelve_sessions_share_one_daemon(house: House) -> None:
    """Agents that start together would lose their memory, or each have a daemon of its own."""
    shims = [house.shim() for _ in range(12)]
    for key, shim in enumerate(shims):
        shim.ask(key, "initialize")
    assert [[shim.hear()["result"]["pid"]] for shim in shims] == [house.daemons()] * 12


@pytest.mark.report("B40")
def test_end_of_stdin_ends_the_shim(house: House) -> None:
    """Each closed session would leave a process behind."""
    idle, waiting, fresh = house.shim(), house.shim(), house.shim()
    idle.result(1, "echo")
    waiting.result(1, "echo")
    waiting.ask(2, "hang")
    assert [idle.end(), waiting.end(), fresh.end()] == [0, 0, 0]


@pytest.mark.report("B40")
def test_end_of_stdin_ends_a_shim_that_waits_for_a_daemon(house: House) -> None:
    """An agent that gives up during a slow start would leave a process behind."""
    shim = house.shim(MUTE)
    shim.ask(1, "initialize")
    assert shim.end() == 0


@pytest.mark.report("B40")
def test_end_of_the_parent_ends_the_shim(house: House) -> None:
    """A killed agent whose other children hold the pipe would leave a process behind."""
    code = f"import subprocess; subprocess.Popen({program(FAKE)!r}).wait()"
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=house.environ,
    )
    house.shims.append(parent)
    session = Session(parent)
    session.result(1, "echo")
    assert parent.stdin is not None and parent.stdout is not None
    rescue = threading.Timer(30, parent.stdin.close)
    rescue.start()
    parent.kill()
    assert parent.stdout.read() == b""  # every writer has ended
    rescue.cancel()
    assert not parent.stdin.closed


def test_end_of_stdout_ends_the_shim(house: House) -> None:
    """A session whose agent no longer listens would leave a process behind."""
    shim = house.shim()
    shim.result(1, "echo")
    assert shim.process.stdout is not None
    shim.process.stdout.close()
    shim.ask(2, "echo")
    assert shim.process.wait(30) == 0


def test_one_call_through_a_pipe_is_answered(house: House) -> None:
    """`echo … | coffer-mcp-shim`, the first thing one tries, would print nothing."""
    ensure_daemon(str(house.home), house.environ, command=FAKE)
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": 1}}'
    done = subprocess.run(
        program(FAKE), input=call, capture_output=True, env=house.environ, timeout=60, check=True
    )
    assert json.loads(done.stdout)["result"]["a"] == 1
    assert json.loads(done.stdout)["result"]["_meta"] == {"coffer/cwd": os.getcwd()}


@pytest.mark.report("B49")
def test_stdout_is_protocol_only(house: House) -> None:
    """A warning or a log line on stdout would make the agent drop the server."""
    shim = house.shim(PYTHONWARNINGS="always", PYTHONDEVMODE="1", PYTHONVERBOSE="1")
    shim.say(b"garbage")
    shim.error(None)
    shim.result(1, "echo")
    shim.ask(2, "die")
    shim.error(2)
    assert shim.end() == 0
    assert shim.process.stdout is not None and shim.process.stdout.read() == b""


@pytest.mark.parametrize("arguments", [["--help"], ["--agent"], ["--agent", "a", "b"], ["x", "y"]])
def test_wrong_usage_is_told(house: House, arguments: list[str]) -> None:
    """A misspelt option in an agent's settings would be passed over."""
    done = subprocess.run(
        [*program(FAKE), *arguments], capture_output=True, env=house.environ, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"usage: coffer-mcp-shim" in done.stderr


def test_start_imports_nothing_slow(house: House) -> None:
    """Every session of every agent would begin later."""
    slow = {
        "json",
        "re",
        "enum",
        "threading",
        "subprocess",
        "socket",
        "typing",
        "contextlib",
        "pathlib",
        "argparse",
    }
    code = f"import sys; import coffer.surfaces.shim; print(*sorted({slow!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, env=house.environ, timeout=60, check=True
    )
    assert done.stdout.split() == []


@pytest.fixture(params=["C", "Python"])
def codec(
    request: pytest.FixtureRequest,
) -> Iterator[tuple[Callable[[bytes], Any], Callable[[object], bytes]]]:
    """Both ways of the shim to read and write JSON."""
    if request.param == "C":
        yield decode, encode
        return
    names: dict[str, Any] = {"__name__": "plain"}
    source = Path(shim_json.__file__).read_text().replace("from _json import", "from json.nowhere import")
    exec(compile(source, "plain", "exec"), names)
    yield names["decode"], names["encode"]


def test_json_is_json(codec: tuple[Callable[[bytes], Any], Callable[[object], bytes]]) -> None:
    """What one Python version passes on another would spoil."""
    read, write = codec
    value = {"a": [1, -2.5, 10**30, None, True, 'é"\\\n\0'], "": {}, "🎉": []}
    assert read(write(value)) == value == json.loads(write(value))
    assert read(b' {"a": "\\ud800"}\r\n') == {"a": "\ud800"}
    assert write({"a": "\ud800é"}) == b'{"a":"\\ud800\\u00e9"}'
    assert write({"a": "é"}) == '{"a":"é"}'.encode()
    for wrong in (
        b"",
        b"{",
        b"[1,",
        b'{"a"}',
        b"1 2",
        b"NaN",
        b"-Infinity",
        b'"\x01"',
        b'"\\x"',
        b"\xff",
        b"9" * 5000,
    ):
        with pytest.raises(ValueError):
            read(wrong)
    with pytest.raises(RecursionError):
        read(b"[" * 100_000)
    with pytest.raises(ValueError):
        write(float("inf"))
