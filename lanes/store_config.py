"""store.yaml: a store's label, its remote, the identities that were merged into it, its limits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lanes import checked_yaml, file_text, yaml_edit
from lanes.checked_yaml import Value
from lanes.errors import Unreadable
from lanes.names import is_ulid, single_line

FACT_CHARS = range(64, 32768 + 1)
RETRIEVAL_MODES = ("keyword", "vector", "grep")

_NUMBER = re.compile(r"[1-9][0-9]{1,4}")
_HEADING = "# Settings of this Coffer store.\n"


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """What a store.yaml says; a key that isn't there has its default."""

    label: str | None = None
    remote: str | None = None
    merged_identities: tuple[str, ...] = ()
    max_fact_chars: int = 8192
    retrieval_modes: tuple[str, ...] = ("keyword", "grep")


_DEFAULT = StoreConfig()


def read_config(data: bytes) -> StoreConfig:
    """Read a store.yaml; unknown keys are left to whoever knows them. Raises `Unreadable` naming the key."""
    return _config(checked_yaml.load(file_text.decode(data).removeprefix("\ufeff")))


def update_config(data: bytes | None, changes: Mapping[str, str | int | Sequence[str] | None]) -> bytes:
    """Set fields of `StoreConfig` by name; `data` is None for a new store.

    Unknown keys and comments stay, a value that is the default is left out. Raises `Unreadable` for a file,
    or a value, that `read_config` would refuse.
    """
    text = _HEADING if data is None else file_text.decode(data)
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix(mark)
    newline = "\r\n" if "\r\n" in text else "\n"
    expected = checked_yaml.load(text)
    for name, given in changes.items():
        value = _written(given)
        if value == _written(getattr(_DEFAULT, name)):
            value = None
        expected = yaml_edit.changed(expected, name, value)
        text = yaml_edit.change(text, name, value, newline)
    text = text if text.strip() else _HEADING
    if checked_yaml.load(text) != expected:
        raise Unreadable("can't be changed without losing something")
    _config(expected)
    return file_text.encode(mark + text)


def _written(value: str | int | Sequence[str] | None) -> Value | None:
    """Return a field as it stands in the file; None for what stands for nothing."""
    if value is None or isinstance(value, str):
        return single_line(value or "") or None
    return str(value) if isinstance(value, int) else list(value) or None


def _config(values: Mapping[str, Value]) -> StoreConfig:
    limit = values.get("max_fact_chars") or str(_DEFAULT.max_fact_chars)
    if not isinstance(limit, str) or not _NUMBER.fullmatch(limit) or int(limit) not in FACT_CHARS:
        raise Unreadable(f"max_fact_chars: not a number from {FACT_CHARS[0]} to {FACT_CHARS[-1]}")
    identities = _words(values, "merged_identities")
    if not all(map(is_ulid, identities)):
        raise Unreadable("merged_identities: not a list of store ids")
    modes = _words(values, "retrieval_modes") or _DEFAULT.retrieval_modes
    if not set(modes) <= set(RETRIEVAL_MODES):
        raise Unreadable(f"retrieval_modes: not a list of {', '.join(RETRIEVAL_MODES)}")
    return StoreConfig(_text(values, "label"), _text(values, "remote"), identities, int(limit), modes)


def _text(values: Mapping[str, Value], key: str) -> str | None:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise Unreadable(f"{key}: not a text")
    return single_line(value) or None


def _words(values: Mapping[str, Value], key: str) -> tuple[str, ...]:
    value = values.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unreadable(f"{key}: not a list of words")
    return tuple(str(item) for item in value)
