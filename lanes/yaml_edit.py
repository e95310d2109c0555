"""YAML written so that every reader agrees on it, and edits that leave all other lines as they are."""

from __future__ import annotations

import re

from lanes.checked_yaml import Node, Value, compose
from lanes.errors import Unreadable

# What any YAML reader takes for this very string when it stands without quotes...
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9 _.,/()+'-]*[A-Za-z0-9_.)/+'])?")
# ...unless it is one of these.
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf", "infinity"}
_ESCAPED = re.compile(
    "[^ !#-\\[\\]-~\xa0-\xac\xae-\u061b\u061d-\u180d\u180f-\u200a\u2010-\u2027\u202f-\u205f"
    "\u2070-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def dump(fields: dict[str, Value], newline: str = "\n") -> str:
    """Write a mapping, a key a line, with quotes wherever some reader would see more than a string."""
    return "".join(line + newline for key, value in fields.items() for line in _lines(key, value))


def changed(fields: dict[str, Value], path: str, value: Value | None) -> dict[str, Value]:
    """Return the fields with `key` or `key.inner` set, or with None: taken out.

    A mapping that loses its last key goes too.
    """
    outer, _, key = path.rpartition(".")
    if outer:
        inner = fields.get(outer) or {}
        if value is None and (not isinstance(inner, dict) or key not in inner):
            return fields
        if not isinstance(inner, dict):
            raise Unreadable(f"`{outer}` holds no keys")
        key, value = outer, changed(inner, key, value) or None
    if value is None:
        return {name: kept for name, kept in fields.items() if name != key}
    return {**fields, key: value}


def change(text: str, path: str, value: Value | None, newline: str = "\n") -> str:
    """Do to the text what `changed` does to its values, touching nothing but the lines of that key.

    A caller compares the two and throws the text away when they differ: some layouts can't be edited so.
    """
    mapping = compose(text)
    outer, _, key = path.rpartition(".")
    indent = ""
    if outer:
        parent = _pairs(mapping)[outer][1] if outer in _pairs(mapping) else None
        if parent is None or parent.pairs is None:
            return text if value is None else change(text, outer, {key: value}, newline)
        if value is None and list(parent.pairs) == [key]:
            return change(text, outer, None, newline)
        mapping, indent = parent, "  "
    pairs = _pairs(mapping)
    if value is None and key not in pairs:
        return text
    if mapping and not mapping.block:
        return f"{text[: mapping.start]}{{{_flow_pairs(text, mapping, key, value)}}}{text[mapping.end :]}"
    if pairs:
        first = next(iter(pairs.values()))[0]
        indent = text[_line_start(text, first) : first]
        if indent.strip(" "):
            raise Unreadable("laid out in a way that can't be changed line by line")
    lines = [] if value is None else [line + newline for line in _lines(key, value, indent)]
    if key in pairs:
        start, node = pairs[key]
        old = text[node.start : node.end]
        one_line = isinstance(node.value, str) and "\n" not in old and old[:1] not in ("|", ">")
        if isinstance(value, str) and one_line:
            return text[: node.start] + " " * (not old) + _scalar(value) + text[node.end :]
        start, end = _line_start(text, start), _line_end(text, node.end)
    else:
        start = end = _line_end(text, list(pairs.values())[-1][1].end) if pairs else len(text)
        if start and text[start - 1] != "\n":
            lines.insert(0, newline)
    return text[:start] + "".join(lines) + text[end:]


def _pairs(mapping: Node | None) -> dict[str, tuple[int, Node]]:
    return (mapping.pairs if mapping else None) or {}


def _flow_pairs(text: str, mapping: Node, key: str, value: Value | None) -> str:
    """Write the inside of `{a: b, c: d}` anew, each pair but the changed one as it stands."""
    if set("#\r\n") & set(text[mapping.start : mapping.end]):
        raise Unreadable("a `{...}` over several lines can't be changed line by line")
    parts = {name: text[start : node.end] for name, (start, node) in _pairs(mapping).items()}
    if value is None:
        del parts[key]
    else:
        parts[key] = f"{_quoted(key)}: {_flow(value)}"
    return ", ".join(part + " " * part.endswith(":") for part in parts.values())


def _lines(key: str, value: Value, indent: str = "") -> list[str]:
    head = f"{indent}{_scalar(key)}:"
    if isinstance(value, str):
        return [f"{head} {_scalar(value)}"]
    if not value:
        return [f"{head} {_flow(value)}"]
    if isinstance(value, list):
        return [head, *(f"{indent}  - {_scalar(v) if isinstance(v, str) else _flow(v)}" for v in value)]
    return [head, *(line for name, inner in value.items() for line in _lines(name, inner, indent + "  "))]


def _flow(value: Value) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return f"{{{', '.join(f'{_quoted(name)}: {_flow(inner)}' for name, inner in value.items())}}}"


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.casefold() not in _WORDS else _quoted(text)


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if 0xD800 <= code < 0xE000:
        raise Unreadable("not valid Unicode (a lone surrogate)")
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _line_end(text: str, position: int) -> int:
    """Return the end of the line that a value ends in; a block scalar's end is the next line's start."""
    if text[position - 1 : position] == "\n":
        return position
    return text.find("\n", position) + 1 or len(text)
