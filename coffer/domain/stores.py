"""Stores: which memory a name or a scope means, and what is told of one."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from coffer.domain.errors import StoreNotFound
from lanes.layout import store_folder
from lanes.names import GLOBAL_PROJECT_ID, encode_crockford

Scope = Literal["project", "global", "both"]

# 26 digits have room for 130 bits; an id has 128, so the first digit is at most 7.
_NAME = re.compile(r"project-([0-7][0-9A-HJKMNP-TV-Z]{25})")


@dataclass(frozen=True, slots=True)
class StoreRef:
    """One store by its project id; it need not exist yet."""

    project_id: str

    @property
    def name(self) -> str:
        return "global" if self.is_global else f"project-{self.project_id}"

    @property
    def scope(self) -> Literal["project", "global"]:
        return "global" if self.is_global else "project"

    @property
    def is_global(self) -> bool:
        return self.project_id == GLOBAL_PROJECT_ID

    @property
    def folder(self) -> str:
        """The store's folder inside the memory tree."""
        return store_folder(self.project_id)


GLOBAL = StoreRef(GLOBAL_PROJECT_ID)


def store_named(name: str) -> StoreRef:
    """Return the store that `name` means; raise StoreNotFound for anything but a legal name."""
    if name == "global":
        return GLOBAL
    match = _NAME.fullmatch(name)
    if match is None or match[1] == GLOBAL_PROJECT_ID:
        raise StoreNotFound(name)
    return StoreRef(match[1])


def store_at(folder: str) -> StoreRef:
    """Return the store that has a folder of the memory tree, `global` or `projects/<id>`."""
    return GLOBAL if folder == GLOBAL.folder else StoreRef(folder.rpartition("/")[2])


def project_id(key: str) -> str:
    """Return the permanent id of the project identified by `key` (`remote:…` or an absolute path).

    The first 16 bytes of the key's SHA-256 as one big-endian number in 26 Crockford digits.
    """
    digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
    return encode_crockford(int.from_bytes(digest[:16], "big"))


@dataclass(frozen=True, slots=True)
class Project:
    """The project that a folder belongs to, as this machine sees it.

    `store` is the one by its id; its memory may be in another, which `coffer.application.scope` finds.
    `path_store` is the one by the root's path, for a project that is known by its remote.
    """

    store: StoreRef
    root: str
    branch: str | None
    head: str | None
    remote: str | None
    path_store: StoreRef | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """One store as REST tells it; paths are absolute, times ISO 8601 UTC."""

    name: str
    scope: str
    project_id: str
    display_name: str
    label: str | None
    project_root: str | None
    remote: str | None
    store_dir: str
    exists: bool
    fact_count: int
    merged_identities: tuple[str, ...]
    max_fact_chars: int
    retrieval_modes: tuple[str, ...]
    created_at: str | None
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class StoreMetrics:
    """How much one store holds; counts are of texts, `disk_bytes` of files."""

    fact_count: int
    topic_count: int
    inbox_count: int
    rule_count: int
    journal_days: int
    handoff_count: int
    disk_bytes: int
    last_write_at: str | None
