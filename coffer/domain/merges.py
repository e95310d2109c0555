"""Stores that are one project's: what speaks for it, what came of joining them, and who holds a retired name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

ReorgStatus = Literal["no_model", "empty", "skipped"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a store that may tell whose it is; `root` only when it can be read on this machine.

    `remote` is that of the root, or the recorded one when the root isn't here. `titles` are a few, shortened.
    """

    store: str
    display_name: str
    root: str | None
    remote: str | None
    fact_count: int
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model thinks of two stores."""

    same_project: bool
    confidence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two stores that seem to be one project's: `source` would go into `target`."""

    source: str
    target: str
    confidence: str
    judged_by: Literal["remote", "engine"]
    reason: str
    source_evidence: Evidence
    target_evidence: Evidence


@dataclass(frozen=True, slots=True)
class MergeScan:
    """What a look at all pairs of stores found; `truncated` when not all of them were judged."""

    engine: Literal["ok", "no_model"]
    truncated: bool
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class MergedStores:
    """What a merge did; `aliases` are all the project ids that lead to the target now."""

    target: str
    merged_files: int
    label_moved: bool
    root_moved: bool
    aliases: tuple[str, ...]
    reorg_status: ReorgStatus


def survivor_of(project_id: str, aliases: Mapping[str, Collection[str]]) -> str:
    """Return the id under which a project's memory is now; its own unless another store holds it as an alias.

    `aliases` are those of each store that exists. A chain leads to its last holder; of several that are equally
    last, as when two machines merged two stores in opposite directions, the smallest id counts.
    """
    reached = _reached(project_id, aliases)
    return min(
        one for one in reached if all(one in _reached(other, aliases) for other in _reached(one, aliases))
    )


def _reached(project_id: str, aliases: Mapping[str, Collection[str]]) -> set[str]:
    """Return an id, those that hold it, those that hold them, and so on."""
    reached: set[str] = set()
    waiting = {project_id}
    while waiting:
        reached |= waiting
        waiting = {
            holder for holder, held in aliases.items() if holder not in reached and waiting & set(held)
        }
    return reached
