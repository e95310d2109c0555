"""The daemon killed at every named place of every operation that writes, and while it recovers."""

from __future__ import annotations

import random
import signal
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from bench.preloaded import Preloaded
from coffer.infrastructure.failpoints import NAMES
from lanes.names import encode_crockford
from tests import invariants
from tests.faults.home import AGENT, Gone, Home

pytestmark = pytest.mark.faults

# From the first of these on, the new files are the truth.
PLACED = NAMES[NAMES.index("renamed") :]
# What only removes files stages none.
UNSTAGED = ("before-temp", "temp-written")
KEPT, FIRST, SECOND = (
    "The staging cluster is blue.",
    "Deploys happen on Monday.",
    "Deploys happen on Tuesday.",
)
_numbers = count(1)


@dataclass
class Operation:
    """One thing that an agent asks for, in a store of its own that holds KEPT and what `before` adds.

    A kill among its renames may leave what is `between`: texts that are there twice for a while, or removals
    half done. `run` can be asked again after a kill that undid it.
    """

    home: Home
    store: str = field(default_factory=lambda: f"project-{encode_crockford(next(_numbers))}")
    fact: str = ""
    commit: str = ""
    before: tuple[str, ...] = (KEPT, FIRST)
    after: tuple[str, ...] = (KEPT,)
    between: tuple[tuple[str, ...], ...] = ()

    def prepare(self) -> None:
        self.home.remember(KEPT, self.store)
        self.fact = self.home.remember(FIRST, self.store)["id"]

    def run(self) -> None:
        raise NotImplementedError


@dataclass
class Remember(Operation):
    before: tuple[str, ...] = (KEPT,)
    after: tuple[str, ...] = (KEPT, SECOND)

    def prepare(self) -> None:
        self.home.remember(KEPT, self.store)

    def run(self) -> None:
        self.home.remember(SECOND, self.store)


@dataclass
class EditFact(Operation):
    after: tuple[str, ...] = (KEPT, SECOND)

    def run(self) -> None:
        self.home.edit(self.fact, SECOND, self.store)


@dataclass
class Delete(Operation):
    def run(self) -> None:
        self.home.delete(self.fact, self.store)


@dataclass
class Supersede(Operation):
    after: tuple[str, ...] = (KEPT, SECOND)
    between: tuple[tuple[str, ...], ...] = ((KEPT, FIRST, SECOND),)

    def run(self) -> None:
        self.home.remember(SECOND, self.store, supersedes=[self.fact])


@dataclass
class Clear(Operation):
    after: tuple[str, ...] = ()
    between: tuple[tuple[str, ...], ...] = ((KEPT,), (FIRST,))

    def run(self) -> None:
        self.home.ask("DELETE", f"/memory_stores/{self.store}/facts", None, AGENT).done()


@dataclass
class Restore(Operation):
    before: tuple[str, ...] = (KEPT, SECOND)
    after: tuple[str, ...] = (FIRST, KEPT)

    def prepare(self) -> None:
        super().prepare()
        versions = self.home.get(f"/memory_stores/{self.store}/facts/{self.fact}/history").done()["versions"]
        self.commit = versions[0]["commit"]
        self.home.edit(self.fact, SECOND, self.store)

    def run(self) -> None:
        path = f"/memory_stores/{self.store}/facts/{self.fact}/restore"
        self.home.ask("POST", path, {"commit": self.commit}, AGENT).done()


OPERATIONS = {
    "remember": Remember,
    "edit": EditFact,
    "delete": Delete,
    "remember, superseding": Supersede,
    "clear": Clear,
    "restore": Restore,
}


def is_reached(operation: str, point: str) -> bool:
    return not (operation in ("delete", "clear") and point in UNSTAGED)


@pytest.mark.report("B09", "B59")
@pytest.mark.parametrize(
    ("operation", "point"),
    [
        *((operation, point) for operation in OPERATIONS for point in NAMES if is_reached(operation, point)),
        ("remember, superseding", "renamed@2"),
        ("remember, superseding", "renamed@3"),
        ("clear", "renamed@2"),
    ],
)
def test_a_kill_leaves_the_old_or_the_new(home: Home, operation: str, point: str) -> None:
    """A power cut in the middle of a write would cost a text, or leave half of one, or a lock that blocks git."""
    trial = OPERATIONS[operation](home)
    home.start()
    trial.prepare()
    home.texts_of(trial.store)
    home.restart(f"{point}:kill")
    answered = dies(trial)
    assert answered == point.startswith("sql")

    home.start()
    found = tuple(home.texts_of(trial.store))
    name = point.partition("@")[0]
    if name not in PLACED:
        assert found == tuple(sorted(trial.before))
    elif name == "renamed":
        assert found in {tuple(sorted(texts)) for texts in (trial.after, *trial.between)}
    else:
        assert found == tuple(sorted(trial.after))
    ever = invariants.texts_ever(home.tree)
    assert all(text in ever for text in (*trial.before, *found))
    assert commits(home, trial) == ([f"claude-code|{operation.partition(',')[0]}"] if name in PLACED else [])
    assert home.git("status", "--porcelain") == ""

    if found != tuple(sorted(trial.after)):
        trial.run()
        assert home.texts_of(trial.store) == sorted(trial.after)
    home.check()


