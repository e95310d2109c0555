"""One transaction: files and commits together, or a reason why the commits wait."""

from __future__ import annotations

import errno
import os

import pytest

from gitsync.commit import Outcome
from gitsync.errors import NotKept, WorkTreeChanged
from tests.gitsync.tree import AGENT, EDIT, TIME, Tree, adopt, message, step

FACT = "global/knowledge/inbox/2026-10/use-make.md"


def test_a_fact_is_a_file_and_a_commit(tree: Tree) -> None:
    """A remembered fact would be missing from git, or carry the wrong author, message or time."""
    outcome = tree.write({FACT: b"use make\n"}, "use make")
    assert outcome == Outcome((tree.git("rev-parse", "main"),), None)
    assert tree.committed(FACT) == b"use make\n" == tree.read(FACT)
    assert tree.git("show", "-s", "--format=%an <%ae> %at|%cn <%ce> %ct|%B", "main").strip() == (
        f"{AGENT.name} <{AGENT.email}> {TIME}|Coffer <coffer@localhost> {TIME}|{message('use make')}".strip()
    )
    assert tree.installs == 1
    tree.is_sound()


def test_each_step_is_one_commit_in_order(tree: Tree) -> None:
    """History would merge or reorder operations that were asked for together."""
    steps = [step({f"global/{n}.md": b"%d" % n}, f"fact {n}") for n in range(3)]
    steps += [step({"global/0.md": b"later"}, "again"), step({"global/1.md": None}, "gone")]
    outcome = tree.commit(steps)
    assert tree.log("%H %s") == [
        f"{commit} remember: {title}"
        for commit, title in zip(
            reversed(outcome.commits), ["gone", "again", "fact 2", "fact 1", "fact 0"], strict=True
        )
    ]
    assert tree.committed("global/0.md", outcome.commits[0]) == b"0"
    assert tree.committed("global/0.md") == b"later"
    assert tree.committed("global/1.md") is None
    assert tree.git("reflog", "main", "--format=%H").splitlines() == list(reversed(outcome.commits))
    assert len(tree.git("reflog", "HEAD", "--format=%gs").splitlines()) == 5
    tree.is_sound()


@pytest.mark.parametrize("count", [1, 60])
def test_a_long_chain_is_as_sound_as_a_short_one(tree: Tree, count: int) -> None:
    """Many operations at once go into a pack: git would refuse it, or a later commit couldn't build on it."""
    edits = [{f"global/knowledge/inbox/2026-10/fact-{n:03}.md": b"fact %d\n" % n} for n in range(count)]
    outcome = tree.commit([step(edit, f"fact {n}") for n, edit in enumerate(edits)])
    assert len(set(outcome.commits)) == count
    tree.write({FACT: b"one more\n"})
    tree.write({path: None for edit in edits for path in edit}, "clear")
    assert tree.git("ls-tree", "-r", "--name-only", "main") == FACT
    tree.is_sound()


def test_a_step_that_changes_nothing_makes_no_commit(tree: Tree) -> None:
    """Saying the same twice would fill history with empty commits, or be refused."""
    first = tree.write({FACT: b"x\n"}).commits
    tree.edit("global/notes.md", b"untracked")
    again = tree.commit([step({FACT: b"x\n"}), step({"global/none.md": None}), step({})])
    assert again == Outcome(first * 3, None)
    assert tree.installs == 2
    assert len(tree.log()) == 1


def test_deleting_the_last_file_leaves_an_empty_tree(tree: Tree) -> None:
    """Clearing the only store would leave a folder in git that no longer exists, or break the repository."""
    tree.write({FACT: b"x\n"})
    tree.write({FACT: None})
    assert tree.git("ls-tree", "-r", "main") == ""
    tree.write({FACT: b"back\n"})
    tree.is_sound()


def test_bytes_are_committed_as_they_are(tree: Tree) -> None:
    """Line ends, NULs or bytes that aren't UTF-8 would come back changed."""
    data = b"a\r\nb\n\xff\x00$Id$\n"
    tree.write({FACT: data, "global/empty.md": b"", "global/Übung 部署.md": data})
    assert tree.committed(FACT) == data
    assert tree.committed("global/Übung 部署.md") == data
    tree.is_sound()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a//b", "a/./b", ".git/config", "a/.GIT/hooks/x", ""])
def test_a_path_outside_the_tree_is_refused(tree: Tree, path: str) -> None:
    """A path made from untrusted text would reach outside the tree or into git's own folder."""
    with pytest.raises(ValueError, match="isn't the path"):
        tree.commit([step({path: b"x"})])
    assert tree.installs == 0


