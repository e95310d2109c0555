"""Handoff over the real tree: what is saved for a branch, and how fresh it is when somebody resumes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coffer.application.doctor import diagnose
from coffer.application.handoff import Resumed, resume, saved_scene, scenes, set_handoff
from coffer.domain.errors import ConfigInvalid, MemoryRejected, NoBranch, ScopeUnresolved
from coffer.domain.facts import Caller
from coffer.domain.stores import Project
from tests.coffer.application.conftest import Memory


async def freshness(memory: Memory) -> str:
    told = (await resume(memory.ports, memory.caller("codex"))).freshness
    assert told is not None
    return told


async def test_a_scene_is_one_commit_with_all_that_was_known(memory: Memory) -> None:
    """Who continues couldn't tell who left the work, where, and at which commit."""
    saved = await set_handoff(memory.ports, memory.caller(), "  Half of the lexer.\n")
    head = memory.git("rev-parse", "HEAD")
    file = memory.tree / saved.path
    assert file == await memory.file("handoff/main.md")
    assert file.read_text().replace('"', "") == (
        "---\nbranch: main\nupdated_at: 2026-11-30T12:00:00Z\nagent: claude\n"
        f"head: {head}\nmachine: workbench\n---\n\nHalf of the lexer.\n"
    )
    assert memory.log() == ["handoff: main"]
    assert await memory.events() == ["store_created", "handoff_set"]
    assert (await memory.ports.state.roots())[(await memory.store()).name] == str(memory.project)


async def test_a_second_scene_replaces_the_first_which_history_keeps(memory: Memory) -> None:
    """Old scenes would pile up and be resumed, or the one before would be lost for good."""
    for body in ("First.", "Second."):
        saved = await set_handoff(memory.ports, memory.caller(), body)
    assert [one.scene.body for one in await scenes(memory.ports, await memory.store())] == ["Second."]
    assert "First." in memory.git("log", "-p", "--", saved.path, folder=memory.tree)
    assert await memory.events() == ["store_created", "handoff_set", "handoff_set"]


async def test_the_very_same_scene_again_is_no_commit(memory: Memory) -> None:
    """An agent that repeats a call would leave commits in which nothing changed."""
    for _ in range(2):
        await set_handoff(memory.ports, memory.caller(), "First.")
    assert memory.log() == ["handoff: main"]


async def test_a_scene_that_was_edited_by_hand_is_kept_before_it_is_replaced(memory: Memory) -> None:
    """What the user added to a scene would be gone with the agent's next one."""
    saved = await set_handoff(memory.ports, memory.caller(), "First.")
    file = memory.tree / saved.path
    file.write_text(file.read_text() + "And ask Bea about the port.\n")
    assert "Bea" in str((await resume(memory.ports, memory.caller())).body)
    await set_handoff(memory.ports, memory.caller(), "Second.")
    assert "+And ask Bea about the port." in memory.git("show", "HEAD~", folder=memory.tree)
    assert [subject.partition(":")[0] for subject in memory.log()] == ["handoff", "edit", "handoff"]


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("2026-11-30T12:00:00Z", "just now"),
        ("2026-11-30T12:00:59Z", "just now"),
        ("2026-11-30T12:01:00Z", "1 minute ago"),
        ("2026-11-30T14:59:00Z", "2 hours ago"),
        ("2026-12-01T13:00:00Z", "1 day ago"),
        ("2027-11-30T12:00:00Z", "365 days ago"),
        ("2026-11-30T11:59:00Z", "by a clock that is ahead of this one"),
    ],
)
async def test_the_age_is_told(memory: Memory, time: str, said: str) -> None:
    """Last month's plan would be taken for this morning's."""
    await set_handoff(memory.ports, memory.caller(), "x")
    memory.clock.time = time
    told = await freshness(memory)
    assert told == f"Saved by claude on workbench {said}; the branch hasn't moved since."


