"""Change one entry of a JSON text, comments allowed, and no other byte.

Removing an entry must give back what was there before it was added, also when that was an empty object or
`null`, and without a record of it. So the space around an entry that is alone tells what it was added to:

    {"ours": 1}        an empty object: the entry is put behind its bracket, what was between the brackets stays
    { "ours": 1}       `null`
    { "ours": 1 }      nothing: the object was made for the entry, on one line or several, and goes with it
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from coffer.domain.errors import SettingsUnparsable
from coffer.infrastructure.settings.document import Steps, decoded, fault, same, with_entry, without_entry
from coffer.infrastructure.settings.json_style import Style, space_before
from coffer.infrastructure.settings.json_text import COMMENT, Node, parse


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """One version of a JSON file; `root` is None when there is no file."""

    path: str
    text: str
    root: Node | None

    @classmethod
    def read(cls, path: str, data: bytes | None) -> Self:
        """Return the document in a file's bytes. SettingsUnparsable when it isn't JSON."""
        if data is None:
            return cls(path, "", None)
        text = decoded(path, data)
        return cls(path, text, parse(path, text))

    @property
    def value(self) -> object:
        return self.root.value if self.root else None

    @property
    def data(self) -> bytes | None:
        return self.text.encode("utf-8") if self.root else None

    def has(self, path: Steps) -> bool:
        return self._find(path) is not None

    def get(self, path: Steps) -> object:
        found = self._find(path)
        return found.value if found else None

    def source(self, path: Steps) -> str:
        node = self._node(path)
        return self.text[node.start : node.end]

    def set(self, path: Steps, value: object) -> Self:
        return self._put(path, value, append=False)

    def append(self, path: Steps, value: object) -> Self:
        """Add a value as the last of an array, which is made where it is missing."""
        return self._put(path, value, append=True)

    def restore(self, path: Steps, source: str) -> Self:
        node = self._node(path)
        return self._replaced(node.start, node.end, source, self._with(path, json.loads(source)))

    def remove(self, path: Steps) -> Self:
        if not self.has(path):
            return self
        node = self._node(path[:-1])
        if len(node.members) == 1:
            return self._emptied(path[:-1], node)
        *hidden, at = [at for at, each in enumerate(node.members) if path[-1] in (each.key, at)]
        if hidden:  # of the same name, and now it would count
            expected = self._with(path, node.members[hidden[-1]].node.value)
            return self._cut(node, at, expected).remove(path)
        return self._cut(node, at, without_entry(self.value, path))

    def _find(self, path: Steps) -> Node | None:
        node = self.root
        for step in path:
            member = node.member(step) if node else None
            node = member.node if member else None
        return node

    def _node(self, path: Steps) -> Node:
        if not (node := self._find(path)):
            raise KeyError(path[-1])
        return node

    def _put(self, path: Steps, value: object, append: bool) -> Self:
        if not self.root:
            text = Style().on_lines(value, path, append) + "\n"
            return self._checked(text, self._with(path, value, append))
        style = Style.of(self.text, self.root)
        node, depth = self.root, 0
        while depth < len(path) and (member := node.member(path[depth])):
            node, depth = member.node, depth + 1
        rest = path[depth:]
        if not rest and not append:
            if same(node.value, value):
                return self
            written = style.in_line(value)
            if "\n" in self.text[node.start : node.end]:
                line = self.text[self.text.rfind("\n", 0, node.start) + 1 : node.start]
                written = style.on_lines(value, base=line[: len(line) - len(line.lstrip())])
        elif depth and node.kind == "scalar" and node.value is None:
            entry = style.in_line(value, rest, append)
            written = f"{entry[:-1].rstrip()}{entry[-1]}"
        elif node.kind != (wanted := "object" if rest else "array"):
            raise fault(self.path, self.text, node.start, f"an {wanted} is expected here")
        else:
            return self._added(node, style, rest, value, append, self._with(path, value, append))
        return self._replaced(node.start, node.end, written, self._with(path, value, append))

    def _added(
        self, node: Node, style: Style, rest: Steps, value: object, append: bool, expected: object
    ) -> Self:
        """Return the text with a new last entry in an object, or in the array that is to be appended to."""
        entry = style.in_line(value, rest, append)[1:-1].strip()
        if not node.members:
            return self._replaced(node.start + 1, node.start + 1, entry, expected)
        last = node.members[-1]
        ends = last.node.end if last.comma is None else last.comma + 1
        place, lead = ends, space_before(self.text, last.start)
        if "\n" in lead:
            for comment in COMMENT.finditer(self.text, ends, node.end - 1):
                place = comment.end()
            indent = lead.rpartition("\n")[2]
            name = style.name(rest[0]) if rest else ""
            on_lines = style.on_lines(value, rest[1:], append and bool(rest), indent)
            entry = f"{style.newline}{indent}{name}{on_lines}"
        else:
            entry = style.gap + entry
        if last.comma is None:
            return self._replaced(ends, place, f",{self.text[ends:place]}{entry}", expected)
        return self._replaced(place, place, entry + ",", expected)

    def _emptied(self, path: Steps, node: Node) -> Self:
        """Return the text without the only entry of what is at a path."""
        [only] = node.members
        stop = only.node.end if only.comma is None else only.comma + 1
        before, after = self.text[node.start + 1 : only.start], self.text[stop : node.end - 1]
        made = bool(before and after) and not (before + after).strip()
        if made and path:
            return self.remove(path)
        if made and self.text[: node.start] + self.text[node.end :].strip() == "":
            return type(self)(self.path, "", None)
        if path and before == " " and not after:
            return self._replaced(node.start, node.end, "null", self._with(path, None))
        kept = "" if made else before + after
        return self._replaced(node.start + 1, node.end - 1, kept, self._with(path, type(node.value)()))

    def _cut(self, node: Node, at: int, expected: object) -> Self:
        """Return the text without one of several entries."""
        member, text = node.members[at], self.text
        stop = member.node.end if member.comma is None else member.comma + 1
        start = member.start - len(space_before(text, member.start))
        if at == 0:
            start, stop = member.start, len(text) - len(text[stop:].lstrip(" \t\r\n"))
            return self._replaced(start, stop, "", expected)
        before = node.members[at - 1]
        comma = before.node.end if before.comma is None else before.comma
        comments = COMMENT.findall(text, comma + 1, start)
        line_goes_on = not text[stop:].lstrip(" \t").startswith(("\n", "\r"))
        if comments and comments[-1].startswith("//") and line_goes_on:
            start = member.start  # The comment would take in what follows.
        if member.comma is not None:
            return self._replaced(start, stop, "", expected)
        return self._replaced(comma, stop, text[comma + 1 : start], expected)

    def _replaced(self, start: int, stop: int, by: str, expected: object) -> Self:
        return self._checked(self.text[:start] + by + self.text[stop:], expected)

    def _checked(self, text: str, expected: object) -> Self:
        """Return a new version of the text, which has to mean what was asked for."""
        root = parse(self.path, text)
        if not same(root.value, expected):
            raise SettingsUnparsable(self.path, "more would change in it than the one entry")
        return type(self)(self.path, text, root)

    def _with(self, path: Steps, value: object, append: bool = False) -> object:
        """Return the whole value with another one at a path, or added to the array there."""
        here = self.get(path) if append else None
        added = [*(here if isinstance(here, list) else ()), value] if append else value
        return with_entry(self.value, path, added)
