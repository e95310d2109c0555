"""The past read: a store's facts as they were, what changed between two moments, who wrote each line."""

from __future__ import annotations

import re

from coffer.application.curate import check_page, get_fact
from coffer.domain.errors import ConfigInvalid, MemoryNotFound
from coffer.domain.facts import Fact
from coffer.domain.history import BlamedLine, FileDiff, Moment
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef
from lanes.times import utc_time

MAX_REF_CHARS = 40
_COMMIT = re.compile(r"[0-9a-fA-F]{4,40}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


async def moment_of(ports: Ports, ref: str, field: str) -> Moment | None:
    """Return the moment that `ref` means, None for a time before the first commit.

    It is a commit, 4 to 40 hex digits of its id, or a time in ISO 8601, in UTC where it names no zone: then the
    newest commit not later than it. A day means its end. Raises ConfigInvalid naming `field`, and MemoryNotFound.
    """
    if _COMMIT.fullmatch(ref):
        return await ports.history.moment(ref.lower())
    time = utc_time(f"{ref}T23:59:59" if _DAY.fullmatch(ref) else ref)
    if time is None:
        raise ConfigInvalid(
            field, f"{ref[:MAX_REF_CHARS]!r} is neither a commit nor a time like 2026-06-03T09:30Z"
        )
    return await ports.history.moment_at(time)


async def facts_at(
    ports: Ports, store: StoreRef, ref: str, lane: str | None = None, limit: int = 50, offset: int = 0
) -> tuple[Moment | None, list[Fact], int]:
    """Return a moment, a page of the facts and topics that a store had then, newest first, and how many it had."""
    check_page(lane, limit, offset)
    moment = await moment_of(ports, ref, "ref")
    if moment is None:
        return None, [], 0
    facts, total = await ports.past.facts(moment.commit, store, lane, limit, offset)
    return moment, facts, total


async def diff(
    ports: Ports, store: StoreRef, start: str | None = None, end: str | None = None
) -> tuple[Moment | None, Moment | None, list[FileDiff], int]:
    """Return two moments, how the files of a store differ from the one to the other, and how many do.

    Without a start it is the time before the first commit, without an end the newest one. Of very many or very
    large differences a part is told.
    """
    first = None if start is None else await moment_of(ports, start, "from")
    if end is not None:
        last = await moment_of(ports, end, "to")
    else:
        tip = await ports.history.commits("", 1, None)
        last = Moment(tip[0].commit, tip[0].time) if tip else None
    files, total = await ports.history.differences(
        first.commit if first else None, last.commit if last else None, store.folder
    )
    return first, last, files, total


async def blame_fact(ports: Ports, store: StoreRef, fact_id: str) -> list[BlamedLine]:
    """Return who wrote each line of a fact's file, header and all, as it was last committed."""
    fact = await get_fact(ports, store, fact_id)
    lines = await ports.history.blame(fact.path)
    if lines is None:
        raise MemoryNotFound(f"A committed version of fact {fact_id!r}", f"store {store.name}")
    return lines
