"""How two commits are related: which one holds the other, what they have in common, what one has alone."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator

from gitsync.objects import Commit, Objects

_ONE, _OTHER, _COMMON = 1, 2, 4
_BOTH = _ONE | _OTHER
_SKEW = 3600  # seconds that the clocks of two machines may be apart


def contains(objects: Objects, tip: str | None, commit: str | None) -> bool:
    """Tell whether `commit` is `tip` or one of its ancestors; nothing is contained in everything."""
    if commit is None or tip == commit:
        return True
    return tip is not None and _reaches(objects, tip, commit)


def only_in(objects: Objects, tip: str | None, known: str | None) -> Iterator[Commit]:
    """Yield the commits that `tip` has and `known` hasn't, children before their parents as a rule.

    Where clocks are more than an hour apart, some that `known` has may be among them.
    """
    if tip is not None:
        for commit, colours in _painted(objects, tip, known, _SKEW):
            if colours == _ONE:
                yield commit


def common_ancestors(objects: Objects, one: str, other: str) -> list[str]:
    """Return the best common ancestors, sorted: those that no other common ancestor descends from.

    Several where two branches took each other in; none for histories that never met.
    """
    if one == other:
        return [one]
    common = [commit.id for commit, colours in _painted(objects, one, other) if colours == _BOTH]
    best = [
        commit
        for commit in common
        if not any(commit != above and _reaches(objects, above, commit) for above in common)
    ]
    return sorted(best)


def _reaches(objects: Objects, tip: str, commit: str) -> bool:
    return any(found.id == commit and colours & _ONE for found, colours in _painted(objects, tip, commit))


def _painted(
    objects: Objects, one: str, other: str | None, margin: int | None = None
) -> Iterator[tuple[Commit, int]]:
    """Walk down from both, newest first, and yield each commit with the sides that reach it.

    What is below a common commit is marked and passed by, and the walk ends when nothing else is left: that of
    `paint_down_to_common` in git's `commit-reach.c`. So whatever the clocks say, a common commit that is below no
    other is found. With a `margin` in seconds it goes on until no mark can reach what one side seemed to have alone.
    """
    colours: dict[str, int] = {}
    commits: dict[str, Commit] = {}
    waiting: list[tuple[int, str]] = []
    undecided: set[str] = set()  # those waiting that aren't below a common commit
    passed: dict[str, None] = {}
    oldest = math.inf  # of those that one side seemed to have alone

    def reach(oid: str, colour: int) -> None:
        before = colours.get(oid, 0)
        if before | colour == before:
            return
        if oid not in commits:
            commits[oid] = objects.commit(oid)
        colours[oid] = before | colour
        (undecided.discard if colours[oid] & _COMMON else undecided.add)(oid)
        heapq.heappush(waiting, (-commits[oid].time, oid))

    reach(one, _ONE)
    if other is not None:
        reach(other, _OTHER)
    while undecided or (margin is not None and waiting and margin - waiting[0][0] >= oldest):
        _, oid = heapq.heappop(waiting)
        undecided.discard(oid)
        passed[oid] = None
        commit, colour = commits[oid], colours[oid]
        if colour & _BOTH == _BOTH:
            colour |= _COMMON
        else:  # whoever comes to the first commit alone hasn't met the other yet
            oldest = min(oldest, commit.time if commit.parents else -math.inf)
        for parent in commit.parents:
            reach(parent, colour)
    yield from ((commits[oid], colours[oid]) for oid in passed)
