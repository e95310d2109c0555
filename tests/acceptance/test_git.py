"""Beside the user's own git: their work in the memory tree and their configuration, neither in the other's way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.acceptance.house import House

CANARY = "#!/bin/sh\ntouch {canary}\nexit 1\n"
HOSTILE = """\
[user]
    name = Ada
    email = ada@example.org
[commit]
    gpgsign = true
[gpg]
    program = {program}
[core]
    hooksPath = {hooks}
    autocrlf = true
    fsmonitor = {program}
    attributesFile = {attributes}
[filter "spoil"]
    clean = {program}
    smudge = {program}
    required = true
"""


def test_the_users_own_commits_are_left_alone(house: House, store: str) -> None:
    """A person who works in the tree with git would find their staging area emptied or their commit undone."""
    fact = house.add(store, "Skua fact.")
    notes = house.tree / "notes.txt"
    notes.write_text("mine\n", "utf-8")
    house.git("add", "notes.txt")
    house.add(store, "Skua fact two.")
    assert house.git("status", "--porcelain", "notes.txt") == "A  notes.txt\n"
    house.git("commit", "-q", "-m", "My notes", "notes.txt")
    house.add(store, "Skua fact three.")
    Path(fact["path"]).unlink()
    house.git("commit", "-q", "-a", "-m", "Away with it")
    assert house.git("log", "-1", "--format=%s %an") == "Away with it Ada\n"
    assert sorted(house.texts(store, "skua")) == ["Skua fact three.", "Skua fact two."]
    house.git("revert", "--no-edit", "HEAD")
    assert len(house.texts(store, "skua")) == 3
    house.git("fsck", "--strict")


@pytest.mark.report("B12")
def test_checkout_of_an_old_commit_is_answered_as_it_stands(own_house: House) -> None:
    """Looking at the past with git would leave a memory that answers with neither the past nor the present."""
    own_house.start()
    fact = own_house.add("global", "Gopher version one.")
    old = own_house.git("rev-parse", "HEAD").strip()
    at = f"/memory_stores/global/facts/{fact['id']}"
    own_house.ask("PATCH", at, {"text": "Gopher version two."}).done()
    own_house.add("global", "Gopher fact three.")
    assert sorted(own_house.texts("global", "gopher")) == ["Gopher fact three.", "Gopher version two."]
    own_house.git("checkout", "-q", old)
    assert own_house.texts("global", "gopher") == ["Gopher version one."]
    own_house.git("checkout", "-q", "main")
    assert sorted(own_house.texts("global", "gopher")) == ["Gopher fact three.", "Gopher version two."]
    assert own_house.git("status", "--porcelain") == "" and "index.sqlite" not in own_house.git("ls-files")


@pytest.mark.report("B59")
async def test_foreign_lock_makes_the_commit_wait(house: House, project: Path, store: str) -> None:
    """While the user's own git is at work agents couldn't remember, or their facts would never be committed."""
    fact = house.add(store, "Shrew fact.")
    lock = house.tree / ".git" / "index.lock"
    head = house.git("rev-parse", "HEAD")
    lock.touch()
    try:
        async with house.agent("claude", project) as claude:
            kept = await claude.remember("Shrew fact, told while git was busy.")
            assert kept["commit"] == "pending" and "index.lock" in kept["pending_reason"]
            assert "Shrew fact, told while git was busy." in await claude.texts("shrew")
        told = house.get(f"/memory_stores/{store}/facts/{kept['id']}").done()
        assert told["commit"] == "pending" and told["pending_reason"] and Path(told["path"]).is_file()
        patched = house.ask("PATCH", f"/memory_stores/{store}/facts/{fact['id']}", {"text": "Shrew, mended."})
        assert patched.done()["commit"] == "pending"
        said = house.coffer("memory", "add", ".", "Shrew fact, by command.", folder=project)
        assert "pending" in said
        assert house.git("rev-parse", "HEAD") == head and lock.exists()
        assert "wait" in house.coffer("doctor")
    finally:
        lock.unlink()
    house.add(store, "Shrew fact, told when git was free.")
    assert house.git("status", "--porcelain", str(house.store_dir(store))) == ""
    assert "told while git was busy." in house.history(told["path"])
    told = house.get(f"/memory_stores/{store}/facts/{kept['id']}").done()
    assert told["commit"] == "committed" and "pending_reason" not in told


@pytest.mark.report("B60")
async def test_unfinished_merge_of_the_user_is_left_alone(own_house: House) -> None:
    """A person in the middle of a merge would lose it, or agents would be unable to remember meanwhile."""
    own_house.start()
    own_house.add("global", "Squirrel fact.")
    note = own_house.tree / "notes.txt"

    def commit(text: str) -> None:
        note.write_text(text, "utf-8")
        own_house.git("add", "notes.txt")
        own_house.git("commit", "-q", "-m", text)

    commit("base")
    own_house.git("branch", "side")
    commit("ours")
    own_house.git("checkout", "-q", "side")
    commit("theirs")
    own_house.git("checkout", "-q", "main")
    with pytest.raises(subprocess.CalledProcessError):
        own_house.git("merge", "side")
    unmerged = own_house.git("ls-files", "--unmerged")

    async with own_house.agent("claude", own_house.folder()) as claude:
        kept = await claude.remember("Squirrel fact, told during a merge.", scope="global")
        assert kept["commit"] == "pending" and kept["pending_reason"]
        assert len(await claude.texts("squirrel")) == 2
        assert (
            own_house.git("ls-files", "--unmerged") == unmerged
            and (own_house.tree / ".git/MERGE_HEAD").exists()
        )
        note.write_text("both", "utf-8")
        own_house.git("add", "notes.txt")
        own_house.git("commit", "-q", "-m", "Merged")
        assert (await claude.remember("Squirrel fact, told after it.", scope="global"))[
            "commit"
        ] == "committed"
    assert own_house.git("status", "--porcelain") == ""
    assert "told during a merge" in own_house.git("log", "-p", "main") and note.read_text("utf-8") == "both"


@pytest.mark.report("B63", "B66", "B76")
def test_nothing_of_the_users_configuration_runs(own_house: House) -> None:
    """A signing prompt or a hook meant for code would hold up every fact, or change its bytes."""
    hooks, canary = own_house.root / "hooks", own_house.root / "canary"
    hooks.mkdir()
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
        "post-index-change",
        "run",
    ):
        (hooks / name).write_text(CANARY.format(canary=canary), "utf-8")
        (hooks / name).chmod(0o755)
    attributes = own_house.root / "attributes"
    attributes.write_text("* filter=spoil text eol=crlf\n", "utf-8")
    (own_house.user_home / ".gitconfig").write_text(
        HOSTILE.format(program=hooks / "run", hooks=hooks, attributes=attributes), "utf-8"
    )
    own_house.start()
    fact = own_house.add("global", "Chipmunk fact.\n\nSecond paragraph.")
    at = f"/memory_stores/global/facts/{fact['id']}"
    (own_house.tree / "global" / ".gitattributes").write_text("* filter=spoil\n", "utf-8")
    assert own_house.ask("PATCH", at, {"text": "Chipmunk fact two."}).done()["commit"] == "committed"
    versions = own_house.get(f"{at}/history").done()["versions"]
    assert [version["text"] for version in versions] == [
        "Chipmunk fact two.",
        "Chipmunk fact.\n\nSecond paragraph.",
    ]
    assert not canary.exists()
    assert b"\r" not in Path(fact["path"]).read_bytes()
    hooks_of_tree = own_house.tree / ".git" / "hooks"
    assert not hooks_of_tree.exists() or not [
        hook for hook in hooks_of_tree.iterdir() if hook.suffix != ".sample"
    ]