async def test_commits_since_are_counted(memory: Memory) -> None:
    """Work that is done already would be done again."""
    await set_handoff(memory.ports, memory.caller(), "x")
    for number in (1, 2, 3):
        memory.git("commit", "-q", "--allow-empty", "-m", str(number))
        plural = "" if number == 1 else "s"
        said = f"the branch has {number} more commit{plural} since: check what is done already."
        assert (await freshness(memory)).endswith(said)


async def test_a_branch_that_was_moved_back_or_lost_its_commit_is_told_so(memory: Memory) -> None:
    """After a reset the scene speaks of commits that aren't there; a count would say the contrary."""
    begin = memory.git("rev-parse", "HEAD")
    memory.git("commit", "-q", "--allow-empty", "-m", "work")
    then = memory.git("rev-parse", "HEAD")
    await set_handoff(memory.ports, memory.caller(), "x")
    memory.git("reset", "-q", "--hard", begin)
    assert f"the branch was moved back to {begin[:12]} since" in await freshness(memory)
    memory.git("reflog", "expire", "--expire=now", "--all")
    memory.git("gc", "-q", "--prune=now")
    assert f"the branch is at {begin[:12]} now instead of {then[:12]}" in await freshness(memory)


async def test_a_scene_without_any_stamp_is_resumed(memory: Memory) -> None:
    """What a person left by hand would be refused for the lack of a header."""
    file = await memory.file("handoff/main.md")
    file.parent.mkdir(parents=True)
    file.write_text("Continue with the parser.\n")
    told = await resume(memory.ports, memory.caller())
    assert (told.found, told.branch, told.body, told.updated_at) == (
        True,
        "main",
        "Continue with the parser.",
        None,
    )
    head = memory.git("rev-parse", "HEAD")
    assert told.freshness == (
        f"Saved at an unknown time; the branch is at {head[:12]} now: check what is done already."
    )


async def test_nothing_saved_is_said_so_and_nothing_is_made_up(memory: Memory) -> None:
    """A fresh branch would be an error to the agent, or look like one with a scene."""
    with memory.nothing_written():
        told = await resume(memory.ports, memory.caller())
    assert told == Resumed(False, reason="No handoff was saved for the branch main.")


@pytest.mark.parametrize("folder", ["/", "/nowhere", None])
async def test_outside_a_project(memory: Memory, folder: str | None) -> None:
    """A scene would land in some project, or `resume` would fail where there is simply nothing."""
    caller = Caller("agent", "claude", folder=folder)
    with memory.nothing_written():
        with pytest.raises(ScopeUnresolved):
            await set_handoff(memory.ports, caller, "x")
        told = await resume(memory.ports, caller)
    assert (told.found, told.branch, told.body) == (False, None, None)
    assert told.reason is not None and "project" in told.reason


