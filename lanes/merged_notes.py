"""Two versions of a fact or a topic into one: the header field by field, everything else line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lanes import file_text, frontmatter
from lanes.checked_yaml import Value
from lanes.errors import Unreadable
from lanes.times import utc_time

MergeLines = Callable[[bytes, bytes, bytes], bytes | None]
"""Merges two versions over their common one, line by line; None where both changed the same lines."""

_Fields = dict[str, Value]


def merge_note(base: bytes | None, one: bytes, other: bytes, merge_lines: MergeLines) -> bytes:
    """Merge two versions of a text, also of one without a header.

    All three are first given the fields that the merged text has, so that only what people wrote between and below
    them is left to merge. Raises `Unreadable` where that needs a person.
    """
    if base is None:
        raise Unreadable("two texts that never were one")
    texts = [file_text.decode(data) for data in (base, one, other)]
    versions = [_fields(text) for text in texts]
    fields = _merged(*versions)
    touched = {key for key in fields if any(version.get(key) != fields[key] for version in versions)}
    aligned = (file_text.encode(_given(*version, fields, touched)) for version in zip(texts, versions))
    merged = merge_lines(*aligned)
    if merged is None:
        raise Unreadable("both sides changed the same lines")
    if _fields(file_text.decode(merged)) != fields:
        raise Unreadable("the merged header would say something else")
    return merged


def _fields(text: str) -> _Fields:
    """Read the header, the keys of an inner mapping as `outer.key`."""
    flat: _Fields = {}
    for outer, value in frontmatter.parse(text).fields.items():
        inner = {f".{key}": held for key, held in value.items()} if isinstance(value, dict) else {"": value}
        if any("." in key[1:] for key in (f".{outer}", *inner)):
            raise Unreadable("a key with a dot can't be told from two")
        flat |= {outer + key: held for key, held in inner.items()}
    return flat


def _given(text: str, old: _Fields, fields: _Fields, touched: set[str]) -> str:
    """Give a text the merged fields; those that any version changed are written alike in all, quotes too."""
    changes = {
        key: value
        for key in sorted({*old, *fields})
        if (value := fields.get(key)) != old.get(key) or (key in touched and isinstance(value, str))
    }
    return frontmatter.update(text, changes) if changes else text


def _merged(base: Mapping[str, Value], one: Mapping[str, Value], other: Mapping[str, Value]) -> _Fields:
    settled = {key: _settled(key, base.get(key), one.get(key), other.get(key)) for key in {*one, *other}}
    return {key: value for key, value in settled.items() if value is not None}


def _settled(key: str, base: Value | None, one: Value | None, other: Value | None) -> Value | None:
    if one == other or other == base:
        return one
    if one == base:
        return other
    times = sorted(
        (time, text) for text in (one, other) if isinstance(text, str) and (time := utc_time(text))
    )
    if not times or key not in ("created_at", "updated_at"):
        raise Unreadable(f"both sides changed `{key}`")
    return times[0 if key == "created_at" else -1][1]