def test_what_a_person_left_uncommitted_is_committed_first_as_theirs(tree: Tree) -> None:
    """An edit by hand would be overwritten and nowhere to be found."""
    tree.write({FACT: b"agent\n", "global/other.md": b"other\n"})
    tree.edit(FACT, b"by hand\n")
    tree.edit("global/other.md", b"untouched by us\n")
    outcome = tree.write({FACT: b"agent again\n"}, "again")
    assert tree.log() == [
        f"{AGENT.name}|remember: again",
        "Ann|edit: by hand",
        f"{AGENT.name}|remember: a fact",
    ]
    assert outcome.commits == (tree.git("rev-parse", "main"),)
    assert tree.committed(FACT, "main~1") == b"by hand\n"
    assert tree.git("status", "--porcelain") == " M global/other.md"


def test_a_file_and_a_deletion_by_hand_are_adopted_too(tree: Tree) -> None:
    """A file made by hand, or a deletion, would be attributed to the agent that wrote there next."""
    tree.write({"global/a.md": b"a\n"})
    tree.edit("global/a.md", None)
    tree.edit("global/b.md", b"mine\n")
    tree.write({"global/a.md": b"a again\n", "global/b.md": b"agent\n"})
    assert tree.git("show", "--format=%an", "--name-status", "main~1").split() == [
        *("Ann", "D", "global/a.md", "A", "global/b.md")
    ]
    tree.is_sound()


def test_a_changed_file_stops_everything(tree: Tree) -> None:
    """A save in an editor at the last moment would be lost, or leave half a change and a lock behind."""
    tree.write({FACT: b"read\n"})
    tip = tree.git("rev-parse", "main")

    def check() -> None:
        raise WorkTreeChanged(FACT)

    tree.edit(FACT, b"saved meanwhile\n")
    with pytest.raises(WorkTreeChanged) as refused:
        tree.commit([step({FACT: b"written\n"})], check)
    assert refused.value.path == FACT
    assert tree.read(FACT) == b"saved meanwhile\n"
    assert tree.git("rev-parse", "main") == tip
    assert not list((tree.root / ".git").rglob("*.lock"))
    assert tree.write({FACT: b"next\n"}).pending is None
    assert tree.log("%an") == [AGENT.name, "Ann", AGENT.name]


def test_a_failing_rename_reaches_the_caller_and_frees_the_lock(tree: Tree) -> None:
    """A full disk while files are put in place would be reported as success, or lock the user's git out."""

    def check() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        tree.commit([step({FACT: b"x\n"})], check)
    assert not list((tree.root / ".git").rglob("*.lock"))
    assert tree.git("rev-list", "--all") == ""
    assert tree.write({"global/b.md": b"b\n"}).pending is None
    assert tree.log() == [f"{AGENT.name}|remember: a fact"]


@pytest.mark.report("B33")
@pytest.mark.parametrize(
    "point", ["blob", "tree", "commit-object", "new-index", "index-swapped", "ref-moved"]
)
def test_no_space_for_git_still_keeps_the_fact(tree: Tree, point: str) -> None:
    """With room for the file but not for git, the fact would be refused or its commit lost for good."""
    tree.write({FACT: b"old\n"})

    def full(reached: str) -> None:
        if reached == point:
            raise OSError(errno.ENOSPC, "No space left on device")

    tree.reached = full
    outcome = tree.write({FACT: b"new\n"}, "new")
    assert outcome == Outcome((), "the git folder can't be written (No space left on device)")
    assert tree.read(FACT) == b"new\n"
    assert tree.installs == 2
    tree.reached = lambda point: None
    assert tree.retry().pending is None
    assert tree.log() == [f"{AGENT.name}|remember: new", f"{AGENT.name}|remember: a fact"]
    tree.is_sound()


@pytest.mark.parametrize("blocked", ["objects", "coffer", "refs/heads"])
def test_a_git_folder_that_cannot_be_written_keeps_the_fact(tree: Tree, blocked: str) -> None:
    """A read-only .git would make `remember` fail although the file could be written."""
    tree.write({FACT: b"old\n"})
    place = tree.root / ".git" / blocked
    aside = tree.root / "aside"
    place.rename(aside)
    place.write_bytes(b"")
    tree.reopen() if blocked == "coffer" else None
    outcome = tree.write({"global/b.md": b"b\n"}, "another")
    assert outcome.pending
    assert tree.read("global/b.md") == b"b\n"
    place.unlink()
    aside.rename(place)
    assert tree.retry().pending is None
    assert tree.log()[0] == f"{AGENT.name}|remember: another"
    tree.is_sound()


