"""Change one entry of a TOML text, and no other byte.

A table that isn't there is added at the end. The standard library reads, and judges each change. The editing is
ours: tomlkit keeps what it reads, but adding and removing a table with it leaves other line ends, or a last
line end that wasn't there.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import Any, Self

from coffer.domain.errors import SettingsUnparsable
from coffer.infrastructure.settings.document import (
    BOM,
    Steps,
    decoded,
    fault,
    same,
    with_entry,
    within,
    without_entry,
)
from coffer.infrastructure.settings.toml_pieces import (
    put_line,
    put_member,
    put_table,
    take_line,
    take_member,
    take_table,
)
from coffer.infrastructure.settings.toml_text import Entry, Table, scan

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PROBLEM = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """One version of a TOML file; `text` is None when there is no file."""

    path: str
    mark: str
    text: str | None
    value: dict[str, Any]
    tables: list[Table]
    entries: list[Entry]

    @classmethod
    def read(cls, path: str, data: bytes | None) -> Self:
        """Return the document in a file's bytes. SettingsUnparsable when it isn't TOML."""
        text = None if data is None else decoded(path, data)
        mark = BOM if text and text.startswith(BOM) else ""
        return cls._parsed(path, mark, text and text.removeprefix(mark))

    @classmethod
    def _parsed(cls, path: str, mark: str, text: str | None) -> Self:
        try:
            return cls(path, mark, text, tomllib.loads(text or ""), *scan(text or ""))
        except tomllib.TOMLDecodeError as problem:
            found = _PROBLEM.fullmatch(str(problem))
            if found and found[2]:
                raise SettingsUnparsable(path, found[1], int(found[2]), int(found[3])) from None
            raise fault(path, text or "", len(text or ""), found[1] if found else str(problem)) from None
        except RecursionError:
            raise SettingsUnparsable(path, "a value in it is nested too deep") from None

    @property
    def data(self) -> bytes | None:
        return None if self.text is None else (self.mark + self.text).encode("utf-8")

    def has(self, path: Steps) -> bool:
        try:
            within(self.value, path)
        except KeyError:
            return False
        return True

    def get(self, path: Steps) -> object:
        return within(self.value, path) if self.has(path) else None

    def source(self, path: Steps) -> str:
        entry = self._written(path)
        return (self.text or "")[entry.value : entry.end]

    def set(self, path: Steps, value: object) -> Self:
        if not self.has(path):
            return self._checked(self._with(path, value), with_entry(self.value, path, value))
        if same(self.get(path), value):
            return self
        if isinstance(value, dict):
            return self.remove(path).set(path, value)
        return self._rewritten(path, _render(value), value)

    def restore(self, path: Steps, source: str) -> Self:
        return self._rewritten(path, source, tomllib.loads(f"value = {source}")["value"])

    def remove(self, path: Steps) -> Self:
        if not self.has(path):
            return self
        left = self
        while left.has(path):
            left = self._parsed(self.path, self.mark, left._with_less(path))
        expected = without_entry(self.value, path)
        while (path := path[:-1]) and not left.has(path) and not within(expected, path):
            expected = without_entry(expected, path)  # It was there for the sake of the entry alone.
        return left._compared(expected)

    def headed(self, path: Steps) -> bool:
        """Return whether a header opens the table, which may be there without one."""
        return any(header.path == tuple(path) for header in self.tables)

    def unheaded(self, path: Steps) -> Self:
        """Remove a table's header if no key is below it."""
        for number, header in enumerate(self.tables):
            if header.path == tuple(path) and all(entry.table != number for entry in self.entries):
                left = self._parsed(
                    self.path, self.mark, take_table(self.text or "", header.start, header.end)
                )
                return left if left.has(path) else left._compared(without_entry(self.value, path))
        return self

    def _entry(self, path: Steps) -> Entry | None:
        return next((entry for entry in self.entries if entry.path == tuple(path)), None)

    def _written(self, path: Steps) -> Entry:
        """Return where a value is written."""
        if entry := self._entry(path):
            return entry
        within(self.value, path)
        raise SettingsUnparsable(self.path, f"`{_name(path)}` is a table, where a value is expected")

    def _rewritten(self, path: Steps, source: str, value: object) -> Self:
        entry, text = self._written(path), self.text or ""
        return self._checked(
            text[: entry.value] + source + text[entry.end :], with_entry(self.value, path, value)
        )

    def _with(self, path: Steps, value: object) -> str:
        """Return the text with an entry that isn't there yet."""
        text, table = self.text or "", tuple(path[:-1])
        for length in range(len(table), 0, -1):
            entry, here = self._entry(table[:length]), self.get(table[:length])
            if here is not None and not isinstance(here, dict):
                raise fault(
                    self.path, text, entry.start if entry else 0, f"`{_name(table[:length])}` isn't a table"
                )
            if entry:
                return put_member(text, entry.value, entry.end, f"{_name(path[length:])} = {_render(value)}")
        if isinstance(value, dict):
            lines = [f"{_name([key])} = {_render(each)}" for key, each in value.items()]
            return put_table(self.text, [f"[{_name(path)}]", *lines])
        for number, header in enumerate(self.tables):
            beside = [each for each in self.entries if each.table == number and each.inside is None]
            if header.path != table:  # Keys such as `table.key` below a header make the table too.
                beside = [each for each in beside if each.path and each.path[: len(table)] == table]
            if header.path == table or (beside and len(header.path or ()) < len(table)):
                last: Entry | Table = beside[-1] if beside else header
                name = _name(path[len(header.path or ()) :])
                return put_line(text, last.start, last.end, f"{name} = {_render(value)}")
        return put_table(self.text, [f"[{_name(table)}]", f"{_name(path[-1:])} = {_render(value)}"])

    def _with_less(self, path: Steps) -> str | None:
        """Return the text without one of the pieces that an entry is written in."""
        text, depth = self.text or "", len(path)
        for number, header in enumerate(self.tables):
            if header.path and header.path[:depth] == tuple(path):
                last = [each.end for each in self.entries if each.table == number]
                return take_table(text, header.start, max([header.end, *last]))
        for entry in self.entries:
            if entry.path and entry.path[:depth] == tuple(path):
                take = take_line if entry.inside is None else take_member
                return take(text, entry.start, entry.end)
        raise SettingsUnparsable(self.path, f"`{_name(path)}` can't be taken out of it")

    def _checked(self, text: str | None, expected: object) -> Self:
        return self._parsed(self.path, self.mark, text)._compared(expected)

    def _compared(self, expected: object) -> Self:
        """Return this version of the text, which has to mean what was asked for."""
        if not same(self.value, expected):
            raise SettingsUnparsable(self.path, "more would change in it than the one entry")
        return self


def _name(path: Steps) -> str:
    return ".".join(key if _BARE.fullmatch(key) else _render(key) for key in map(str, path))


def _render(value: object) -> str:
    """Return a text, a number, a yes or no, or a list or table of them, as TOML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_name([key])} = {_render(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_render, value)) + "]"
    return json.dumps(value, ensure_ascii=False)  # JSON's escapes are TOML's too.
