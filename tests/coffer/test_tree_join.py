"""Two machines' memory trees brought together: the same files on both, and every text still there."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest

from coffer.domain.errors import SyncFailed, SyncPaused
from coffer.infrastructure.tree_files import TreeFiles
from coffer.infrastructure.tree_join import Joined, conflict_name, join
from gitsync.objects import Objects
from gitsync.refs import BRANCH
from tests.gitsync.conftest import user_home as user_home
from tests.gitsync.tree import TIME, Tree, adopt

STORE = "projects/01J9Z3K4M5N6P7Q8R9S0T1V2W3"
CONFIG = f"{STORE}/store.yaml"
FACT = f"{STORE}/knowledge/inbox/2026-10/use-make.md"
TOPIC = f"{STORE}/knowledge/build.md"
RULES = f"{STORE}/rules/rules.md"
BASE = {
    FACT: b"use make\n",
    TOPIC: b"".join(b"line %d\n" % number for number in range(20)),
    RULES: b"- one\n",
    CONFIG: b"name: pond\n",
}


class Machine(Tree):
    """A memory tree that takes others' commits in the way the daemon does."""

    def __init__(self, root: Path, home: Path) -> None:
        super().__init__(root, home)
        self.checked: list[tuple[str, str]] = []

    def take(
        self, other: Machine, over: str | None = None, forward: bool = False, now: int = TIME + 9
    ) -> Joined:
        self.git("fetch", "-q", str(other.root), "main:refs/coffer/theirs", "--force")
        tip = self.git("rev-parse", "refs/coffer/theirs")

        def check(objects: Objects, before: str, after: str) -> None:
            self.checked.append((before, after))

        files = TreeFiles(str(self.root), self._reached)
        return join(self.repo, files, adopt, tip, over, check, now, forward)

    def files(self) -> dict[str, bytes]:
        found = self.git("-c", "core.quotePath=false", "ls-files", "-z").split("\0")
        files = {path: self.read(path) for path in found if path}
        assert all(self.committed(path) == data for path, data in files.items())
        return {path: data for path, data in files.items() if data is not None}

    def tip(self) -> str | None:
        return self.repo.refs.value(BRANCH)


@pytest.fixture
def one(tmp_path: Path, user_home: Path) -> Machine:
    machine = Machine(tmp_path / "one", user_home)
    machine.write(BASE, "start")
    return machine


@pytest.fixture
def other(one: Machine, tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "other", one.home)
    machine.take(one)
    return machine


def settle(one: Machine, other: Machine) -> dict[str, bytes]:
    """Bring both to the same commit as a remote between them would; return the files."""
    one.take(other)
    other.take(one)
    if one.tip() != other.tip():
        one.take(other)
    assert one.tip() == other.tip()
    assert one.files() == other.files()
    for machine in (one, other):
        machine.is_sound()
    return one.files()


def same_either_way(one: Machine, other: Machine) -> dict[str, bytes]:
    """Merge on both machines at once and see that the trees are the same; then settle."""
    theirs = one.git("rev-parse", "main")
    one.take(other)
    one.git("update-ref", "refs/coffer/before", theirs)
    copy = Machine(one.root.parent / "copy", one.home)
    copy.git("fetch", "-q", str(one.root), "refs/coffer/before:refs/heads/main", "--update-head-ok")
    copy.git("reset", "-q", "--hard")
    other.take(copy)
    assert one.git("rev-parse", "main^{tree}") == other.git("rev-parse", "main^{tree}")
    return settle(one, other)


def test_a_new_machine_gets_everything(one: Machine, other: Machine) -> None:
    """A second machine would begin without the memory of the first."""
    assert other.files() == BASE
    assert other.tip() == one.tip()
    assert other.take(one) == Joined()
    assert oct((other.root / FACT).stat().st_mode & 0o777) == "0o600"
    other.is_sound()


def test_turns_make_no_merges(one: Machine, other: Machine) -> None:
    """History would fill with merges although the machines were used one after the other."""
    for number in range(3):
        one.write({f"{STORE}/knowledge/{number}.md": b"%d\n" % number}, "one")
        assert other.take(one, now=TIME + number) == Joined(pulled=1)
        other.write({FACT: b"%d\n" % number}, "other")
        assert one.take(other) == Joined(pulled=1)
    assert one.git("rev-list", "--merges", "--count", "main") == "0"
    settle(one, other)


