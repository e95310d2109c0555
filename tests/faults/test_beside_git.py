"""A person who uses git in the memory tree while agents write into it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import invariants
from tests.faults.home import Home, Json, until

pytestmark = pytest.mark.faults

ROUNDS = 120


@pytest.fixture
def filled(home: Home) -> Home:
    """A home of three facts, whose user has two branches that change the same file of theirs."""
    home.start()
    for number in range(3):
        home.remember(f"Fact {number} was there before.")
    write(home, "notes.txt", "first\n")
    commit(home, "first")
    home.git("branch", "other")
    write(home, "notes.txt", "ours\n")
    commit(home, "ours")
    home.git("checkout", "-q", "other")
    write(home, "notes.txt", "theirs\n")
    commit(home, "theirs")
    home.git("checkout", "-q", "main")
    return home


def write(home: Home, name: str, text: str) -> None:
    (home.tree / name).write_text(text)


def commit(home: Home, subject: str, *paths: str) -> None:
    home.git("add", *(paths or ["notes.txt"]))
    home.git("commit", "-q", "-m", subject)


def changed_by(home: Home, subject: str) -> list[str]:
    """Return what the one commit of this subject changed."""
    (oid,) = home.git("log", "--all", "--format=%H", f"--grep=^{subject}$").splitlines()
    return home.git("show", "--format=", "--name-status", "--first-parent", "-m", oid).splitlines()


def patiently(home: Home, *arguments: str) -> None:
    """Run the user's git again while somebody else holds a lock, as a person would."""
    until(lambda: ".lock" not in (said := home.git(*arguments, check=False)) and "cannot lock ref" not in said)


def test_a_person_commits_while_agents_remember(home: Home) -> None:
    """A commit made by hand would take in an agent's files, or remove them, or leave them out for ever."""
    home.start().remember("The first fact makes the tree.")
    facts: list[Json] = []
    done = threading.Event()

    def remember() -> None:
        while not done.is_set():
            facts.append(home.remember(f"Fact {len(facts)} came in between."))

    writer = threading.Thread(target=remember)
    writer.start()
    try:
        for number in range(ROUNDS):
            write(home, f"by-hand-{number}.txt", f"{number}\n")
            patiently(home, "add", f"by-hand-{number}.txt")
            staged = home.git("diff", "--cached", "--name-only", "--", "*.txt")
            assert staged == f"by-hand-{number}.txt\n"
            patiently(home, "commit", "-q", *(["-a"] if number % 3 == 0 else []), "-m", f"by hand {number}")
    finally:
        done.set()
        writer.join()
    assert len(facts) > 20
    for number in range(ROUNDS):
        assert changed_by(home, f"by hand {number}") == [f"A\tby-hand-{number}.txt"]
    home.remember("The last fact takes along whatever waits.")
    until(lambda: home.findings("repository")[0]["status"] == "ok")
    listed = home.git("ls-tree", "-r", "--name-only", "main").splitlines()
    assert {home.path(fact) for fact in facts} <= set(listed)
    log = home.git("log", "--format=%s", "main").splitlines()
    assert [sum(f"remember: {fact['title']}" == line for line in log) for fact in facts] == [1] * len(facts)
    assert len(home.texts_of()) == len(facts) + 2
    home.check()


def start_rebase(home: Home) -> None:
    assert "CONFLICT" in home.git("rebase", "other", check=False)


def finish_rebase(home: Home) -> None:
    write(home, "notes.txt", "both\n")
    home.git("add", "notes.txt")
    home.git("rebase", "--continue")


def start_merge(home: Home) -> None:
    assert "CONFLICT" in home.git("merge", "other", check=False)


def finish_merge(home: Home) -> None:
    write(home, "notes.txt", "both\n")
    commit(home, "merged")
    assert changed_by(home, "merged") == ["M\tnotes.txt"]


def start_cherry_pick(home: Home) -> None:
    assert "CONFLICT" in home.git("cherry-pick", "other", check=False)


def finish_cherry_pick(home: Home) -> None:
    write(home, "notes.txt", "both\n")
    home.git("add", "notes.txt")
    home.git("cherry-pick", "--continue")
    assert home.git("show", "--format=%s", "--name-status").split() == ["theirs", "M", "notes.txt"]


