"""A person who uses git in the memory tree while agents write into it."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.faults.home import Home, Json, until

pytestmark = pytest.mark.faults

ROUNDS = 100


def patiently(home: Home, *arguments: str) -> None:
    """Run the user's git again while somebody else holds a lock, as a person would."""
    until(
        lambda: ".lock" not in (said := home.git(*arguments, check=False)) and "cannot lock ref" not in said
    )


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
            home.write(f"by-hand-{number}.txt", f"{number}\n")
            patiently(home, "add", f"by-hand-{number}.txt")
            staged = home.git("diff", "--cached", "--name-only", "--", "*.txt")
            assert staged == f"by-hand-{number}.txt\n"
            patiently(home, "commit", "-q", *(["-a"] if number % 3 == 0 else []), "-m", f"by hand {number}")
    finally:
        done.set()
        writer.join()
    assert len(facts) > 20
    for number in range(ROUNDS):
        assert home.changed_by(f"by hand {number}") == [f"A\tby-hand-{number}.txt"]
    home.remember("The last fact takes along whatever waits.")
    until(lambda: home.findings("repository")[0]["status"] == "ok")
    listed = home.git("ls-tree", "-r", "--name-only", "main").splitlines()
    assert {home.path(fact) for fact in facts} <= set(listed)
    log = home.git("log", "--format=%s", "main").splitlines()
    assert [sum(f"remember: {fact['title']}" == line for line in log) for fact in facts] == [1] * len(facts)
    assert len(home.texts_of()) == len(facts) + 2
    home.check()


def test_a_persons_staging_stays_as_it_is(branched: Home) -> None:
    """What somebody has picked for their next commit would change under their hands."""
    branched.write("notes.txt", "staged\n")
    branched.write("new.txt", "new\n")
    branched.git("add", "notes.txt", "new.txt")
    branched.git("rm", "-q", "--cached", "notes.txt")
    branched.write("loose.txt", "not staged\n")
    staged = branched.staged()
    fact = branched.remember("A fact beside the staged files.")
    assert fact["commit"] == "committed"
    branched.edit(fact["id"], "An edited fact beside the staged files.")
    branched.delete(branched.remember("A fact that goes again.")["id"])
    assert branched.staged() == staged
    branched.git("commit", "-q", "-m", "picked")
    assert branched.changed_by("picked") == ["A\tnew.txt", "D\tnotes.txt"]
    branched.texts_of()
    branched.check(status=["?? loose.txt", "?? notes.txt"])


def test_a_fact_that_a_person_has_staged_is_theirs(branched: Home) -> None:
    """An agent's edit would be mixed into what a person is about to commit."""
    fact = branched.facts()[0]
    edited = Path(fact["path"]).read_text().replace("was there before", "was changed by hand")
    Path(fact["path"]).write_text(edited)
    branched.git("add", branched.path(fact))
    staged = branched.staged()
    answer = branched.edit(fact["id"], "Changed by the agent.")
    assert answer["commit"] == "pending" and "staged by you" in answer["pending_reason"]
    assert branched.staged() == staged
    branched.git("commit", "-q", "-m", "by hand")
    assert branched.changed_by("by hand") == [f"M\t{branched.path(fact)}"]
    branched.remember("The next fact takes the waiting edit along.")
    assert branched.committed(fact)
    assert "changed by hand" in branched.history(branched.path(fact))
    assert "Changed by the agent." in branched.texts_of()
    branched.check()


def test_a_commit_with_its_editor_open(branched: Home) -> None:
    """While the message is being typed git holds its lock: agents would wait for the person, or undo each other."""
    begun, finished = branched.root / "begun", branched.root / "finished"
    os.mkfifo(begun)
    os.mkfifo(finished)
    editor = branched.root / "editor"
    editor.write_text(f'#!/bin/sh\necho > {begun}\ncat {finished}\necho "typed slowly" > "$1"\n')
    editor.chmod(0o700)
    branched.write("notes.txt", "typed\n")
    user = threading.Thread(
        target=branched.git, args=("commit", "-q", "-a"), kwargs={"GIT_EDITOR": str(editor)}
    )
    user.start()
    begun.read_bytes()
    fact = branched.remember("A fact that came while somebody was typing.")
    assert fact["commit"] == "pending" and "index.lock" in fact["pending_reason"]
    finished.write_text("")
    user.join()
    assert branched.changed_by("typed slowly") == ["M\tnotes.txt"]
    until(lambda: branched.committed(fact))
    assert fact["text"] in branched.texts_of()
    branched.check()


def test_a_plain_commit_with_its_editor_open(branched: Home) -> None:
    """A commit whose message is still being typed would take out what agents added meanwhile."""
    begun, finished = branched.root / "begun", branched.root / "finished"
    os.mkfifo(begun)
    os.mkfifo(finished)
    editor = branched.root / "editor"
    editor.write_text(f'#!/bin/sh\necho > {begun}\ncat {finished}\necho "typed slowly" > "$1"\n')
    editor.chmod(0o700)
    branched.write("notes.txt", "typed\n")
    branched.git("add", "notes.txt")
    said: list[str] = []
    user = threading.Thread(
        target=lambda: said.append(branched.git("commit", check=False, GIT_EDITOR=str(editor)))
    )
    user.start()
    begun.read_bytes()
    fact = branched.remember("A fact that came while somebody was typing.")
    assert fact["commit"] == "committed"
    finished.write_text("")
    user.join()
    # Git sees that the branch has moved, and gives the message back.
    assert "cannot lock ref" in said[0]
    branched.git("commit", "-q", "-m", "typed again")
    assert branched.changed_by("typed again") == ["M\tnotes.txt"]
    assert fact["text"] in branched.texts_of()
    branched.check()


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