def test_both_machines_work_at_once(one: Machine, other: Machine) -> None:
    """What was learned on one machine would take the place of what was learned on the other."""
    one.write({FACT: b"use just\n", TOPIC: BASE[TOPIC].replace(b"line 2\n", b"line two\n")}, "one")
    one.write({RULES: b"- one\n- from here\n"}, "one")
    other.write({TOPIC: BASE[TOPIC].replace(b"line 17\n", b"line seventeen\n")}, "other")
    other.write({RULES: b"- one\n- from there\n", f"{STORE}/knowledge/new.md": b"new\n"}, "other")
    other.write({FACT: None}, "other")
    joined = one.take(other)
    assert joined == Joined(pulled=3) and f"Coffer-Kept: {FACT}" in one.git("log", "-1", "--format=%B")
    assert one.git("show", "-s", "--format=%s", "main") == "sync: take in 3 commits of the remote"
    assert f"Coffer-Kept: {FACT}" in one.git("show", "-s", "--format=%b", "main")
    files = settle(one, other)
    assert files[FACT] == b"use just\n"
    assert b"line two\n" in files[TOPIC] and b"line seventeen\n" in files[TOPIC]
    assert {b"- from here", b"- from there"} <= set(files[RULES].splitlines())
    assert files[f"{STORE}/knowledge/new.md"] == b"new\n"


def test_the_same_line_changed_on_both(one: Machine, other: Machine) -> None:
    """One of two texts would be lost, or the file hold conflict markers that an agent reads as knowledge."""
    one.write({FACT: b"use just\n"}, "one")
    other.write({FACT: b"use ninja\n"}, "other")
    files = same_either_way(one, other)
    assert sorted(data for path, data in files.items() if path.startswith(FACT[:-3])) == [
        *(b"use just\n", b"use ninja\n")
    ]
    (loser,) = {b"use just\n", b"use ninja\n"} - {files[FACT]}
    assert files[conflict_name(FACT, loser)] == loser


def test_names_that_are_one_on_other_machines(one: Machine, other: Machine) -> None:
    """Where capitals or accents don't count, one of two facts would overwrite the other."""
    folder = f"{STORE}/knowledge"
    accent = normalize("NFD", f"{folder}/é.md")
    one.write({f"{folder}/Deploy.md": b"one\n", f"{folder}/é.md": b"composed\n", f"{folder}/X/a.md": b"x\n"})
    other.write({f"{folder}/deploy.md": b"other\n", accent: b"decomposed\n", f"{folder}/x/a.md": b"X\n"})
    files = same_either_way(one, other)
    assert len({normalize("NFC", path).casefold() for path in files}) == len(files) == len(BASE) + 6
    assert files[f"{folder}/Deploy.md"] == b"one\n" and files[f"{folder}/é.md"] == b"composed\n"
    assert {b"other\n", b"decomposed\n", b"x\n", b"X\n"} <= set(files.values())


def test_a_name_that_windows_cannot_hold(one: Machine, other: Machine) -> None:
    """A file with a colon in its name would stop every sync on a machine that can't write it."""
    odd = f"{STORE}/knowledge/what: now?.md"
    one.write({odd: b"1\n"})
    joined = other.take(one)
    (name,) = joined.renamed
    assert joined.pulled == 1 and other.read(name) == b"1\n" and other.read(odd) is None
    assert other.git("show", "-s", "--format=%s", "main").startswith("sync: give files names")
    assert settle(one, other)[name] == b"1\n"
    # The machine that doesn't mind makes the name again, while the other has gone on with its own.
    one.write({odd: b"2\n"})
    other.write({name: b"corrected\n"}, "corrected")
    files = settle(one, other)
    assert {b"2\n", b"corrected\n"} <= set(files.values())
    assert odd not in files


def test_a_copy_in_the_root_and_beside_a_store(one: Machine, other: Machine) -> None:
    """Two READMEs, one from the host's web page, would stop sync, or one be lost."""
    one.write({"README.md": b"one\n"})
    other.write({"README.md": b"other\n"})
    files = same_either_way(one, other)
    assert {b"one\n", b"other\n"} <= set(files.values())


def test_strangers_meet(tmp_path: Path, one: Machine) -> None:
    """Joining a machine that already had a memory would drop one of the two."""
    stranger = Machine(tmp_path / "stranger", one.home)
    stranger.write({RULES: b"- two\n", f"{STORE}/knowledge/new.md": b"new\n", CONFIG: b"name: pool\n"})
    files = settle(one, stranger)
    assert {*BASE, f"{STORE}/knowledge/new.md"} <= set(files)
    assert set(files[RULES].splitlines()) >= {b"- one", b"- two"}


