"""The OpenAPI document, generated from the routes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from coffer.domain.errors import (
    AgentNotFound,
    CofferError,
    ConfigInvalid,
    ForbiddenOrigin,
    Internal,
    PayloadTooLarge,
    StoreNotFound,
    Unauthorized,
)
from coffer.surfaces.rest.errors import API, STATUS
from coffer.surfaces.rest.guard import PUBLIC
from coffer.surfaces.rest.route import Answer, Asked, Route
from coffer.surfaces.rest.schema import Schema, record, string

ANY_ROUTE = (ForbiddenOrigin, PayloadTooLarge, ConfigInvalid, Internal)
ERROR = record(
    "Error",
    "A refusal or failure.",
    {
        "error": {
            "type": "object",
            "description": "What is wrong.",
            "properties": {
                "code": string("Never changes its meaning.", enum=sorted(STATUS)),
                "message": string("One sentence for a person."),
                "details": {"type": "object", "description": "The same for a program."},
            },
            "required": ["code", "message", "details"],
        }
    },
)
PATH = {
    "id": "The fact's id.",
    "ref": "A commit, 4 to 40 hex digits, or an ISO 8601 time or day.",
    "event": "`SessionStart`, `UserPromptSubmit` or `SessionEnd`.",
    "session_id": "The agent's id of the session.",
}
# What {name} stands for at the beginning of an address, and the refusal of one that isn't there.
NAMED: dict[str, tuple[type[CofferError], str]] = {
    "/memory_stores/{name}": (StoreNotFound, "The store: `global`, or `project-` and 26 characters."),
    "/agents/{name}": (AgentNotFound, "The agent's name."),
}


def described(others: Sequence[Route]) -> Route:
    """Return the route that serves the description of `others` and of itself."""

    async def serve(asked: Asked) -> Answer:
        return Answer(openapi([*others, route], asked.daemon.version))

    route = Route(
        "GET",
        "/openapi.json",
        "Describe this API, as OpenAPI 3.1.",
        serve,
        {200: {"type": "object", "description": "This document."}},
    )
    return route


def openapi(routes: Sequence[Route], version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of `routes`."""
    components: dict[str, Schema] = {}
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for route in routes:
        paths[API + route.path][route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Coffer", "version": version, "summary": "One memory for every coding agent."},
        "paths": dict(paths),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Coffer-Token"},
            },
        },
        "security": [{"bearer": []}, {"header": []}],
    }


def errors_of(route: Route) -> list[type[CofferError]]:
    """Return every error that a route may answer with."""
    named = [error for error, _ in _named(route)]
    token = () if API + route.path == PUBLIC else (Unauthorized,)
    return [*ANY_ROUTE, *token, *named, *route.errors]


def _named(route: Route) -> list[tuple[type[CofferError], str]]:
    return [named for start, named in NAMED.items() if route.path.startswith(start)]


def _operation(route: Route, components: dict[str, Schema]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": "_".join(re.findall(r"\w+", f"{route.method} {route.path}")).lower(),
        "summary": route.says,
        "parameters": _parameters(route),
        "responses": _responses(route, components),
    }
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": _json(route.body, components)}
    if API + route.path == PUBLIC:
        operation["security"] = []
    return operation


def _parameters(route: Route) -> list[dict[str, Any]]:
    named = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _named(route)[0][1] if name == "name" else PATH[name],
            "schema": {"type": "string"},
        }
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    given: Mapping[str, Mapping[str, Schema]] = {"query": route.query, "header": route.headers}
    return named + [
        {"name": name, "in": place, "description": schema["description"], "schema": schema}
        for place, schemas in given.items()
        for name, schema in schemas.items()
    ]


def _responses(route: Route, components: dict[str, Schema]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, schema in route.answers.items():
        responses[str(status)] = {"description": "Done."}
        if schema is not None:
            responses[str(status)] = {
                "description": schema["description"],
                "content": _json(schema, components),
            }
    codes: dict[int, list[str]] = defaultdict(list)
    for error in errors_of(route):
        codes[STATUS[error.code]].append(error.code)
    for status, names in sorted(codes.items()):
        responses[str(status)] = {
            "description": ", ".join(sorted(names)),
            "content": _json(ERROR, components),
        }
    return responses


def _json(schema: Schema, components: dict[str, Schema]) -> dict[str, Any]:
    return {"application/json": {"schema": _referred(schema, components)}}


def _referred(value: Any, components: dict[str, Schema]) -> Any:
    """Return `value` with every titled schema in it put among the components and referred to."""
    if isinstance(value, list):
        return [_referred(item, components) for item in value]
    if not isinstance(value, dict):
        return value
    told = {key: _referred(item, components) for key, item in value.items()}
    title = value.get("title")
    if not isinstance(title, str):
        return told
    components[title] = told
    return {"$ref": f"#/components/schemas/{title}"}
