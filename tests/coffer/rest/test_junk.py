"""Whatever is sent, the answer is never a fault of ours."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coffer.surfaces.rest.app import ROUTES
from coffer.surfaces.rest.guard import Door
from tests.coffer.rest.doors import Client
from tests.coffer.rest.memory_ports import memory_ports
from tests.coffer.rest.test_every_route import NAMED

FIELDS = sorted({name for route in ROUTES if route.body for name in route.body["properties"]})
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=30)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
NEARLY = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5)
CLIENT = Client(memory_ports(), Door.SOCKET)
JUNK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


async def never_a_fault(body: bytes) -> None:
    """Send `body` to every route that changes something."""
    added = await CLIENT.ask("POST", "/memory_stores/global/facts", {"text": "hello"})
    for route in ROUTES:
        if route.method != "GET":
            path = route.path.format(**NAMED | {"id": added.json["id"]})
            reply = await CLIENT.ask(route.method, path, body=body)
            assert reply.status < 500, (route.method, path, reply)


@JUNK
@given(body=st.binary(max_size=200))
async def test_bytes(body: bytes) -> None:
    """A broken client could bring an error of ours, or leave something half done."""
    await never_a_fault(body)


@JUNK
@given(value=VALUES | NEARLY)
async def test_json(value: Any) -> None:
    """A client with a mistake in it could bring an error of ours, or leave something half done."""
    await never_a_fault(json.dumps(value).encode())


@JUNK
@given(
    query=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60),
    headers=st.dictionaries(
        st.sampled_from(
            ["x-coffer-cwd", "x-coffer-agent", "x-coffer-actor", "if-match", "authorization", "accept"]
        ),
        st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40),
    ),
)
async def test_queries_and_headers(query: str, headers: dict[str, str]) -> None:
    """An odd address or header could bring an error of ours."""
    added = await CLIENT.ask("POST", "/memory_stores/global/facts", {"text": "hello"})
    for route in ROUTES:
        path = route.path.format(**NAMED | {"id": added.json["id"]}) + "?" + query
        reply = await CLIENT.ask(route.method, path, headers=headers)
        assert reply.status < 500, (route.method, path, reply)
