"""Shapes of requests and answers, as JSON Schemas that are both enforced and published.

A schema with a title is a component of the OpenAPI document. A string without the format `utf-8` may hold
what can't be encoded (half of a surrogate pair); only a query may, since no query is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from coffer.domain.errors import ConfigInvalid

Schema = dict[str, Any]

FORMATS = FormatChecker(formats=())


def _is_text(value: object) -> bool:
    if isinstance(value, str):
        value.encode()
    return True


FORMATS.checks("utf-8", raises=UnicodeEncodeError)(_is_text)

# A whole number is written as one: 5.0 would reach SQL and files as something else.
_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


def string(says: str, **limits: Any) -> Schema:
    """Return the shape of a text."""
    return {"type": "string", "description": says, "format": "utf-8", **limits}


def integer(says: str, **limits: Any) -> Schema:
    """Return the shape of a whole number."""
    return {"type": "integer", "description": says, **limits}


def number(says: str) -> Schema:
    """Return the shape of a number."""
    return {"type": "number", "description": says}


def boolean(says: str, **limits: Any) -> Schema:
    """Return the shape of a yes or no."""
    return {"type": "boolean", "description": says, **limits}


def array(says: str, items: Schema, **limits: Any) -> Schema:
    """Return the shape of a list."""
    return {"type": "array", "description": says, "items": items, **limits}


def maybe(schema: Schema) -> Schema:
    """Return the shape of what may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def record(title: str, says: str, fields: Mapping[str, Schema], optional: Collection[str] = ()) -> Schema:
    """Return the shape of an object with exactly these fields."""
    return {
        "title": title,
        "type": "object",
        "description": says,
        "properties": dict(fields),
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


class Shape:
    """What a value must look like, ready to be checked; absent fields get the schema's defaults."""

    def __init__(self, schema: Schema) -> None:
        self._validator = _Validator(schema, format_checker=FORMATS)
        fields = schema["properties"].items()
        self._defaults = {name: field["default"] for name, field in fields if "default" in field}

    def checked(self, value: object, whole: str) -> dict[str, Any]:
        """Return `value` with defaults; raise ConfigInvalid naming the field, or `whole` for all of it."""
        wrong = next(self._validator.iter_errors(value), None)
        if wrong is not None:
            raise ConfigInvalid(*_told(wrong, whole))
        assert isinstance(value, dict)
        return self._defaults | value


def _told(error: ValidationError, whole: str) -> tuple[str, str]:
    """Return the field and what is wrong with it; never the value, which may be what nobody should read."""
    field = ".".join(str(part) for part in error.absolute_path) or whole
    limit: Any = error.validator_value
    match error.validator:
        case "required":
            return next(name for name in limit if name not in error.instance), "is missing"
        case "additionalProperties":
            known = error.schema["properties"]
            unknown = next(name for name in error.instance if name not in known)
            return unknown[:100], f"isn't known here; known are {', '.join(known) or 'none'}"
        case "type":
            return field, f"must be of type {limit}"
        case "enum":
            return field, f"must be one of {', '.join(limit)}"
        case "minimum":
            return field, f"must be at least {limit}"
        case "maximum":
            return field, f"must be at most {limit}"
        case "maxLength":
            return field, f"has more than {limit} characters"
        case "minItems":
            return field, "is empty"
        case "maxItems":
            return field, f"has more than {limit} entries"
        case "format":
            return field, "holds half of a surrogate pair, which isn't text"
        case _:
            return field, f"must be {error.schema['description']}"
