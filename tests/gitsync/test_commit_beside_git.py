"""The user works in the memory tree with git itself: nothing of theirs is disturbed, nothing of ours is lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.gitsync.tree import AGENT, DAEMON, Tree, git_environment

FACT = "global/knowledge/inbox/2026-10/use-make.md"
OTHER = "global/rules/rules.md"
REMEMBERED = f"{AGENT.name}|remember: a fact"


@pytest.fixture
def begun(tree: Tree) -> Tree:
    """A tree with two committed facts."""
    tree.write({FACT: b"use make\n", OTHER: b"- one\n"}, "start")
    return tree


def waits(tree: Tree, reason: str) -> None:
    """Write a fact while git isn't free, and see that it is on disk and nowhere else."""
    refs = tree.git("for-each-ref")
    outcome = tree.write({"global/new.md": b"new\n"})
    assert outcome.commits == ()
    assert outcome.pending is not None and outcome.pending.startswith(reason), outcome.pending
    assert tree.read("global/new.md") == b"new\n"
    assert tree.git("for-each-ref") == refs


def is_committed_later(tree: Tree) -> None:
    """See that what waited is committed once, as who wrote it."""
    assert tree.retry().pending is None
    assert tree.log().count(REMEMBERED) == 1
    assert tree.committed("global/new.md") == b"new\n"
    assert tree.retry().commits == ()
    tree.is_sound()


def test_what_the_user_staged_is_exactly_what_they_commit(begun: Tree) -> None:
    """Our commit would take a staged file along, or the user's next commit would delete our file."""
    begun.edit(OTHER, b"- one\n- two\n")
    begun.git("add", OTHER)
    begun.edit(OTHER, b"- one\n- two\n- three\n")
    begun.edit("notes.txt", b"staged\n")
    begun.git("add", "notes.txt")
    begun.edit("loose.txt", b"untracked\n")
    before = begun.git("status", "--porcelain")
    diffs = begun.git("diff"), begun.git("diff", "--cached")
    begun.write({"global/new.md": b"new\n", FACT: None})
    begun.write({"global/new.md": b"newer\n"}, "newer")
    assert begun.git("status", "--porcelain") == before
    assert (begun.git("diff"), begun.git("diff", "--cached")) == diffs
    begun.git("commit", "-qm", "theirs")
    assert begun.git("show", "--format=", "--name-only").split() == [OTHER, "notes.txt"]
    assert begun.committed("global/new.md") == b"newer\n"
    assert begun.committed(FACT) is None
    assert begun.git("fsck", "--strict", "--no-dangling") == ""


def test_a_path_the_user_staged_waits_for_them(begun: Tree) -> None:
    """Our write would replace what the user staged at that path."""
    begun.edit(FACT, b"staged\n")
    begun.git("add", FACT)
    staged = begun.git("ls-files", "-s", FACT)
    outcome = begun.write({FACT: b"agent\n"}, "agent")
    assert outcome.pending == f"{FACT} is staged by you"
    assert begun.read(FACT) == b"agent\n"
    assert begun.git("ls-files", "-s", FACT) == staged
    begun.git("commit", "-qm", "theirs")
    assert begun.retry().pending is None
    assert begun.log("%an|%s") == [
        f"{AGENT.name}|remember: agent",
        "Ann|theirs",
        f"{AGENT.name}|remember: start",
    ]
    assert begun.committed(FACT, "main~1") == b"staged\n"
    begun.is_sound()


def test_a_path_staged_for_removal_or_to_be_added_waits_too(begun: Tree) -> None:
    """`git rm --cached` or `git add -N` on our path would be undone without a word."""
    begun.git("rm", "-q", "--cached", FACT)
    assert begun.write({FACT: b"a\n"}).pending == f"{FACT} is staged by you"
    begun.edit("global/n.md", b"n\n")
    begun.git("add", "-N", "global/n.md")
    assert begun.write({"global/n.md": b"b\n"}).pending == f"{FACT} is staged by you"
    begun.git("reset", "-q")
    assert begun.retry().pending is None
    begun.is_sound()