@pytest.mark.parametrize("edit", [b"new\n", None])
def test_what_no_commit_can_hold_is_not_replaced(tree: Tree, edit: bytes | None) -> None:
    """With a damaged repository an edit or a deletion would erase the only copy of a text."""
    tree.write({FACT: b"old\n"})
    objects, aside = tree.root / ".git" / "objects", tree.root / "aside"
    objects.rename(aside)
    objects.write_bytes(b"")
    with pytest.raises(NotKept):
        tree.write({FACT: edit})
    assert tree.read(FACT) == b"old\n"
    objects.unlink()
    aside.rename(objects)
    tree.write({FACT: edit})
    assert tree.read(FACT) == edit
    tree.is_sound()


def test_two_flushes_and_the_right_order(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of power after the answer would take the fact with it, or every write would take twice as long."""
    tree.write({FACT: b"first\n"})
    seen: list[str] = []
    tree.reached = seen.append
    flush, folders = tree.repo.disk.flush, tree.repo.disk.flush_folders
    names: list[str] = []

    def noted_flush(files: list[str]) -> None:
        seen.append("flush")
        names.extend(os.path.relpath(name, tree.root).split("/")[0] for name in files)
        flush(files)

    monkeypatch.setattr(tree.repo.disk, "flush", noted_flush)
    monkeypatch.setattr(
        tree.repo.disk, "flush_folders", lambda each: (seen.append("flush folders"), folders(each))
    )
    tree.write({FACT: b"second\n"})
    assert seen == [
        *("temp-written", "blob", "tree", "commit-object", "flush", "flushed", "lock-taken", "renamed"),
        *("new-index", "index-swapped", "ref-moved", "unlocked", "flush folders", "dir-synced"),
    ]
    assert set(names) == {".git", "global"}


def test_a_branch_that_moves_while_we_prepare_is_built_upon(tree: Tree) -> None:
    """A commit by the user in the same instant would be undone by ours."""
    tree.write({FACT: b"x\n"})

    def race(point: str) -> None:
        if point == "flushed":
            tree.reached = lambda point: None
            tree.edit("theirs.txt", b"theirs\n")
            tree.git("add", "theirs.txt")
            tree.git("commit", "-qm", "theirs")

    tree.reached = race
    assert tree.write({FACT: b"y\n"}, "ours").pending is None
    assert tree.log("%s") == ["remember: ours", "theirs", "remember: a fact"]
    assert tree.committed("theirs.txt") == b"theirs\n"
    assert tree.installs == 2
    tree.is_sound()


def test_an_edit_while_we_commit_is_seen_by_git(tree: Tree) -> None:
    """git would believe an edit made in the instant of our commit to be the committed version, and hide it."""
    tree.write({FACT: b"old\n"})

    def save(point: str) -> None:
        if point == "renamed":
            tree.edit(FACT, b"NEW\n")  # the same size as what we wrote

    tree.reached = save
    tree.write({FACT: b"new\n"})
    assert tree.git("status", "--porcelain") == f" M {FACT}"


def test_a_removed_folder_is_no_obstacle(tree: Tree) -> None:
    """Removing a store's last file together with its folder would fail on flushing the folder."""
    tree.write({"projects/x/a.md": b"a\n", FACT: b"x\n"})

    def gone(point: str) -> None:
        if point == "ref-moved":
            os.rmdir(tree.root / "projects" / "x")

    tree.reached = gone
    assert tree.write({"projects/x/a.md": None}).pending is None
    tree.is_sound()


def test_the_message_and_name_are_made_fit_for_git(tree: Tree) -> None:
    """A title with a NUL or a name with angle brackets would make a commit that git calls corrupt."""
    one = step({FACT: b"x\n"}, "odd\0title")
    odd = type(one.author)("A <b>\n", "")
    tree.commit([type(one)(one.edits, one.message, odd, -5)])
    assert tree.log("%an|%at|%s") == ["A b|0|remember: oddtitle"]
    assert tree.git("fsck", "--strict", "--no-dangling") == ""


def test_the_user_step_is_what_adopt_returns(tree: Tree) -> None:
    """Adopted edits would carry a message that the caller didn't choose."""
    tree.edit(FACT, b"mine\n")
    tree.write({FACT: b"x\n"})
    assert tree.git("show", "-s", "--format=%B", "main~1").strip() == EDIT.strip()
    assert adopt({}).author.name == "Ann"
