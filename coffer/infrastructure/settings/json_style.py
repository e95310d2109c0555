"""How a JSON text is laid out, so that what is added looks like what is there."""

from __future__ import annotations

import json
from dataclasses import dataclass

from coffer.infrastructure.settings.document import Steps, newline
from coffer.infrastructure.settings.json_text import Node


def space_before(text: str, at: int) -> str:
    """Return the white space that ends at a place."""
    return text[len(text[:at].rstrip(" \t\r\n")) : at]


@dataclass(frozen=True, slots=True)
class Style:
    """A text's line ends, what it has after a colon or comma, and by what an entry is further in."""

    newline: str = "\n"
    gap: str = " "
    indent: str = "  "

    @classmethod
    def of(cls, text: str, root: Node) -> Style:
        """Return the style of a text, taken from its outermost entries."""
        spaced = root.kind != "object" or not root.members or text[root.members[0].node.start - 1].isspace()
        leads = (space_before(text, member.start) for member in root.members)
        indents = (lead.rpartition("\n")[2] for lead in leads if "\n" in lead)
        return cls(newline(text), " " if spaced else "", next(filter(None, indents), "  "))

    def name(self, key: str | int) -> str:
        """Return what stands before an entry's value."""
        return f"{json.dumps(key, ensure_ascii=False)}:{self.gap}"

    def in_line(self, value: object, keys: Steps = (), append: bool = False) -> str:
        """Return a value on one line, inside an object for each key that has spaces at both ends."""
        text = json.dumps(value, ensure_ascii=False, separators=("," + self.gap, ":" + self.gap))
        text = f"[ {text} ]" if append else text
        for key in reversed(keys):
            text = f"{{ {self.name(key)}{text} }}"
        return text

    def on_lines(self, value: object, keys: Steps = (), append: bool = False, base: str = "") -> str:
        """Return a value, inside an object for each key, on lines that all but the first begin with `base`."""
        value = [value] if append else value
        for key in reversed(keys):
            value = {key: value}
        lines = json.dumps(value, ensure_ascii=False, indent=self.indent)
        return lines.replace("\n", self.newline + base)
