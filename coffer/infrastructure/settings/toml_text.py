"""Where every table and every key of a TOML text is, with the first and last character of its value.

The text is known to be TOML 1.0 by the time it comes here: `tomllib` has read it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace

from coffer.infrastructure.settings.toml_pieces import line_end

Path = tuple[str, ...]

MAX_DEPTH = 100
_KEY = re.compile(r'[ \t]*("(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*(\.?)")
_SPACE = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})' r"|'''.*?'''(?:'{0,2})" r'|"(?:[^"\\\n]|\\.)*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date may have a space before its time


@dataclass(frozen=True, slots=True)
class Table:
    """A header, whose line is `text[start:end]`; `path` is None in an array of tables."""

    path: Path | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with a value, `text[value:end]`. `path` is None in an array.

    `name` is as much of the path as is written before the equals sign, `table` the number of the header above,
    `inside` that of the entry whose inline table or array it is in.
    """

    path: Path | None
    name: Path
    table: int
    inside: int | None
    start: int
    value: int
    end: int


def scan(text: str) -> tuple[list[Table], list[Entry]]:
    """Return headers and entries in their order; the first table is what comes before all headers.

    RecursionError for values that are nested more than 100 levels deep.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.tables, scanner.entries


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth = text, 0, 0
        self.tables = [Table((), 0, 0)]
        self.entries: list[Entry] = []
        self._arrays: set[Path] = set()

    def document(self) -> None:
        self._space()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                self._header()
            else:
                self._entry(self.tables[-1].path, None)
            self._space()

    def _header(self) -> None:
        start = self.at
        brackets = 2 if self.text.startswith("[[", start) else 1
        self.at += brackets
        path = self._name()
        self.at = self.text.index("]", self.at) + brackets
        if brackets == 2:
            self._arrays.add(path)
        hidden = any(path[:length] in self._arrays for length in range(1, len(path) + 1))
        self.tables.append(Table(None if hidden else path, start, line_end(self.text, self.at)))

    def _entry(self, table: Path | None, inside: int | None) -> None:
        start, name = self.at, self._name()
        self.at = self.text.index("=", self.at) + 1
        self._space()
        path = None if table is None else table + name
        number = len(self.entries)
        self.entries.append(Entry(path, name, len(self.tables) - 1, inside, start, self.at, self.at))
        self._value(path, number)
        self.entries[number] = replace(self.entries[number], end=self.at)

    def _value(self, path: Path | None, number: int) -> None:
        """Go past a value, or a part of one, of an entry."""
        opening = self.text[self.at]
        if opening not in "[{":
            found = _STRING.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
            assert found
            self.at = found.end()
            return
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RecursionError
        self.at += 1
        self._space()
        while self.text[self.at] not in "]}":
            if opening == "[":
                self._value(None, number)
            else:
                self._entry(path, number)
            self._space()
            if self.text[self.at] == ",":
                self.at += 1
                self._space()
        self.at += 1
        self.depth -= 1

    def _name(self) -> Path:
        name, dot = [], "."
        while dot:
            found = _KEY.match(self.text, self.at)
            assert found
            key, dot = found.groups()
            name.append(tomllib.loads(f"key = {key}")["key"] if key[0] in "\"'" else key)
            self.at = found.end()
        return tuple(name)

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