def test_intent_to_add_elsewhere_survives(begun: Tree) -> None:
    """An index of version 3 would be refused, or the mark on the user's file lost."""
    begun.edit("todo.txt", b"later\n")
    begun.git("add", "-N", "todo.txt")
    begun.write({"global/new.md": b"new\n"})
    assert begun.git("status", "--porcelain") == " A todo.txt"
    assert begun.git("diff", "--name-only") == "todo.txt"


def _conflict(tree: Tree) -> None:
    tree.git("checkout", "-qb", "side")
    tree.edit(OTHER, b"- side\n")
    tree.git("commit", "-qam", "side")
    tree.git("checkout", "-q", "main")
    tree.edit(OTHER, b"- main\n")
    tree.git("commit", "-qam", "main")


def _finish(tree: Tree, *arguments: str) -> None:
    tree.edit(OTHER, b"- both\n")
    tree.git("add", OTHER)
    tree.git(*arguments)


def test_a_merge_with_conflicts(begun: Tree) -> None:
    """A commit in the middle of a merge would end up as the merge, or end it."""
    _conflict(begun)
    begun.git("merge", "side", check=False)
    waits(begun, "merge in progress")
    _finish(begun, "commit", "-qm", "merged")
    assert len(begun.git("log", "-1", "--format=%P").split()) == 2
    is_committed_later(begun)


def test_a_cherry_pick_with_conflicts(begun: Tree) -> None:
    """A cherry-pick could no longer be continued."""
    _conflict(begun)
    begun.git("cherry-pick", "side", check=False)
    waits(begun, "cherry-pick in progress")
    _finish(begun, "cherry-pick", "--continue")
    is_committed_later(begun)


def test_a_rebase_with_conflicts(begun: Tree) -> None:
    """`git rebase --continue` would fail, or drop the fact."""
    _conflict(begun)
    begun.git("rebase", "side", check=False)
    waits(begun, "rebase in progress")
    _finish(begun, "rebase", "--continue")
    assert begun.log("%s")[:2] == ["main", "side"]
    is_committed_later(begun)


def test_a_bisect(begun: Tree) -> None:
    """Committing while an old version is checked out would write onto the wrong commit."""
    for number in range(3):
        begun.write({f"global/{number}.md": b"x\n"}, f"fact {number}")
    begun.git("bisect", "start", "main", "main~3")
    waits(begun, "bisect in progress")
    begun.git("bisect", "reset")
    is_committed_later(begun)


def test_a_detached_head(begun: Tree) -> None:
    """A fact written while an old commit is checked out would vanish with the next checkout."""
    begun.write({FACT: b"newer\n"}, "newer")
    begun.git("checkout", "-q", "main~1")
    waits(begun, "HEAD is detached")
    begun.git("checkout", "-q", "main")
    is_committed_later(begun)
    assert begun.committed(FACT) == b"newer\n"


def test_another_branch(begun: Tree) -> None:
    """A commit to main behind the user's back would show as staged changes on their branch."""
    begun.git("checkout", "-qb", "side")
    begun.edit(FACT, b"on side\n")
    begun.git("commit", "-qam", "side")
    waits(begun, "branch side is checked out")
    assert begun.write({FACT: b"agent on side\n"}, "over side").pending
    assert begun.log("%s") == ["remember: start"]
    begun.edit(FACT, b"on side\n")
    begun.git("checkout", "-q", "main")
    begun.edit(FACT, b"agent on side\n")
    assert begun.retry().pending is None
    assert begun.log() == [f"{AGENT.name}|remember: over side", REMEMBERED, f"{AGENT.name}|remember: start"]
    begun.is_sound()


