"""The description of the API: complete, well-formed, and true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coffer.domain.ports import Ports
from coffer.surfaces.rest.app import build_app
from coffer.surfaces.rest.errors import STATUS
from tests.coffer.rest.doors import Client, Daemon


@pytest.fixture
async def document(client: Client) -> Any:
    """The description as it is served."""
    return (await client.ask("GET", "/openapi.json")).json


def inside(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a JSON value."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from inside(inner)


async def test_every_route_is_described(document: Any, ports: Ports) -> None:
    """Somebody who writes a client would miss a route."""
    served = {
        (re.sub(r"<(\w+)>", r"{\1}", rule.rule), method.lower())
        for rule in build_app(ports, Daemon().facts(ports)).url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
    }
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == served


async def test_every_error_is_described(document: Any) -> None:
    """Somebody who writes a client would meet an error that isn't in the description."""
    error = document["components"]["schemas"]["Error"]["properties"]["error"]
    assert set(error["properties"]["code"]["enum"]) == set(STATUS)
    for methods in document["paths"].values():
        for operation in methods.values():
            answers = {int(status) for status in operation["responses"]}
            assert {403, 413, 422, 500} <= answers
            assert (401 in answers) is ("security" not in operation)


async def test_well_formed(document: Any) -> None:
    """No tool could read the description."""
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"] == "1.2.3"
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    for value in inside(document):
        if "$ref" in value:
            assert value["$ref"].removeprefix("#/components/schemas/") in document["components"]["schemas"]
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {given["name"] for given in operation["parameters"] if given["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
            assert operation["summary"]


async def test_only_the_status_is_public(document: Any) -> None:
    """Somebody would believe that a route needs no token, or that the status needs one."""
    public = [
        path
        for path, methods in document["paths"].items()
        for operation in methods.values()
        if operation.get("security") == []
    ]
    assert public == ["/api/v1/daemon/status"]