async def test_a_project_whose_branch_cannot_be_told(memory: Memory) -> None:
    """A damaged HEAD would make an error of `resume`, or a scene of a branch called None."""
    (memory.project / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    with memory.nothing_written():
        with pytest.raises(NoBranch):
            await set_handoff(memory.ports, memory.caller(), "x")
        told = await resume(memory.ports, memory.caller())
    assert not told.found and told.reason is not None and str(memory.project) in told.reason


async def test_what_cannot_be_kept_is_refused(memory: Memory) -> None:
    """A secret would be in git for ever, or an empty scene would replace a good one."""
    await set_handoff(memory.ports, memory.caller(), "Good.")
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    with memory.nothing_written():
        for body, reason in ((" \n", "empty"), ("x" * 40_000, "too_long"), (f"T={secret}", "secret")):
            with pytest.raises(MemoryRejected) as refused:
                await set_handoff(memory.ports, memory.caller(), body)
            assert refused.value.details["reason"] == reason and secret not in refused.value.message
        with pytest.raises(ConfigInvalid) as wrong:
            await set_handoff(memory.ports, memory.caller(), "\ud800")
        assert wrong.value.details["field"] == "body"


@pytest.mark.parametrize("damage", ["conflict", "not UTF-8", "link", "folder"])
async def test_a_damaged_scene_harms_only_itself(memory: Memory, damage: str) -> None:
    """A half-merged file would be resumed as it stands, hide the other branches, or be an error."""
    saved = await set_handoff(memory.ports, memory.caller(), "Good.")
    memory.git("checkout", "-q", "-b", "other")
    await set_handoff(memory.ports, memory.caller(), "Other.")
    memory.git("checkout", "-q", "main")
    file = memory.tree / saved.path
    if damage == "conflict":
        file.write_text("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n")
    elif damage == "not UTF-8":
        file.write_bytes(b"\xff")
    else:
        file.unlink()
        file.symlink_to(file.with_name("other.md")) if damage == "link" else file.mkdir()
    told = await resume(memory.ports, memory.caller())
    assert not told.found and told.body is None and told.reason is not None
    assert [one.scene.branch for one in await scenes(memory.ports, await memory.store())] == ["other"]
    if file.is_file() and not file.is_symlink():
        assert str(file) in told.reason
        warnings = [finding for finding in await diagnose(memory.ports) if saved.path in finding.message]
        assert [finding.status for finding in warnings] == ["warning"]


async def test_only_the_lanes_own_files_are_scenes(memory: Memory) -> None:
    """A swap file, or notes that somebody keeps beside the scenes, would be listed as branches."""
    await set_handoff(memory.ports, memory.caller(), "Good.")
    for name in (".main.md.swp", ".hidden.md", "notes.txt", "deep/main.md"):
        file = await memory.file(f"handoff/{name}")
        file.parent.mkdir(exist_ok=True)
        file.write_text("x\n")
    assert [one.scene.branch for one in await scenes(memory.ports, await memory.store())] == ["main"]


async def test_scenes_come_newest_first(memory: Memory) -> None:
    """Who looks for the work of today would first read that of last year."""
    for number, branch in enumerate(("b", "a", "c")):
        memory.git("checkout", "-q", "-b", branch)
        memory.clock.time = f"2026-11-30T12:0{number}:00Z"
        await set_handoff(memory.ports, memory.caller(), branch)
    assert [one.scene.branch for one in await scenes(memory.ports, await memory.store())] == ["c", "a", "b"]


async def test_a_branch_of_odd_characters_has_its_scene(memory: Memory) -> None:
    """Git allows nearly anything in a name, and a scene must neither climb out of its folder nor get lost."""
    for branch in ("fix/ü-家", "a#b", "con", "x" * 200, "true", "2026-11-30", "p%2e%2e"):
        memory.git("checkout", "-q", "-b", branch)
        saved = await set_handoff(memory.ports, memory.caller(), f"of {branch}")
        assert Path(saved.path).parent.name == "handoff"
        told = await resume(memory.ports, memory.caller())
        assert (told.found, told.branch, told.body) == (True, branch, f"of {branch}")


async def test_capitals_make_another_branch(memory: Memory) -> None:
    """One branch would be answered with another's scene."""
    await set_handoff(memory.ports, memory.caller(), "x")
    store = await memory.store()
    assert await saved_scene(memory.ports, store, "main") is not None
    assert await saved_scene(memory.ports, store, "Main") is None


async def test_an_unknown_head_is_no_obstacle(memory: Memory) -> None:
    """The first scene of a new project would be the one that can't be resumed."""

    class Unborn:
        async def project(self, folder: str) -> Project | None:
            found = await memory.ports.identity.project(folder)
            assert found is not None
            return replace(found, head=None)

        async def commits_since(self, root: str, commit: str, head: str) -> int | None:
            raise AssertionError("there is nothing to count")

    unborn = replace(memory.ports, identity=Unborn())
    await set_handoff(unborn, memory.caller(), "x")
    assert str((await resume(unborn, memory.caller())).freshness).endswith("the branch hasn't moved since.")
    assert "the branch is at" in await freshness(memory)
    await set_handoff(memory.ports, memory.caller(), "x")
    assert str((await resume(unborn, memory.caller())).freshness).endswith("the branch has no commit now.")