@pytest.mark.report("B60")
def test_unmerged_entries(begun: Tree) -> None:
    """A half-finished `git stash pop` would stop facts from being saved, or be settled by accident."""
    begun.edit(OTHER, b"- stashed\n")
    begun.git("stash", "-q")
    begun.edit(OTHER, b"- main\n")
    begun.git("commit", "-qam", "main")
    begun.git("stash", "pop", check=False)
    waits(begun, "unmerged files")
    _finish(begun, "commit", "-qm", "settled")
    is_committed_later(begun)
    assert begun.git("stash", "list")


@pytest.mark.report("B59")
@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_somebody_elses_lock_is_kept(begun: Tree, lock: str) -> None:
    """Another program's lock would be broken, or a fact refused because of it."""
    place = begun.root / ".git" / lock
    place.write_bytes(b"")
    os.utime(place, (1, 1))
    waits(begun, f"another program holds the git lock ({place.name}, pid unknown, ")
    assert place.exists()
    assert (begun.retry().pending or "").startswith("another program holds the git lock")
    place.unlink()
    is_committed_later(begun)


@pytest.mark.parametrize("lock", ["packed-refs.lock", "config.lock", "refs/remotes/origin/main.lock"])
def test_locks_on_what_we_do_not_touch_are_no_obstacle(begun: Tree, lock: str) -> None:
    """A left-over lock on something else would stop every commit."""
    place = begun.root / ".git" / lock
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(b"")
    assert begun.write({"global/new.md": b"new\n"}).pending is None
    assert place.exists()


def test_many_writes_wait_and_are_all_committed(begun: Tree) -> None:
    """Of several writes during a rebase only the last would keep its author and message."""
    begun.git("checkout", "-q", "--detach")
    begun.write({"global/a.md": b"1\n"}, "one")
    begun.write({"global/a.md": b"2\n", "global/b.md": b"2\n"}, "two")
    begun.write({"global/b.md": None}, "three")
    begun.git("checkout", "-q", "main")
    assert begun.write({"global/c.md": b"4\n"}, "four").pending is None
    assert begun.log("%s")[::-1] == [
        f"remember: {title}" for title in ("start", "one", "two", "three", "four")
    ]
    assert begun.committed("global/a.md", "main~3") == b"1\n"
    begun.is_sound()


def test_the_user_commits_what_waits(begun: Tree) -> None:
    """A fact that the user committed themselves would be committed again, or turned back."""
    begun.git("checkout", "-q", "--detach")
    begun.write({"global/new.md": b"new\n", FACT: b"agent\n"}, "waits")
    begun.git("checkout", "-q", "main")
    begun.edit(FACT, b"agent, then me\n")
    begun.git("add", "-A")
    begun.git("commit", "-qm", "theirs")
    assert begun.retry().pending is None
    assert begun.log("%s") == ["theirs", "remember: start"]
    assert begun.committed(FACT) == b"agent, then me\n"
    begun.is_sound()


def test_an_edit_on_top_of_what_waits_is_the_users(begun: Tree) -> None:
    """A correction by hand to a waiting fact would be signed by the agent, or replace the fact in history."""
    begun.git("checkout", "-q", "--detach")
    begun.write({"global/new.md": b"agent\n"})
    begun.git("checkout", "-q", "main")
    begun.edit("global/new.md", b"agent, then me\n")
    assert begun.retry().pending is None
    assert begun.log() == ["Ann|edit: by hand", REMEMBERED, f"{AGENT.name}|remember: start"]
    assert begun.committed("global/new.md", "main~1") == b"agent\n"
    begun.is_sound()


def test_a_pruned_chain_is_adopted(begun: Tree) -> None:
    """`git gc --prune=now` during a long rebase would leave a fact uncommitted for ever."""
    begun.git("checkout", "-q", "--detach")
    begun.write({"global/new.md": b"new\n"})
    begun.git("gc", "-q", "--prune=now")
    begun.git("checkout", "-q", "main")
    begun.reopen()
    assert begun.recover().pending is None
    assert begun.log() == ["Ann|edit: by hand", f"{AGENT.name}|remember: start"]
    begun.is_sound()


