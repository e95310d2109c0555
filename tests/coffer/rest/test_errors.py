"""Errors: their statuses, what they say, and what they must not say."""

from __future__ import annotations

import logging

import pytest

from coffer.domain import errors
from coffer.domain.errors import CofferError, DiskFull, Internal, StoreReadOnly
from coffer.domain.ports import Ports
from coffer.surfaces.rest.errors import STATUS, NoSuchMethod, NoSuchRoute
from tests.coffer.rest.doors import Client
from tests.coffer.rest.memory_ports import failing

FACTS = "/memory_stores/global/facts"
CANARY = "canary" + "-4711"


def every_error() -> set[type[CofferError]]:
    """Return every error that a client can meet."""
    found = {error for error in vars(errors).values() if isinstance(error, type) and "code" in vars(error)}
    return (found - {CofferError}) | {NoSuchRoute, NoSuchMethod}


def test_each_code_has_its_status() -> None:
    """An error would bring another error when it is told."""
    assert {error.code for error in every_error()} == set(STATUS)


@pytest.mark.report("B34")
@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (DiskFull("/coffer"), 507, "Free some space"),
        (StoreReadOnly("/coffer", "no permission"), 503, "give its owner write access"),
        (Internal("X1"), 500, "X1"),
    ],
)
async def test_what_the_machine_cannot_do(
    client: Client, ports: Ports, failure: CofferError, status: int, said: str
) -> None:
    """A person would read that something failed, but neither what nor what to do."""
    failing(ports, failure)
    reply = await client.ask("POST", FACTS, {"text": "x"})
    assert (reply.status, reply.code) == (status, failure.code)
    assert said in reply.json["error"]["message"]


async def test_fault_of_ours(client: Client, ports: Ports, caplog: pytest.LogCaptureFixture) -> None:
    """A fault couldn't be found again, or the log and the answer would repeat what is remembered."""
    cause = OSError(28, CANARY)
    fault = ValueError(f"invalid literal: {CANARY}")
    fault.__cause__ = ExceptionGroup(CANARY, [cause])
    failing(ports, fault)
    with caplog.at_level(logging.DEBUG):
        reply = await client.ask("POST", FACTS, {"text": CANARY, "title": CANARY})
    assert (reply.status, reply.code) == (500, "INTERNAL")
    incident = reply.json["error"]["details"]["incident"]
    assert incident in reply.json["error"]["message"]
    assert incident in caplog.text
    assert "memory_ports.py" in caplog.text
    assert "builtins.ValueError" in caplog.text
    assert "builtins.OSError (errno 28)" in caplog.text
    assert CANARY not in caplog.text
    assert CANARY.encode() not in reply.body


@pytest.mark.parametrize(
    "body",
    [
        f'{{"text": "x", "title": ["{CANARY}"]}}',
        f'{{"text": "x", "title": "{CANARY * 100}"}}',
        f'{{"text": "{CANARY}", ',
        f'{{"text": {{"a": "{CANARY}"}}}}',
        f'{{"text": "{CANARY}\\ud800"}}',
    ],
)
async def test_refusals_do_not_repeat(client: Client, caplog: pytest.LogCaptureFixture, body: str) -> None:
    """A refusal would carry what was sent into a client's log, where nobody expects it."""
    with caplog.at_level(logging.DEBUG):
        reply = await client.ask("POST", FACTS, body=body.encode())
    assert reply.code == "CONFIG_INVALID"
    assert CANARY.encode() not in reply.body
    assert CANARY not in caplog.text


async def test_group_of_one(client: Client, ports: Ports) -> None:
    """A refusal that comes out of several tasks at once would look like a fault of ours."""
    failing(ports, ExceptionGroup("tasks", [DiskFull("/coffer")]))
    assert (await client.ask("POST", FACTS, {"text": "x"})).code == "DISK_FULL"
