"""Change one entry of a JSON text, comments allowed, and no other byte.

Removing an entry must give back what was there before it was added, also when that was an empty object or
`null`, and without a record of it. So the space around an entry that is alone tells what it was added to:

    {"ours": 1}        an empty object: the entry is put behind its bracket, what was between the brackets stays
    { "ours": 1}       `null`
    { "ours": 1 }      nothing: the object was made for the entry, on one line or several, and goes with it
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass
from typing import Self

from coffer.infrastructure.settings.document import Steps, decoded, fault, newline, same, within
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
        places = [at for at, each in enumerate(node.members) if path[-1] in (each.key, at)]
        if len(node.members) == 1:
            return self._emptied(path[:-1], node)
        parts, kept = [], self.text
        for at in reversed(places):
            parts += self._cut(node, at)
        for start, end in sorted(parts, reverse=True):
            kept = kept[:start] + kept[end:]
        return self._checked(kept, self._without(path))

    # ── where things are ──

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

    def _space_before(self, at: int) -> int:
        """Return where the white space that ends at `at` begins."""
        return len(self.text[:at].rstrip(" \t\r\n"))

    # ── adding ──

    def _put(self, path: Steps, value: object, append: bool) -> Self:
        expected = self._with(path, value, append)
        if not self.root:
            return self._checked(self._on_lines(path, value, append, "") + "\n", expected)
        node, depth = self.root, 0
        while depth < len(path) and (member := node.member(path[depth])):
            node, depth = member.node, depth + 1
        if depth == len(path) and not append:
            if same(node.value, value):
                return self
            return self._replaced(node.start, node.end, self._in_line([], value), expected)
        if node.kind == "scalar" and node.value is None:
            written = self._in_line(path[depth:], value, append)
            inside = written[1:-1].rstrip()
            return self._replaced(node.start, node.end, written[0] + inside + written[-1], expected)
        wanted = "array" if depth == len(path) else "object"
        if node.kind != wanted:
            raise fault(self.path, self.text, node.start, f"there is no {wanted} where one is expected")
        return self._added(node, path[depth:], value, append, expected)

    def _added(self, node: Node, rest: Steps, value: object, append: bool, expected: object) -> Self:
        """Return the text with a new last entry in an object or array that is there."""
        if not node.members:
            entry = self._in_line(rest, value, append)[1:-1].strip()
            return self._replaced(node.start + 1, node.start + 1, entry, expected)
        last = node.members[-1]
        lead = self.text[self._space_before(last.start) : last.start]
        ends = last.node.end if last.comma is None else last.comma + 1
        comment = None
        for comment in COMMENT.finditer(self.text, ends, node.end - 1):  # noqa: B007
            pass
        place = comment.end() if comment else ends
        if "\n" in lead or (comment and comment[0].startswith("//")):
            indent = lead.rpartition("\n")[2]
            entry = newline(self.text) + indent + self._entry_on_lines(rest, value, append, indent)
        else:
            entry = self._gap() + self._in_line(rest, value, append)[1:-1].strip()
        if last.comma is not None:
            return self._replaced(place, place, entry + ",", expected)
        between = self.text[ends:place]
        return self._replaced(ends, place, f",{between}{entry}", expected)

    def _in_line(self, keys: Steps, value: object, append: bool = False) -> str:
        """Return a value on one line, with a space on both sides in what is made around it."""
        gap = self._gap()
        text = json.dumps(value, ensure_ascii=False, separators=("," + gap, ":" + gap))
        text = f"[ {text} ]" if append else text
        for key in reversed(keys):
            text = f"{{ {json.dumps(key, ensure_ascii=False)}:{gap}{text} }}"
        return text

    def _on_lines(self, keys: Steps, value: object, append: bool, base: str) -> str:
        """Return a value on lines of its own, of which all but the first begin with `base`."""
        value = [value] if append else value
        for key in reversed(keys):
            value = {key: value}
        lines = json.dumps(value, ensure_ascii=False, indent=self._indent())
        return lines.replace("\n", newline(self.text) + base)

    def _entry_on_lines(self, rest: Steps, value: object, append: bool, indent: str) -> str:
        if not rest:
            return self._on_lines([], value, False, indent)
        name = json.dumps(rest[0], ensure_ascii=False)
        return f"{name}:{self._gap()}{self._on_lines(rest[1:], value, append, indent)}"

    def _gap(self) -> str:
        """Return what the text has between a name's colon and its value."""
        if not self.root or not self.root.members or self.root.kind != "object":
            return " "
        first = self.root.members[0]
        return " " if self.text[first.node.start - 1].isspace() else ""

    def _indent(self) -> str:
        """Return by what an entry is further in than the object it is in."""
        for member in self.root.members if self.root else ():
            lead = self.text[self._space_before(member.start) : member.start]
            if "\n" in lead and not lead.endswith("\n"):
                return lead.rpartition("\n")[2]
        return "  "

    # ── removing ──

    def _emptied(self, path: Steps, node: Node) -> Self:
        """Return the text without the only entry of what is at `path`."""
        [only] = node.members
        stop = only.node.end if only.comma is None else only.comma + 1
        before, after = self.text[node.start + 1 : only.start], self.text[stop : node.end - 1]
        made = before and after and not before.strip() and not after.strip()
        if made and path:
            return self.remove(path)
        if made and node.start == 0 and not self.text[node.end :].strip():
            return type(self)(self.path, "", None)
        if path and before == " " and not after:
            return self._replaced(node.start, node.end, "null", self._with(path, None))
        kept = before + after if before.strip() or not before else ""
        empty = self._with(path, type(node.value)())
        return self._replaced(node.start + 1, node.end - 1, kept, empty)

    def _cut(self, node: Node, at: int) -> list[tuple[int, int]]:
        """Return the stretches that go with one of several entries."""
        member = node.members[at]
        if at == 0:
            comma = member.comma or member.node.end
            following = self.text[comma + 1 :]
            return [(member.start, comma + 1 + len(following) - len(following.lstrip(" \t\r\n")))]
        start = self._space_before(member.start)
        if member.comma is not None:
            return [(start, member.comma + 1)]
        comma = node.members[at - 1].comma or start
        if start > comma + 1 and not self.text[member.node.end :].lstrip(" \t").startswith(("\n", "\r")):
            # A comment is before it, perhaps one that lasts to the end of its line.
            start += len(newline(self.text)) if "\n" in self.text[start : member.start] else 0
        return [(comma, comma + 1), (start, member.node.end)]

    # ── checking ──

    def _with(self, path: Steps, value: object, append: bool = False) -> object:
        """Return the whole value with another one at a path."""
        if append:
            here = self.get(path)
            value = [*here, value] if isinstance(here, list) else [value]
        if not path:
            return value
        whole = deepcopy(self.value) if self.root else {}
        into = whole
        for step in path[:-1]:
            if isinstance(into, dict) and into.get(step) is None:
                into[step] = {}
            into = into[step] if isinstance(into, dict | list) else {}
        if isinstance(into, dict | list):
            into[path[-1]] = value
        return whole

    def _without(self, path: Steps) -> object:
        whole = deepcopy(self.value)
        into = within(whole, path[:-1])
        assert isinstance(into, dict | list)
        del into[path[-1]]
        return whole