def test_packed_refs(begun: Tree) -> None:
    """After `git pack-refs` the branch would seem to be without commits."""
    begun.git("pack-refs", "--all", "--prune")
    assert not (begun.root / ".git/refs/heads/main").exists()
    begun.write({"global/new.md": b"new\n"})
    assert begun.log() == [REMEMBERED, f"{AGENT.name}|remember: start"]
    begun.is_sound()


def test_gc_stash_clean_and_an_old_checkout(begun: Tree) -> None:
    """The user's housekeeping would make the next commit fail, or bring back what they removed."""
    begun.write({"global/new.md": b"new\n"})
    begun.git("gc", "-q", "--aggressive", "--prune=now")
    begun.write({FACT: b"packed\n"}, "packed")
    begun.edit(OTHER, b"- stashed\n")
    begun.git("stash", "-q")
    begun.write({FACT: b"after stash\n"}, "after stash")
    begun.git("stash", "pop", "-q")
    assert begun.git("status", "--porcelain") == f" M {OTHER}"
    begun.git("checkout", "-q", OTHER)
    begun.edit("global/untracked.md", b"x\n")
    begun.git("clean", "-qfd")
    begun.git("checkout", "-q", "main~2", "--", FACT)
    assert begun.write({FACT: b"last\n"}, "last").pending == f"{FACT} is staged by you"
    begun.git("commit", "-qm", "old version")
    assert begun.retry().pending is None
    assert begun.log("%s")[:2] == ["remember: last", "old version"]
    begun.is_sound()


def test_a_reset_by_the_user_is_respected(begun: Tree) -> None:
    """Commits that the user took back would return with the next fact."""
    begun.write({"global/new.md": b"new\n"})
    begun.git("reset", "-q", "--hard", "main~1")
    begun.write({"global/b.md": b"b\n"}, "b")
    assert begun.log("%s") == ["remember: b", "remember: start"]
    assert begun.committed("global/new.md") is None
    begun.is_sound()


def test_the_first_commit_beside_the_users_first_add(tree: Tree) -> None:
    """In a new repository with staged files our first commit would swallow them."""
    tree.edit("notes.txt", b"mine\n")
    tree.git("add", "notes.txt")
    tree.write({FACT: b"x\n"})
    assert tree.git("ls-tree", "-r", "--name-only", "main") == FACT
    assert tree.git("status", "--porcelain") == "A  notes.txt"
    assert tree.git("reflog", "main", "--format=%gs") == "commit (initial): remember: a fact"


@pytest.mark.parametrize("damage", [None, b"", b"garbage", b"DIRC\0\0\0\2\0\0\0\5" + b"\0" * 40])
def test_a_deleted_or_damaged_index_is_made_anew(begun: Tree, damage: bytes | None) -> None:
    """Without its index git would believe every fact deleted; with a broken one nothing would be committed."""
    index = begun.root / ".git" / "index"
    index.unlink() if damage is None else index.write_bytes(damage)
    assert begun.write({"global/new.md": b"new\n"}).pending is None
    assert begun.git("status", "--porcelain") == ""
    assert begun.git("fsck", "--strict", "--no-dangling") == ""


def test_index_version_4_is_understood(begun: Tree) -> None:
    """A user's `index.version 4` would stop commits or spoil the index."""
    begun.edit("notes.txt", b"staged\n")
    begun.git("-c", "index.version=4", "add", "notes.txt")
    begun.git("update-index", "--index-version", "4")
    assert (begun.root / ".git/index").read_bytes()[7] == 4
    begun.write({"global/new.md": b"new\n"})
    assert begun.git("status", "--porcelain") == "A  notes.txt"
    begun.git("rm", "-q", "--cached", "notes.txt")
    (begun.root / "notes.txt").unlink()
    begun.is_sound()