def test_merged_over_a_commit_that_was_left(one: Machine, other: Machine) -> None:
    """After the user went back by hand on purpose, the next sync would bring all of it in again."""
    synced = other.tip()
    one.write({FACT: b"wrong\n", TOPIC: None}, "wrong")
    other.take(one)
    wrong = other.tip()
    one.write({RULES: b"- one\n- two\n"}, "right")
    other.git("reset", "-q", "--hard", str(synced))
    other.reopen()
    assert other.take(one, over=wrong).pulled == 2
    assert other.files() == {**BASE, RULES: b"- one\n- two\n"}
    assert other.git("merge-base", "--is-ancestor", str(wrong), "main") == ""
    one.take(other)
    assert one.files() == other.files()


def test_only_forward(one: Machine, other: Machine) -> None:
    """A push by the user's own git would undo what was written meanwhile."""
    one.write({FACT: b"1\n"})
    assert other.take(one, forward=True).pulled == 1
    other.write({FACT: b"2\n"})
    one.write({FACT: b"3\n"})
    with pytest.raises(SyncFailed, match=r"^fetch first"):
        other.take(one, forward=True)
    assert other.files()[FACT] == b"2\n"


def test_what_the_check_refuses_changes_nothing(one: Machine, other: Machine) -> None:
    """The question whether so much may go would come after it is gone."""
    one.write(dict.fromkeys(BASE), "clear")

    def check(objects: Objects, before: str, after: str) -> None:
        assert before == other.git("rev-parse", "main^{tree}") and list(objects.files(after)) == []
        raise SyncPaused("mass_removal", "all of it", ())

    other.git("fetch", "-q", str(one.root), "main:refs/coffer/theirs")
    files = TreeFiles(str(other.root), other._reached)
    with pytest.raises(SyncPaused):
        join(other.repo, files, adopt, str(one.tip()), None, check, TIME, False)
    assert other.files() == BASE
    other.is_sound()


def test_an_edit_in_the_moment_of_a_sync(one: Machine, other: Machine) -> None:
    """A save in an editor would be overwritten by what comes in."""
    one.write({FACT: b"theirs\n"})

    def save(point: str) -> None:
        if point == "lock-taken":
            other.reached = lambda point: None
            other.edit(FACT, b"saved\n")

    other.reached = save
    assert other.take(one).pulled == 1
    assert {b"theirs\n", b"saved\n"} <= set(other.files().values())
    assert "Ann|edit: by hand" in other.log()
    settle(one, other)


def test_a_person_keeps_saving(one: Machine, other: Machine) -> None:
    """A program that writes without end would hold up every write of ours for ever."""
    one.write({TOPIC: BASE[TOPIC].replace(b"line 17\n", b"line seventeen\n")})
    saved = 0

    def save(point: str) -> None:
        nonlocal saved
        if point == "lock-taken":
            saved += 1
            other.edit(TOPIC, BASE[TOPIC].replace(b"line 2\n", b"line %d\n" % -saved))

    other.reached = save
    with pytest.raises(SyncFailed, match="keeps changing"):
        other.take(one)
    assert b"line %d\n" % -saved in (other.read(TOPIC) or b"")
    other.is_tidy()


def test_while_git_is_not_free(one: Machine, other: Machine) -> None:
    """Half of what came in would stand in the tree of a person who is in the middle of a rebase."""
    one.write({FACT: b"theirs\n", f"{STORE}/knowledge/deep/new.md": b"new\n"})
    other.git("checkout", "-q", "--detach")
    with pytest.raises(SyncFailed, match=r"^Git isn't free in the memory tree: HEAD is detached"):
        other.take(one)
    other.edit(FACT, b"mine\n")
    with pytest.raises(SyncFailed, match="HEAD is detached"):
        other.take(one)
    assert other.read(f"{STORE}/knowledge/deep/new.md") is None
    other.is_tidy()
    other.git("checkout", "-q", "main")
    assert other.take(one).pulled == 1
    settle(one, other)


@pytest.mark.parametrize("thing", ["symlink", "folder", "file", "link above"])
def test_something_else_is_in_the_way(one: Machine, other: Machine, thing: str, tmp_path: Path) -> None:
    """A link in the tree would let a sync write outside of it, or a person's folder be replaced."""
    new = f"{STORE}/knowledge/deep/new.md"
    one.write({new: b"new\n", f"{STORE}/knowledge/other.md": b"x\n"})
    place, above = other.root / new, (other.root / new).parent
    outside = tmp_path / "outside"
    outside.mkdir()
    if thing == "file":
        above.write_bytes(b"mine\n")
    elif thing == "link above":
        above.symlink_to(outside)
    else:
        above.mkdir()
        place.mkdir() if thing == "folder" else place.symlink_to(outside / "target")
    with pytest.raises(SyncFailed, match=r"\bdeep\b.* is in the way"):
        other.take(one)
    assert other.read(f"{STORE}/knowledge/other.md") is None
    assert list(outside.iterdir()) == []
    assert other.git("fsck", "--strict", "--no-dangling") == ""
    other.is_tidy()


