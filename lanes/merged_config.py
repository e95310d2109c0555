"""Two versions of a store.yaml into one, key by key."""

from __future__ import annotations

from lanes import checked_yaml, file_text, yaml_edit
from lanes.checked_yaml import Value
from lanes.errors import Unreadable
from lanes.store_config import RETRIEVAL_MODES, StoreConfig, read_config, update_config

_DEFAULT = StoreConfig()
_LISTS = {name: list(getattr(_DEFAULT, name)) for name in ("merged_identities", "retrieval_modes")}


def merge_config(base: bytes | None, one: bytes | None, other: bytes | None) -> bytes | None:
    """Merge two versions; a file that isn't there has no keys, and None is returned where none are left.

    What both changed: set beats cleared, of two texts the smaller stays, of two limits the larger, and of lists
    every word that neither removed. Keys that nobody knows are carried along. Written on the text of one version, so
    that its comments stay. Raises `Unreadable`.
    """
    left, right = _values(one), _values(other)
    try:
        old = _values(base)
    except Unreadable:
        old = {}
    settled = {key: _settled(key, old.get(key), left.get(key), right.get(key)) for key in {*left, *right}}
    merged = {key: value for key, value in settled.items() if value}
    if not merged and (one is None or other is None):
        return None
    text = file_text.decode(max(filter(None, (one, other)))).removeprefix("\ufeff")
    newline = "\r\n" if "\r\n" in text else "\n"
    present = checked_yaml.load(text)
    for key in sorted({*present, *merged}):
        if (present.get(key) or None) != merged.get(key):
            text = yaml_edit.change(text, key, merged.get(key), newline)
    result = file_text.encode(text) if text.strip() else update_config(None, {})
    if _values(result) != merged:
        raise Unreadable("can't be changed without losing something")
    return result


def _values(data: bytes | None) -> dict[str, Value]:
    """Return the keys that are set."""
    if data is None:
        return {}
    read_config(data)
    values = checked_yaml.load(file_text.decode(data).removeprefix("\ufeff"))
    return {key: value for key, value in values.items() if value}


def _settled(key: str, base: Value | None, one: Value | None, other: Value | None) -> Value | None:
    if one == other or other == base:
        return one
    if one == base:
        return other
    if key in _LISTS:
        default = _LISTS[key]
        old, left, right = (set(map(str, words or default)) for words in (base, one, other))
        words = (left & right) | ((left ^ right) - old)
        order = RETRIEVAL_MODES.index if key == "retrieval_modes" else str
        return sorted(words, key=order)
    if not one or not other:
        return one or other
    if key == "max_fact_chars":
        return max(one, other, key=lambda number: int(str(number)))
    return min(one, other, key=lambda value: yaml_edit.dump({key: value}))