def test_a_split_index_waits(begun: Tree) -> None:
    """A split index would be read as an almost empty one, and all facts as deleted."""
    begun.git("update-index", "--split-index")
    before = (begun.root / ".git/index").read_bytes()
    waits(begun, "the git index is split")
    assert (begun.root / ".git/index").read_bytes() == before
    begun.git("update-index", "--no-split-index")
    is_committed_later(begun)


@pytest.mark.report("B63", "B66")
def test_nothing_of_the_users_settings_reaches_a_commit(tmp_path: Path, user_home: Path) -> None:
    """Signing would wait for a passphrase, a hook or filter would run, or line ends would change."""
    canary = tmp_path / "canary"
    program = user_home / "program"
    program.write_text(f"#!/bin/sh\necho ran >> {canary}\ncat\n")
    program.chmod(0o755)
    hooks = user_home / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        (hooks / name).symlink_to(program)
    template = user_home / "template"
    (template / "hooks").mkdir(parents=True)
    (template / "hooks" / "pre-commit").symlink_to(program)
    (user_home / "attributes").write_text("* text eol=crlf filter=canary ident\n")
    (user_home / ".gitconfig").write_text(
        f"""[commit]\n gpgsign = true\n template = /nowhere\n[gpg]\n program = {program}
        [core]\n hooksPath = {hooks}\n autocrlf = true\n fsmonitor = {program}\n splitIndex = true
        \n attributesFile = {user_home}/attributes\n untrackedCache = true
        [filter "canary"]\n clean = {program}\n smudge = {program}\n required = true
        [init]\n templateDir = {template}\n defaultBranch = trunk\n defaultObjectFormat = sha256
        [index]\n version = 4\n[feature]\n manyFiles = true\n[user]\n name = Global\n email = g@example.com
        """
    )
    tree = Tree(tmp_path / "memory", user_home)
    data = b"a\r\nb\n$Id$\n"
    assert tree.write({FACT: data}).pending is None
    assert tree.write({FACT: data + b"more\n"}).pending is None
    assert not canary.exists()
    assert tree.committed(FACT) == data + b"more\n"
    assert tree.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert tree.git("log", "-1", "--format=%G?|%cn") == f"N|{DAEMON.name}"
    assert not (tree.root / ".git/hooks").exists()
    canary.unlink(missing_ok=True)
    assert tree.git("-c", "core.hooksPath=/dev/null", "status", "--porcelain") == ""
    assert not canary.exists(), "the user's own git ran a filter or monitor on our files"
    assert tree.repo.user_signature(AGENT).name == "Global"


