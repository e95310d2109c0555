"""A memory tree in the middle of something, on another branch, in the past, or just tidied up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import invariants
from tests.faults.home import Home

pytestmark = pytest.mark.faults


def start_rebase(home: Home) -> None:
    assert "CONFLICT" in home.git("rebase", "other", check=False)


def finish_rebase(home: Home) -> None:
    home.write("notes.txt", "both\n")
    home.git("add", "notes.txt")
    home.git("rebase", "--continue")


def start_merge(home: Home) -> None:
    assert "CONFLICT" in home.git("merge", "other", check=False)


def finish_merge(home: Home) -> None:
    home.write("notes.txt", "both\n")
    home.commit("merged")
    assert home.changed_by("merged") == ["M\tnotes.txt"]


def start_cherry_pick(home: Home) -> None:
    assert "CONFLICT" in home.git("cherry-pick", "other", check=False)


def finish_cherry_pick(home: Home) -> None:
    home.write("notes.txt", "both\n")
    home.git("add", "notes.txt")
    home.git("cherry-pick", "--continue")
    assert home.git("show", "--format=%s", "--name-status").split() == ["theirs", "M", "notes.txt"]


def start_revert(home: Home) -> None:
    home.write("notes.txt", "later\n")
    home.commit("later")
    assert "CONFLICT" in home.git("revert", "--no-edit", "HEAD~1", check=False)


def start_am(home: Home) -> None:
    patch = home.git("format-patch", "--stdout", "-1", "other")
    home.git("am", "-q", check=False, input=patch)


def start_stash(home: Home) -> None:
    home.write("notes.txt", "stashed\n")
    home.git("stash", "-q")
    home.write("notes.txt", "meanwhile\n")
    home.commit("meanwhile")
    assert "CONFLICT" in home.git("stash", "pop", check=False)


def finish_stash(home: Home) -> None:
    home.git("checkout", "-q", "--theirs", "notes.txt")
    home.commit("settled")
    home.git("stash", "drop", "-q")


def git(*arguments: str) -> Callable[[Home], None]:
    return lambda home: home.git(*arguments) and None


STATES: dict[str, tuple[Callable[[Home], None], Callable[[Home], None], str]] = {
    "rebase": (start_rebase, finish_rebase, "rebase in progress"),
    "rebase, aborted": (start_rebase, git("rebase", "--abort"), "rebase in progress"),
    "merge": (start_merge, finish_merge, "merge in progress"),
    "merge, aborted": (start_merge, git("merge", "--abort"), "merge in progress"),
    "cherry-pick": (start_cherry_pick, finish_cherry_pick, "cherry-pick in progress"),
    "revert": (start_revert, git("revert", "--abort"), "revert in progress"),
    "am": (start_am, git("am", "--abort"), "in progress"),
    "bisect": (git("bisect", "start", "HEAD", "HEAD~2"), git("bisect", "reset"), "bisect in progress"),
    "detached": (git("checkout", "-q", "HEAD~1"), git("checkout", "-q", "main"), "HEAD is detached"),
    "other branch": (
        git("checkout", "-q", "other"),
        git("checkout", "-q", "main"),
        "branch other is checked out",
    ),
    "unmerged": (start_stash, finish_stash, "unmerged files"),
}


@pytest.mark.report("B60")
@pytest.mark.parametrize("state", STATES)
def test_what_a_person_is_in_the_middle_of_is_left_alone(branched: Home, state: str) -> None:
    """A commit in the middle of a rebase or merge would spoil it; a refusal would lose what the agent learned."""
    begin, finish, reason = STATES[state]
    begin(branched)
    status, staged = branched.git("status", "--porcelain", "-uno"), branched.git("ls-files", "-s")
    fact = branched.remember("The new fact waits.")
    assert fact["commit"] == "pending" and reason in fact["pending_reason"], fact
    assert branched.texts("global", "new fact waits")
    assert reason in branched.findings("repository")[0]["message"]
    edited = branched.edit(fact["id"], "The new fact waits, edited.")
    assert edited["commit"] == "pending"
    assert (branched.git("status", "--porcelain", "-uno"), branched.git("ls-files", "-s")) == (status, staged)
    branched.restart()
    assert edited["text"] in branched.texts_of() and fact["text"] not in branched.texts_of()

    finish(branched)
    assert Path(fact["path"]).exists()
    branched.remember("The next fact takes the waiting ones along.")
    assert branched.committed(fact)
    log = branched.git("log", "--format=%an|%s", "main", "--", branched.path(fact)).splitlines()
    assert log == [
        "claude-code|edit: The new fact waits, edited.",
        "claude-code|remember: The new fact waits.",
    ]
    assert len(branched.texts_of()) == 5
    branched.check()


@pytest.mark.report("B12")
def test_an_old_commit_is_recalled_as_it_was(branched: Home) -> None:
    """After `git checkout` of last month, recall would answer with this month's facts, or lose them for good."""
    before = branched.texts_of()
    branched.git("checkout", "-q", branched.git("log", "--format=%H", "--reverse").splitlines()[0])
    assert branched.texts_of() == ["Fact 0 was there before."]
    branched.git("checkout", "-q", "main")
    assert branched.texts_of() == before
    branched.check()


