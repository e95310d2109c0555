"""Where everything is in a JSON text: objects, arrays and values with their first and last character.

JSON as in RFC 8259, and what editors' settings have besides: comments of both kinds and a comma after the last
entry. Of a name that occurs twice in an object the last one counts, as it does for every agent's own parser.
"""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple, NoReturn

from coffer.infrastructure.settings.document import BOM, fault

MAX_DEPTH = 200
COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true\b|false\b|null\b")


class Node(NamedTuple):
    """A value: `text[start:end]` is how it is written."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    value: object
    members: tuple[Member, ...] = ()

    def member(self, step: str | int) -> Member | None:
        """Return the entry that counts under a name, or at a place."""
        if isinstance(step, int):
            return self.members[step] if self.kind == "array" and step < len(self.members) else None
        return next((each for each in reversed(self.members) if each.key == step), None)


class Member(NamedTuple):
    """An entry of an object or array; it starts with its name, and `comma` is where the one after it stands."""

    key: str | None
    start: int
    node: Node
    comma: int | None


def parse(path: str, text: str) -> Node:
    """Return the text's value. SettingsUnparsable with line and column when it isn't JSON."""
    return _Parser(path, text).document()


class _Parser:
    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._at = len(BOM) if text.startswith(BOM) else 0

    def document(self) -> Node:
        self._space()
        root = self._value(0)
        self._space()
        if self._at < len(self._text):
            self._refuse("there is text after the end")
        return root

    def _value(self, depth: int) -> Node:
        start = self._at
        opening = self._text[start : start + 1]
        if opening == "{" or opening == "[":
            if depth == MAX_DEPTH:
                self._refuse(f"it is nested more than {MAX_DEPTH} levels deep")
            self._at += 1
            members = self._members(depth, "}" if opening == "{" else "]")
            if opening == "[":
                return Node("array", start, self._at, [each.node.value for each in members], members)
            return Node("object", start, self._at, {each.key: each.node.value for each in members}, members)
        if not (found := (_STRING if opening == '"' else _SCALAR).match(self._text, start)):
            self._refuse(
                "a string isn't closed, or holds what must be escaped"
                if opening == '"'
                else "a value is missing"
            )
        self._at = found.end()
        try:
            return Node("scalar", start, self._at, json.loads(found[0]))
        except ValueError:
            self._at = start
            self._refuse("the number is too long")

    def _members(self, depth: int, closing: str) -> tuple[Member, ...]:
        members: list[Member] = []
        while True:
            self._space()
            if self._take(closing):
                return tuple(members)
            if members and members[-1].comma is None:
                self._refuse(f"`,` or `{closing}` is missing")
            start, key = self._at, None
            if closing == "}":
                if not (found := _STRING.match(self._text, self._at)):
                    self._refuse('a name in `"` is missing')
                key, self._at = json.loads(found[0]), found.end()
                self._space()
                if not self._take(":"):
                    self._refuse("`:` is missing")
                self._space()
            node = self._value(depth + 1)
            self._space()
            comma = self._at
            members.append(Member(key, start, node, comma if self._take(",") else None))

    def _space(self) -> None:
        if found := _SPACE.match(self._text, self._at):
            self._at = found.end()

    def _take(self, character: str) -> bool:
        if self._text.startswith(character, self._at):
            self._at += 1
            return True
        return False

    def _refuse(self, problem: str) -> NoReturn:
        if self._at >= len(self._text):
            problem = f"the text ends early: {problem}" if self._text.strip() else "it is empty"
        raise fault(self._path, self._text, self._at, problem)
