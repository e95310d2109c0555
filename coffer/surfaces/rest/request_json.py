"""Read a request's JSON without letting it exhaust anything."""

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