def dies(trial: Operation) -> bool:
    """Run an operation, then a recall if it is answered; tell whether it was. The daemon dies at one of them."""
    answered = False
    with pytest.raises(Gone):
        trial.run()
        answered = True
        trial.home.texts_of(trial.store)
    trial.home.died()
    return answered


def commits(home: Home, trial: Operation) -> list[str]:
    """Return author and operation of each commit that the trial's preparation didn't make."""
    folder = f"projects/{trial.store.removeprefix('project-')}"
    made = home.git(
        "log", "--format=%an|%(trailers:key=Coffer-Op,valueonly,separator=%x2C)", "main", "--", folder
    )
    prepared = {Remember: 1, Restore: 3}.get(type(trial), 2)
    return made.splitlines()[:-prepared]


# Recovery passes these before its commit stands, and the others once only: afterwards nothing is left to do.
REPEATED = (
    "blob",
    "tree",
    "commit-object",
    "flushed",
    "lock-taken",
    "new-index",
    "index-swapped",
    "sql-begun",
)
RECOVERY = [name for name in NAMES if name not in (*UNSTAGED, "renamed", "acked")]


@pytest.mark.parametrize("first", ["renamed", "index-swapped", "ref-moved"])
def test_recovery_may_be_killed_twice(home: Home, first: str) -> None:
    """Whoever pulls the plug while the machine comes up would find a memory that never comes up again."""
    # Once the branch has moved, what is left to do is to bring the index up to date.
    points = RECOVERY if first != "ref-moved" else ("flushed", "dir-synced", "sql-begun", "sql-committed")
    for number, point in enumerate(points):
        old, new = f"Recovery {number} of {first} began.", f"Recovery {number} of {first} is done."
        fact = home.start().remember(old)
        home.texts_of()
        home.restart(f"{first}:kill")
        with pytest.raises(Gone):
            home.edit(fact["id"], new)
        home.died()
        kills = sum(is_killed_at(home, point) for _ in range(2))
        has_work = first != "ref-moved" or point.startswith("sql")
        assert kills == (1 + (point in REPEATED) if has_work else 0), point
        home.start()
        assert new in home.texts_of() and old not in home.texts_of()
        assert home.git("status", "--porcelain") == ""
        log = home.git("log", "--format=%an|%s", "main", "--", home.path(fact)).splitlines()
        assert log == [f"claude-code|edit: {new}", f"claude-code|remember: {old}"]
        home.kill()
    home.start()
    home.texts_of()
    home.check()


def is_killed_at(home: Home, point: str) -> bool:
    """Start a daemon and recall; tell whether it died at the failpoint."""
    try:
        home.start(f"{point}:kill").texts_of()
    except Gone:
        home.died()
        return True
    home.kill()
    return False


def test_the_first_start_may_be_killed_at_any_moment(tmp_path: Path, preloaded: Preloaded) -> None:
    """A machine that goes down in the minute Coffer is first used would leave half a repository for ever."""
    chance = random.Random(1)
    for number in range(20):
        root = tmp_path / str(number)
        root.mkdir()
        home = Home(root, preloaded).start(serving=False)
        end = threading.Timer(chance.random() * 0.15, home.daemon.send, [signal.SIGKILL])
        end.start()
        with suppress(Gone):
            home.wait_until_serving()
            home.remember(FIRST)
        end.join()
        home.died()
        home.start()
        home.remember(SECOND)
        assert home.texts_of() in ([SECOND], [FIRST, SECOND])
        home.check()


def test_what_a_killed_daemon_left_is_swept_away(home: Home) -> None:
    """Files of dead daemons would pile up in the memory, and be synced to every machine."""
    home.start().remember(KEPT)
    home.kill()
    left = [
        *(home.home / "daemon.json.999999.tmp", home.home / "token.999999.tmp"),
        *(home.tree / ".coffer-new-repository" / ".git" / "HEAD", home.tree / "global" / ".coffer-9-1.tmp"),
        *(home.tree / ".git" / "coffer" / name for name in ("owner-999999", "index-999999", "object-999999")),
        home.tree / ".git" / "coffer" / "packing" / "pack" / "pack-1.pack",
        home.tree / ".git" / "objects" / "tmp_object_git2_x",
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    home.start()
    assert home.texts_of() == [KEPT]
    assert [path for path in left if path.exists()] == []
    home.check()