def test_sha256_in_the_environment_changes_nothing(
    tmp_path: Path, user_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable in the daemon's environment would point it at another repository or another format."""
    monkeypatch.setenv("GIT_DEFAULT_HASH", "sha256")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere-index"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(tmp_path))
    tree = Tree(tmp_path / "memory", user_home)
    tree.write({FACT: b"x\n"})
    tree.is_sound()


def _race(tree: Tree, edits: dict[str, bytes | None], title: str) -> None:
    """Write while a `git commit` is under way that has read the index already and writes it back afterwards."""
    index = tree.root / ".git/index"
    before = index.read_bytes()
    tree.write(edits, title)
    index.write_bytes(before)
    (tree.root / ".git/COMMIT_EDITMSG").write_text("theirs\n")


def test_a_commit_that_writes_back_an_old_index(begun: Tree) -> None:
    """A `git commit` in the same instant would leave our file staged for removal, and our next write pending."""
    _race(begun, {"global/new.md": b"new\n", FACT: b"newer\n", OTHER: None}, "raced")
    assert "D  global/new.md" in begun.git("status", "--porcelain").splitlines()
    assert begun.write({FACT: b"newest\n"}, "next").pending is None
    begun.is_sound()


def test_a_commit_of_an_old_index_loses_nothing(begun: Tree) -> None:
    """The user's next commit would remove our file from the branch for good."""
    _race(begun, {"global/new.md": b"new\n"}, "raced")
    begun.edit("notes.txt", b"theirs\n")
    begun.git("add", "notes.txt")
    begun.git("commit", "-qm", "theirs")
    assert begun.committed("global/new.md") is None
    assert begun.write({"global/b.md": b"b\n"}, "next").pending is None
    assert begun.committed("global/new.md") == b"new\n"
    assert begun.log("%s")[:4] == ["remember: next", "edit: by hand", "theirs", "remember: raced"]
    begun.is_sound()


def test_an_entry_set_back_on_purpose_stays(begun: Tree) -> None:
    """Staging an older version of a fact would be undone behind the user's back."""
    begun.write({FACT: b"newer\n"}, "newer")
    begun.git("reset", "-q", "main~1", "--", FACT)
    later = begun.repo.index.time[0] + 60
    os.utime(begun.root / ".git/index", (later, later))
    staged = begun.git("ls-files", "-s", FACT)
    assert begun.write({"global/b.md": b"b\n"}).pending is None
    assert begun.git("ls-files", "-s", FACT) == staged
    assert begun.write({FACT: b"newest\n"}).pending == f"{FACT} is staged by you"


def test_commits_taken_back_softly_are_left_to_the_user(begun: Tree) -> None:
    """In the middle of `git reset --soft` to reword a commit, our next write would commit what they hold."""
    begun.write({"global/new.md": b"new\n"}, "taken back")
    begun.git("reset", "-q", "--soft", "main~1")
    assert begun.write({"global/b.md": b"b\n"}, "next").pending is None
    assert begun.git("status", "--porcelain") == "A  global/new.md"
    assert begun.log("%s") == ["remember: next", "remember: start"]


def _round(tree: Tree, number: int) -> None:
    tree.edit(f"notes/{number}.txt", b"%d\n" % number)
    tree.git("add", f"notes/{number}.txt", check=False)
    tree.write({f"global/{number}.md": b"%d\n" % number}, f"fact {number}")
    tree.git("commit", "-qm", f"theirs {number}")


def test_taking_turns_with_the_users_git(begun: Tree) -> None:
    """Over many rounds one of the two would lose a file, or commit the other's."""
    for number in range(12):
        _round(begun, number)
    for number in range(12):
        commit = begun.git("log", "--format=%H", f"--grep=theirs {number}$")
        assert begun.git("show", "--format=", "--name-only", commit) == f"notes/{number}.txt"
        assert begun.committed(f"global/{number}.md") == b"%d\n" % number
    begun.is_sound()


def test_at_the_same_time_as_the_users_git(begun: Tree, user_home: Path) -> None:
    """Two writers at once would lose commits: one of them has to wait or fail, never both to succeed on one tip."""
    script = (
        "for n in $(seq 20); do echo $n > notes-$n.txt; git add notes-$n.txt && git commit -qm theirs; done"
    )
    theirs = subprocess.Popen(
        ["sh", "-c", script], cwd=begun.root, env=git_environment(user_home), stderr=subprocess.DEVNULL
    )
    waiting = 0
    number = 0
    while theirs.poll() is None:
        waiting += (
            begun.write({f"global/{number}.md": b"%d\n" % number}, f"fact {number}").pending is not None
        )
        number += 1
    assert begun.retry().pending is None
    subjects = begun.log("%s")
    for done in range(number):
        assert subjects.count(f"remember: fact {done}") == 1
        assert begun.committed(f"global/{done}.md") == b"%d\n" % done
    begun.git("add", "-A")
    begun.git("commit", "-qm", "rest", check=False)
    assert all(begun.committed(f"global/{done}.md") == b"%d\n" % done for done in range(number))
    begun.is_sound()
