"""A settings text that can be asked and changed by paths, whatever its format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol, Self

from coffer.domain.errors import SettingsUnparsable

Step = str | int
Steps = Sequence[Step]
"""The way to an entry: names of keys, and places in arrays."""

BOM = "\ufeff"


class Document(Protocol):
    """One version of a settings text. Changing it returns another one, checked by parsing it again.

    SettingsUnparsable when something on the way to an entry isn't the table, object or array it has to be, and
    when the text couldn't be changed without changing its meaning elsewhere.
    """

    @property
    def path(self) -> str: ...

    @property
    def value(self) -> object:
        """What the text means; None when there is no file."""
        ...

    @property
    def data(self) -> bytes | None:
        """The file's bytes, None when there should be no file."""
        ...

    def has(self, path: Steps) -> bool: ...

    def get(self, path: Steps) -> object:
        """Return the entry's value, None when it isn't there."""
        ...

    def source(self, path: Steps) -> str:
        """Return the entry's value as it is written. KeyError when it isn't there."""
        ...

    def set(self, path: Steps, value: object) -> Self:
        """Give an entry another value where it is, or add it last; what is missing on the way is made."""
        ...

    def restore(self, path: Steps, source: str) -> Self:
        """Write an entry's value again as `source` gave it. KeyError when the entry isn't there."""
        ...

    def remove(self, path: Steps) -> Self:
        """Remove an entry, if it is there, with what was made for it alone."""
        ...


def decoded(path: str, data: bytes) -> str:
    """Return a file's text. SettingsUnparsable when it isn't UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = data[: problem.start].decode("utf-8")
        raise fault(path, before, len(before), "it isn't UTF-8") from None


def fault(path: str, text: str, at: int, problem: str) -> SettingsUnparsable:
    """Return the error that names the place `at` in the text by line and column."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at].removeprefix(BOM)
    return SettingsUnparsable(path, problem, text.count("\n", 0, at) + 1, len(line) + 1)


def newline(text: str) -> str:
    """Return how the text ends its lines."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def within(value: Any, path: Steps) -> Any:
    """Return what is at the end of a path. KeyError when there is nothing."""
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            raise KeyError(step) from None
    return value


def with_entry(value: Any, path: Steps, entry: object) -> Any:
    """Return a value with another entry at the end of a path, on which objects are made where nothing is."""
    if not path:
        return entry
    copy: Any = [*value] if isinstance(value, list) else dict(value or {})
    below = copy[path[0]] if path[0] in copy or isinstance(value, list) else None
    copy[path[0]] = with_entry(below, path[1:], entry)
    return copy


def without_entry(value: Any, path: Steps) -> Any:
    """Return a value without the entry at the end of a path."""
    inner = within(value, path[:-1])
    copy: Any = [*inner] if isinstance(inner, list) else dict(inner)
    del copy[path[-1]]
    return with_entry(value, path[:-1], copy)


def same(one: object, other: object) -> bool:
    """Return whether two values are the same, `nan` and dates included; the order of keys doesn't count."""
    return type(one) is type(other) and (one == other or _canonical(one) == _canonical(other))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