def start_revert(home: Home) -> None:
    write(home, "notes.txt", "later\n")
    commit(home, "later")
    assert "CONFLICT" in home.git("revert", "--no-edit", "HEAD~1", check=False)


def start_am(home: Home) -> None:
    patch = home.git("format-patch", "--stdout", "-1", "other")
    home.git("am", "-q", check=False, input=patch)


def start_stash(home: Home) -> None:
    write(home, "notes.txt", "stashed\n")
    home.git("stash", "-q")
    write(home, "notes.txt", "meanwhile\n")
    commit(home, "meanwhile")
    assert "CONFLICT" in home.git("stash", "pop", check=False)


def finish_stash(home: Home) -> None:
    home.git("checkout", "-q", "--theirs", "notes.txt")
    commit(home, "settled")
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
    "other branch": (git("checkout", "-q", "other"), git("checkout", "-q", "main"), "branch other is checked out"),
    "unmerged": (start_stash, finish_stash, "unmerged files"),
}


@pytest.mark.report("B60")
@pytest.mark.parametrize("state", STATES)
def test_what_a_person_is_in_the_middle_of_is_left_alone(filled: Home, state: str) -> None:
    """A commit in the middle of a rebase or merge would spoil it; a refusal would lose what the agent learned."""
    begin, finish, reason = STATES[state]
    begin(filled)
    status, staged = filled.git("status", "--porcelain", "-uno"), filled.git("ls-files", "-s")
    fact = filled.remember("The new fact waits.")
    assert fact["commit"] == "pending" and reason in fact["pending_reason"], fact
    assert filled.texts("global", "new fact waits")
    assert reason in filled.findings("repository")[0]["message"]
    edited = filled.edit(fact["id"], "The new fact waits, edited.")
    assert edited["commit"] == "pending"
    assert (filled.git("status", "--porcelain", "-uno"), filled.git("ls-files", "-s")) == (status, staged)
    filled.restart()
    assert edited["text"] in filled.texts_of() and fact["text"] not in filled.texts_of()

    finish(filled)
    assert Path(fact["path"]).exists()
    filled.remember("The next fact takes the waiting ones along.")
    assert filled.committed(fact)
    log = filled.git("log", "--format=%an|%s", "main", "--", filled.path(fact)).splitlines()
    assert log == [
        "claude-code|edit: The new fact waits, edited.",
        "claude-code|remember: The new fact waits.",
    ]
    assert len(filled.texts_of()) == 5
    filled.check()


def test_a_persons_staging_stays_as_it_is(filled: Home) -> None:
    """What somebody has picked for their next commit would change under their hands."""
    write(filled, "notes.txt", "staged\n")
    write(filled, "new.txt", "new\n")
    filled.git("add", "notes.txt", "new.txt")
    filled.git("rm", "-q", "--cached", "notes.txt")
    write(filled, "loose.txt", "not staged\n")
    staged = filled.staged()
    fact = filled.remember("A fact beside the staged files.")
    assert fact["commit"] == "committed"
    filled.edit(fact["id"], "An edited fact beside the staged files.")
    filled.delete(filled.remember("A fact that goes again.")["id"])
    assert filled.staged() == staged
    filled.git("commit", "-q", "-m", "picked")
    assert changed_by(filled, "picked") == ["A\tnew.txt", "D\tnotes.txt"]
    filled.texts_of()
    filled.check(status=["?? loose.txt", "?? notes.txt"])


def test_a_fact_that_a_person_has_staged_is_theirs(filled: Home) -> None:
    """An agent's edit would be mixed into what a person is about to commit."""
    fact = filled.facts()[0]
    edited = Path(fact["path"]).read_text().replace("was there before", "was changed by hand")
    Path(fact["path"]).write_text(edited)
    filled.git("add", filled.path(fact))
    staged = filled.staged()
    answer = filled.edit(fact["id"], "Changed by the agent.")
    assert answer["commit"] == "pending" and "staged by you" in answer["pending_reason"]
    assert filled.staged() == staged
    filled.git("commit", "-q", "-m", "by hand")
    assert changed_by(filled, "by hand") == [f"M\t{filled.path(fact)}"]
    filled.remember("The next fact takes the waiting edit along.")
    assert filled.committed(fact)
    assert "changed by hand" in filled.history(filled.path(fact))
    assert "Changed by the agent." in filled.texts_of()
    filled.check()