def test_what_a_person_throws_away_stays_away(branched: Home) -> None:
    """Somebody who goes back with `git reset --hard` would find everything there again, or nothing in the log."""
    fact = branched.remember("A fact that its owner regrets.")
    branched.git("reset", "-q", "--hard", "HEAD~1")
    assert "regrets" not in " ".join(branched.texts_of())
    branched.restart()
    assert "regrets" not in " ".join(branched.texts_of())
    branched.remember("Life goes on.")
    assert branched.git("log", "--format=%s", "main", "--", branched.path(fact)) == ""
    assert "regrets" in invariants.texts_ever(branched.tree)
    branched.texts_of()
    branched.check()


def test_stash_clean_and_gc(branched: Home) -> None:
    """Tidying up in the memory tree would take facts with it that nobody meant."""
    (fact,) = [fact for fact in branched.facts() if fact["text"] == "Fact 2 was there before."]
    Path(fact["path"]).write_text(Path(fact["path"]).read_text().replace("before", "long before"))
    assert "Fact 2 was there long before." in branched.texts_of()
    branched.git("stash", "-q")
    assert "Fact 2 was there before." in branched.texts_of()
    branched.git("stash", "pop", "-q")
    assert "Fact 2 was there long before." in branched.texts_of()
    before = branched.texts_of()
    branched.git("clean", "-q", "-fd")
    branched.git("gc", "-q", "--prune=now")
    assert branched.texts_of() == before
    assert branched.remember("After the tidying.")["commit"] == "committed"
    branched.git("repack", "-q", "-a", "-d")
    branched.git("prune")
    edited = branched.edit(fact["id"], "After the repacking.")
    assert edited["commit"] == "committed"
    assert "long before" in branched.history(branched.path(fact))
    branched.texts_of()
    branched.check()


def test_clean_and_gc_while_a_commit_waits(branched: Home) -> None:
    """A fact that waited for its commit would be nowhere at all once somebody tidied up."""
    (branched.tree / ".git" / "index.lock").touch()
    gone, kept = branched.remember("This file is cleaned away."), branched.remember("This file stays.")
    assert (gone["commit"], kept["commit"]) == ("pending", "pending")
    Path(gone["path"]).unlink()
    (branched.tree / ".git" / "index.lock").unlink()
    branched.remember("The next fact takes the waiting ones along.")
    assert "This file is cleaned away." in branched.history(branched.path(gone))
    assert gone["text"] not in branched.texts_of() and kept["text"] in branched.texts_of()

    start_merge(branched)
    pruned = branched.remember("The objects of this one are pruned.")
    branched.git("gc", "-q", "--prune=now")
    branched.git("merge", "--abort")
    branched.remember("And the last one.")
    assert pruned["text"] in branched.in_head(branched.path(pruned))
    branched.texts_of()
    branched.check()