def test_a_store_that_went_leaves_no_empty_folders(one: Machine, other: Machine) -> None:
    """A store that was merged into another on one machine would live on as an empty one on the next."""
    one.write(dict.fromkeys(BASE), "merged")
    assert other.take(one).pulled == 1
    assert not (other.root / STORE).exists()
    other.is_sound()


def test_no_space_in_the_middle(one: Machine, other: Machine) -> None:
    """With the disk full some files would be the other machine's and their history not here, for good."""
    one.write({FACT: b"theirs\n", RULES: b"- two\n", f"{STORE}/knowledge/new.md": b"new\n"})
    left = 2

    def full(point: str) -> None:
        nonlocal left
        left -= point == "renamed"
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")

    other.reached = full
    with pytest.raises(SyncFailed, match="can't be written: No space left"):
        other.take(one)
    other.reached = lambda point: None
    other.take(one)
    assert settle(one, other)[RULES] == b"- two\n"


@pytest.mark.report("B09", "B14", "B22")
@pytest.mark.parametrize(
    ("point", "times"),
    [
        *(("temp-written", 2), ("flushed", 1), ("lock-taken", 1), ("new-index", 1), ("index-swapped", 1)),
        *(("ref-moved", 1), ("unlocked", 1), ("dir-synced", 1)),
        *(("renamed", times) for times in range(1, 5)),
    ],
)
@pytest.mark.parametrize("larger", [True, False])
def test_killed_in_the_middle(one: Machine, other: Machine, point: str, times: int, larger: bool) -> None:
    """After kill -9 in the middle of a sync one of two texts would be gone, and no later sync bring it back."""
    texts = [b"use just\n", b"use ninja\n"]
    mine, theirs = texts if larger else texts[::-1]
    one.write({FACT: theirs, f"{STORE}/knowledge/new.md": b"new\n", TOPIC: None}, "one")
    other.write({FACT: mine, RULES: b"- one\n- other\n"}, "other")
    undisturbed = Machine(one.root.parent / "undisturbed", one.home)
    undisturbed.take(other)
    undisturbed.take(one)
    assert killed(other, point, times, lambda: other.take(one)) or (point, times) == ("renamed", 4)
    other.reopen()
    assert other.recover().pending is None
    assert {*texts} <= {*other.files().values(), *one.files().values()}
    assert mine in other.files().values()
    other.take(one)
    assert other.git("rev-parse", "main^{tree}") == undisturbed.git("rev-parse", "main^{tree}")
    assert {*texts, b"new\n"} <= set(settle(one, other).values())


def killed(machine: Machine, point: str, times: int, work: Callable[[], object]) -> bool:
    """Do `work` in a child that is killed at `point` the n-th time; tell whether it came there."""
    left = times

    def reached(here: str) -> None:
        nonlocal left
        left -= here == point
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def child() -> None:
        machine.reached = reached
        machine.reopen()
        work()
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def test_of_a_text_that_is_there_twice_each_machine_may_remove_another_one(
    one: Machine, other: Machine
) -> None:
    """Two machines that each tidy up, one here and one there, would have removed the text from both places."""
    journal, second = f"{STORE}/journal/2026-10-01.md", f"{STORE}/journal/2026-10-02.md"
    entry = b"<!-- entry 2026-10-01T10:00:00Z user test -->\n%s\n"
    held, more = b"# 2026-10-01\n\n" + entry % b"dug", b"# 2026-10-01\n\n" + entry % b"dug" + entry % b"swept"
    twin = TOPIC.replace("build", "twin")
    one.write({twin: BASE[TOPIC], journal: held, second: more}, "twice")
    other.take(one)
    one.write({twin: None, journal: None}, "here")
    other.write({TOPIC: None, journal: more, second: None}, "there")
    files = settle(one, other)
    assert BASE[TOPIC] in (files.get(TOPIC), files.get(twin))
    assert all(any(word in data for data in files.values()) for word in (b"dug", b"swept"))


def test_two_texts_that_two_machines_remove_are_gone(one: Machine, other: Machine) -> None:
    """Texts that share a line, as most do, would come back when two machines had each removed one."""
    paths = [f"{STORE}/knowledge/{name}.md" for name in ("ash", "elm")]
    one.write({path: b"# Tree\n\n%s\n" % path.encode() for path in paths}, "both")
    other.take(one)
    for machine, path in zip((one, other), paths):
        machine.write({path: None}, "removed")
    assert not set(paths) & set(settle(one, other))