def test_a_commit_with_its_editor_open(filled: Home) -> None:
    """While the message is being typed git holds its lock: agents would wait for the person, or undo each other."""
    begun, finished = filled.root / "begun", filled.root / "finished"
    os.mkfifo(begun)
    os.mkfifo(finished)
    editor = filled.root / "editor"
    editor.write_text(f'#!/bin/sh\necho > {begun}\ncat {finished}\necho "typed slowly" > "$1"\n')
    editor.chmod(0o700)
    write(filled, "notes.txt", "typed\n")
    user = threading.Thread(target=filled.git, args=("commit", "-q", "-a"), kwargs={"GIT_EDITOR": str(editor)})
    user.start()
    begun.read_bytes()
    fact = filled.remember("A fact that came while somebody was typing.")
    assert fact["commit"] == "pending" and "index.lock" in fact["pending_reason"]
    finished.write_text("")
    user.join()
    assert changed_by(filled, "typed slowly") == ["M\tnotes.txt"]
    until(lambda: filled.committed(fact))
    assert fact["text"] in filled.texts_of()
    filled.check()


def test_a_plain_commit_with_its_editor_open(filled: Home) -> None:
    """A commit whose message is still being typed would take out what agents added meanwhile."""
    begun, finished = filled.root / "begun", filled.root / "finished"
    os.mkfifo(begun)
    os.mkfifo(finished)
    editor = filled.root / "editor"
    editor.write_text(f'#!/bin/sh\necho > {begun}\ncat {finished}\necho "typed slowly" > "$1"\n')
    editor.chmod(0o700)
    write(filled, "notes.txt", "typed\n")
    filled.git("add", "notes.txt")
    said: list[str] = []
    user = threading.Thread(
        target=lambda: said.append(filled.git("commit", check=False, GIT_EDITOR=str(editor)))
    )
    user.start()
    begun.read_bytes()
    fact = filled.remember("A fact that came while somebody was typing.")
    assert fact["commit"] == "committed"
    finished.write_text("")
    user.join()
    # Git sees that the branch has moved, and gives the message back.
    assert "cannot lock ref" in said[0]
    filled.git("commit", "-q", "-m", "typed again")
    assert changed_by(filled, "typed again") == ["M\tnotes.txt"]
    assert fact["text"] in filled.texts_of()
    filled.check()


@pytest.mark.report("B12")
def test_an_old_commit_is_recalled_as_it_was(filled: Home) -> None:
    """After `git checkout` of last month, recall would answer with this month's facts, or lose them for good."""
    before = filled.texts_of()
    filled.git("checkout", "-q", filled.git("log", "--format=%H", "--reverse").splitlines()[0])
    assert filled.texts_of() == ["Fact 0 was there before."]
    filled.git("checkout", "-q", "main")
    assert filled.texts_of() == before
    filled.check()


def test_what_a_person_throws_away_stays_away(filled: Home) -> None:
    """Somebody who goes back with `git reset --hard` would find everything there again, or nothing in the log."""
    fact = filled.remember("A fact that its owner regrets.")
    filled.git("reset", "-q", "--hard", "HEAD~1")
    assert "regrets" not in " ".join(filled.texts_of())
    filled.restart()
    assert "regrets" not in " ".join(filled.texts_of())
    filled.remember("Life goes on.")
    assert filled.git("log", "--format=%s", "main", "--", filled.path(fact)) == ""
    assert "regrets" in invariants.texts_ever(filled.tree)
    filled.texts_of()
    filled.check()


