"""Ancestors as the real git finds them, in whatever shape of history."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pygit2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitsync.ancestry import common_ancestors, contains, only_in
from gitsync.objects import EMPTY_TREE, Objects

TIME = 1_750_000_000
History = Sequence[tuple[set[int], int]]
"""For each commit the numbers of its parents, counted back from it, and how much later than the last one it is."""


class Histories:
    """A bare repository in which each test makes commits of its own."""

    def __init__(self, root: Path) -> None:
        self.git = pygit2.init_repository(str(root), bare=True)
        self.root = root

    def make(self, history: History) -> tuple[Objects, list[str]]:
        """Write a history; the same one has the same commits."""
        objects, now = Objects(self.git), TIME
        made: list[str] = []
        for number, (back, later) in enumerate(history):
            now += later
            parents = [made[number - step] for step in sorted(back) if step <= number]
            who = b"A <a@b> %d +0000" % max(0, now)
            made.append(self._write(objects, parents, who, b"%d\n" % number))
        return objects, made

    def _write(self, objects: Objects, parents: Sequence[str], who: bytes, message: bytes) -> str:
        oid = objects.add_commit(EMPTY_TREE, parents, who, who, message)
        for kind, data in objects.fresh.values():
            assert kind == b"commit"
            self.git.odb.write(pygit2.enums.ObjectType.COMMIT, data)
        objects.discard_fresh()
        return oid

    def said(self, *arguments: str) -> tuple[int, list[str]]:
        done = subprocess.run(
            ["git", "--git-dir", str(self.root), *arguments],
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
            text=True,
        )
        assert done.returncode in (0, 1), done.stderr
        return done.returncode, done.stdout.split()


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Histories:
    made = Histories(tmp_path_factory.mktemp("histories"))
    made.git.odb.write(pygit2.enums.ObjectType.TREE, b"")
    return made


def shapes(later: st.SearchStrategy[int]) -> st.SearchStrategy[History]:
    return st.lists(st.tuples(st.sets(st.integers(1, 5), max_size=3), later), min_size=2, max_size=24)


def ancestors(history: History) -> list[set[int]]:
    """Return for each commit those that it holds, itself too, by counting it out."""
    held: list[set[int]] = []
    for number, (back, _) in enumerate(history):
        held.append({number}.union(*(held[number - step] for step in back if step <= number)))
    return held


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes(st.integers(0, 2)), st.randoms(use_true_random=False))
def test_the_relation_of_two_commits_is_what_git_says(
    histories: Histories, history: History, chance: random.Random
) -> None:
    """A merge would begin from the wrong common version, and undo what both sides had."""
    objects, made = histories.make(history)
    one, other = chance.choice(made), made[-1]
    _, bases = histories.said("merge-base", "--all", one, other)
    assert common_ancestors(objects, one, other) == common_ancestors(objects, other, one) == sorted(bases)
    assert contains(objects, other, one) == (
        histories.said("merge-base", "--is-ancestor", one, other)[0] == 0
    )
    for tip, known in ((one, other), (other, one)):
        found = [commit.id for commit in only_in(objects, tip, known)]
        assert sorted(found) == sorted(histories.said("rev-list", f"{known}..{tip}")[1])


@settings(max_examples=50)
@given(shapes(st.integers(-10_000_000, 10_000_000)), st.data())
def test_clocks_do_not_decide(histories: Histories, history: History, data: st.DataObject) -> None:
    """A machine whose clock is years off would make the others take its commits for rewritten history."""
    objects, made = histories.make(history)
    held = ancestors(history)
    first, second = (data.draw(st.integers(0, len(made) - 1)) for _ in range(2))
    shared = held[first] & held[second]
    best = {each for each in shared if not any(each in held[above] for above in shared - {each})}
    assert common_ancestors(objects, made[first], made[second]) == sorted(made[each] for each in best)
    assert contains(objects, made[first], made[second]) == (second in held[first])


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sets(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 1800))), st.data()
)
def test_what_one_side_has_alone_is_exact_within_an_hour(
    histories: Histories, parents: History, data: st.DataObject
) -> None:
    """Commits that the remote has long had would be counted, and searched for secrets, once more."""
    clocks = [data.draw(st.integers(0, 1800)) for _ in parents]
    offsets = [later - earlier for earlier, later in zip([0, *clocks], clocks)]
    history = [(set[int](), 0), *((back, offset) for (back, _), offset in zip(parents, offsets))]
    objects, made = histories.make(history)
    held = ancestors(history)
    first, second = (data.draw(st.integers(0, len(made) - 1)) for _ in range(2))
    found = [commit.id for commit in only_in(objects, made[first], made[second])]
    assert sorted(found) == sorted(made[each] for each in held[first] - held[second])
    assert len(set(found)) == len(found)


def test_commits_of_one_second_are_counted_once(histories: Histories) -> None:
    """After a batch of writes everything in it would count as new, though the remote has all but the last."""
    objects, made = histories.make([({1}, 0)] * 30)
    for known in range(0, 30, 3):
        assert {commit.id for commit in only_in(objects, made[-1], made[known])} == set(made[known + 1 :])
        assert list(only_in(objects, made[known], made[-1])) == []


def test_a_clock_of_1970_in_the_middle_makes_nothing_new(histories: Histories) -> None:
    """A machine that started without a clock would make the whole history seem to be new to the remote."""
    base = [({1}, 60)] * 20
    #          1970             back again      the other way around it         both taken in
    history = [*base, ({1}, -TIME), ({1}, TIME), ({3}, 60), ({1, 2}, 60), ({3}, 60)]
    objects, made = histories.make(history)
    tip, known = made[-2], made[-1]
    assert {commit.id for commit in only_in(objects, tip, known)} == {tip, made[-3]}


def test_nothing_and_strangers(histories: Histories) -> None:
    """The first sync, with one side empty, or with a repository that has nothing to do with memory, would fail."""
    objects, made = histories.make([(set(), 0), ({1}, 1), (set(), 1), ({1}, 1)])
    assert contains(objects, made[0], None) and contains(objects, None, None)
    assert not contains(objects, None, made[0])
    assert common_ancestors(objects, made[1], made[3]) == []
    assert common_ancestors(objects, made[1], made[1]) == [made[1]]
    assert list(only_in(objects, None, made[0])) == []
    assert [commit.id for commit in only_in(objects, made[1], None)] == [made[1], made[0]]
    assert {commit.id for commit in only_in(objects, made[1], made[3])} == {made[0], made[1]}


def test_old_history_is_not_read_again(histories: Histories, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sync would take longer than the one before."""
    history = [*[({1}, 60)] * 2000, ({1}, 60), ({2}, 60), ({1, 2}, 60), ({2, 3}, 60)]
    objects, made = histories.make(history)
    read: list[str] = []
    commit = objects.commit
    monkeypatch.setattr(objects, "commit", lambda oid: (read.append(oid), commit(oid))[1])
    assert contains(objects, made[-1], made[-30])
    assert not contains(objects, made[-30], made[-1])
    assert len(common_ancestors(objects, made[-1], made[-2])) == 2
    assert len(list(only_in(objects, made[-1], made[-30]))) == 28
    assert len(read) < 500
