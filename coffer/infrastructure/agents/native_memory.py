"""An agent's own memory, switched off and restored to exactly what it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from coffer.infrastructure.settings.document import Document

D = TypeVar("D", bound=Document)


def switched_off(document: D, keys: Sequence[str]) -> tuple[D, dict[str, str | None]]:
    """Return settings in which each key is false, and for each how it was written before, or None."""
    prior: dict[str, str | None] = {}
    for key in keys:
        path = key.split(".")
        prior[key] = document.source(path) if document.has(path) else None
        document = document.set(path, False)
    return document, prior


def restored(document: D, prior: Mapping[str, str | None]) -> D:
    """Return settings with the earlier values; a key that somebody has changed since keeps that."""
    for key, source in prior.items():
        path = key.split(".")
        if document.get(path) is False:
            document = document.remove(path) if source is None else document.restore(path, source)
    return document