def test_stash_clean_and_gc(filled: Home) -> None:
    """Tidying up in the memory tree would take facts with it that nobody meant."""
    (fact,) = [fact for fact in filled.facts() if fact["text"] == "Fact 2 was there before."]
    Path(fact["path"]).write_text(Path(fact["path"]).read_text().replace("before", "long before"))
    assert "Fact 2 was there long before." in filled.texts_of()
    filled.git("stash", "-q")
    assert "Fact 2 was there before." in filled.texts_of()
    filled.git("stash", "pop", "-q")
    assert "Fact 2 was there long before." in filled.texts_of()
    before = filled.texts_of()
    filled.git("clean", "-q", "-fd")
    filled.git("gc", "-q", "--prune=now")
    assert filled.texts_of() == before
    assert filled.remember("After the tidying.")["commit"] == "committed"
    filled.git("repack", "-q", "-a", "-d")
    filled.git("prune")
    edited = filled.edit(fact["id"], "After the repacking.")
    assert edited["commit"] == "committed"
    assert "long before" in filled.history(filled.path(fact))
    filled.texts_of()
    filled.check()


def test_clean_and_gc_while_a_commit_waits(filled: Home) -> None:
    """A fact that waited for its commit would be nowhere at all once somebody tidied up."""
    (filled.tree / ".git" / "index.lock").touch()
    gone, kept = filled.remember("This file is cleaned away."), filled.remember("This file stays.")
    assert (gone["commit"], kept["commit"]) == ("pending", "pending")
    Path(gone["path"]).unlink()
    (filled.tree / ".git" / "index.lock").unlink()
    filled.remember("The next fact takes the waiting ones along.")
    assert "This file is cleaned away." in filled.history(filled.path(gone))
    assert gone["text"] not in filled.texts_of() and kept["text"] in filled.texts_of()

    start_merge(filled)
    pruned = filled.remember("The objects of this one are pruned.")
    filled.git("gc", "-q", "--prune=now")
    filled.git("merge", "--abort")
    filled.remember("And the last one.")
    assert pruned["text"] in filled.in_head(filled.path(pruned))
    filled.texts_of()
    filled.check()


@pytest.mark.report("B63", "B66", "B76")
def test_a_hostile_configuration_changes_nothing(home: Home) -> None:
    """A user's signing, hooks, filters and templates would run, wait for a password, or change what is kept."""
    canary = home.root / "canary"
    evil = home.root / "evil"
    (evil / "hooks").mkdir(parents=True)
    program = evil / "program"
    program.write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    program.chmod(0o700)
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (evil / "hooks" / hook).symlink_to(program)
    (evil / "attributes").write_text("* filter=evil text eol=crlf ident\n")
    (evil / "excludes").write_text("*.md\n")
    settings = {
        "user.name": "Ada",
        "user.email": "ada@example.org",
        "commit.gpgsign": "true",
        "gpg.program": str(program),
        "core.hooksPath": str(evil / "hooks"),
        "core.fsmonitor": str(program),
        "core.attributesFile": str(evil / "attributes"),
        "core.excludesFile": str(evil / "excludes"),
        "core.autocrlf": "true",
        "core.editor": str(program),
        "filter.evil.clean": str(program),
        "filter.evil.smudge": str(program),
        "filter.evil.required": "true",
        "init.templateDir": str(evil),
        "init.defaultBranch": "trunk",
        "index.version": "4",
        "core.splitIndex": "true",
        "core.untrackedCache": "true",
        "extensions.objectFormat": "sha256",
    }
    for name, value in settings.items():
        subprocess.run(
            ["git", "config", "--file", home.user_home / ".gitconfig", name, value], check=True, umask=0o077
        )
    fact = home.start().remember("Lines end\nas they are, $Id$ too.")
    home.edit(fact["id"], "Lines end\nas they are, $Id$ and all.")
    home.texts_of()
    home.stop()
    home.start()
    home.delete(home.remember("A second one.")["id"])
    (home.user_home / ".gitconfig").unlink()
    assert not canary.exists()
    assert home.git("branch", "--show-current").strip() == "main"
    assert home.in_head(home.path(fact)).encode() == Path(fact["path"]).read_bytes()
    assert "gpgsig" not in home.git("cat-file", "commit", "HEAD")
    assert not (home.tree / ".git" / "hooks").exists()
    home.texts_of()
    home.check()
