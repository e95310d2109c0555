"""Check a tool's arguments against its own schema, and say in words which one is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from coffer.domain.errors import ConfigInvalid


def checked(validator: Draft202012Validator, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments that were given; raise ConfigInvalid naming the field that doesn't fit.

    A null counts as not given: some clients send it for every argument that they leave out.
    """
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    error = best_match(validator.iter_errors(given))
    if error is not None:
        raise _refusal(error)
    return given


def _refusal(error: ValidationError) -> ConfigInvalid:
    wanted: Any = error.validator_value
    found: Any = error.instance
    field = ".".join(str(part) for part in error.absolute_path)
    match error.validator:
        case "required":
            missing = next(name for name in wanted if name not in found)
            return ConfigInvalid(missing, "is missing")
        case "additionalProperties":
            known = ", ".join(error.schema["properties"])
            extra = next(name for name in found if name not in error.schema["properties"])
            return ConfigInvalid(extra[:60], f"isn't an argument of this tool, which takes {known}")
        case "type":
            problem = f"must be of type {wanted}"
        case "enum":
            problem = f"{_short(found)} isn't one of {', '.join(wanted)}"
        case "minimum":
            problem = f"{_short(found)} is below {wanted}"
        case "maximum":
            problem = f"{_short(found)} is above {wanted}"
        case "maxItems":
            problem = f"has {len(found)} entries, {wanted} are allowed"
        case other:
            problem = f"doesn't satisfy {other}"
    return ConfigInvalid(field, problem)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
