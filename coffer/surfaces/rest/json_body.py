"""JSON as it goes over the wire: read without letting it exhaust anything, written as proper UTF-8."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from coffer.domain.errors import ConfigInvalid

MAX_DEPTH = 32


def parse(data: bytes) -> object:
    """Return the JSON value in `data`, an empty object for no data; raise ConfigInvalid."""
    if not data:
        return {}
    try:
        value: object = json.loads(data.decode(), parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        # Also bytes that aren't UTF-8, and numbers with thousands of digits; their messages quote the body.
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise ConfigInvalid("body", f"isn't valid JSON in UTF-8{where}") from None
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return value
    raise _too_deep()


def render(value: object) -> bytes:
    """Return `value` as JSON; what can't be encoded, in the name of a folder say, becomes a question mark."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def _containers(value: list[object] | dict[str, object]) -> list[Any]:
    """Return the lists and objects directly inside `value`."""
    return [
        inner
        for inner in (value.values() if isinstance(value, dict) else value)
        if isinstance(inner, (dict, list))
    ]


def _too_deep() -> ConfigInvalid:
    return ConfigInvalid("body", f"is nested deeper than {MAX_DEPTH} levels")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
