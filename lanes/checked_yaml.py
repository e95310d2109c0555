"""The harmless part of YAML.

Lane files come from editors, other machines and other people, so nothing is built before the parser's events
have been looked at: no anchors, aliases, tags or doubled keys, one mapping, little nesting, few events.
Every scalar is a string, as with PyYAML's BaseLoader: `no`, `1.10` and `2024-01-01` stay what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from lanes.errors import Unreadable

Value: TypeAlias = "str | list[Value] | dict[str, Value]"

MAX_BYTES = 8 * 1024
MAX_EVENTS = 200
MAX_DEPTH = 3

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Node:
    """One value and the characters of the text that it covers.

    `pairs`, of a mapping alone: where each key starts, and its value. `block`: spread over lines of its own
    by indentation, not written in brackets.
    """

    value: Value
    start: int
    end: int
    pairs: dict[str, tuple[int, Node]] | None = None
    block: bool = False


def load(text: str) -> dict[str, Value]:
    """Read a mapping; an empty text is an empty one. Raises `Unreadable` naming the line."""
    root = compose(text)
    return root.value if root and isinstance(root.value, dict) else {}


def compose(text: str) -> Node | None:
    """Read a mapping with its places in the text; None when there is nothing but comments."""
    try:
        if len(text.encode("utf-8")) > MAX_BYTES:
            raise Unreadable("longer than 8 KiB")
        return _document(_events(text))
    except UnicodeEncodeError:
        raise Unreadable("not valid Unicode (a lone surrogate)") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Unreadable(f"line {line}: {error.problem or error.context}") from None
    except yaml.YAMLError:
        raise Unreadable("characters that YAML doesn't allow") from None


def _events(text: str) -> Iterator[Any]:
    for count, event in enumerate(yaml.parse(text, Loader=_LOADER)):
        if count >= MAX_EVENTS:
            raise _refused(event, "too many values")
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _refused(event, "anchors and aliases are not read")
        if getattr(event, "tag", None) is not None:
            raise _refused(event, "tags are not read")
        yield event


def _document(events: Iterator[Any]) -> Node | None:
    root = None
    for event in events:
        if isinstance(event, yaml.NodeEvent):
            if root is not None:
                raise _refused(event, "a second document")
            root = _node(event, events, 1)
            if root.pairs is None:
                raise _refused(event, "not a list of `key: value`")
    return root


def _node(event: Any, events: Iterator[Any], depth: int) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.ScalarEvent):
        return Node(event.value, start, end)
    if depth > MAX_DEPTH:
        raise _refused(event, "nested too deeply")
    block = not event.flow_style
    items: list[Value] = []
    pairs: dict[str, tuple[int, Node]] = {}
    mapping = isinstance(event, yaml.MappingStartEvent)
    while not isinstance(inner := next(events), yaml.CollectionEndEvent):
        if mapping:
            if not isinstance(inner, yaml.ScalarEvent):
                raise _refused(inner, "a key is not a word")
            if inner.value in pairs:
                raise _refused(inner, f"the key `{inner.value}` stands twice")
            node = _node(next(events), events, depth + 1)
            pairs[inner.value] = (_start(inner), node)
        else:
            node = _node(inner, events, depth + 1)
            items.append(node.value)
        end = node.end
    # The end event of a block collection stands at the next key, behind comments that aren't the block's.
    end = end if block else _end(inner)
    if mapping:
        return Node({name: node.value for name, (_, node) in pairs.items()}, start, end, pairs, block)
    return Node(items, start, end, None, block)


def _start(event: Any) -> int:
    return int(event.start_mark.index)


def _end(event: Any) -> int:
    return int(event.end_mark.index)


def _refused(event: Any, problem: str) -> Unreadable:
    return Unreadable(f"line {event.start_mark.line + 1}: {problem}")
