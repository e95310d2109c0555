"""Rules over the real tree: the user's own and learned ones, in files that people edit too."""

from __future__ import annotations

import pytest

from coffer.application.doctor import diagnose
from coffer.application.recall import recall
from coffer.application.rules import MAX_RULE_CHARS, accept_learned, add_rule, rules_files, rules_text
from coffer.application.stores import store_metrics
from coffer.domain.errors import FileUnreadable, MemoryNotFound, MemoryRejected
from coffer.domain.stores import GLOBAL
from lanes.rules import Rule
from tests.coffer.application.conftest import Memory

MARK = " <!-- learned 2026-11-30 by organizer -->"


async def add(memory: Memory, text: str) -> Rule:
    return await add_rule(memory.ports, memory.caller(None), await memory.store(), text)


async def write(memory: Memory, text: str, name: str = "rules.md") -> None:
    file = await memory.file(f"rules/{name}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def rules(memory: Memory) -> list[tuple[str, bool]]:
    return [
        (rule.text, rule.learned)
        for file in await rules_files(memory.ports, await memory.store())
        for rule in file.rules
    ]


async def test_a_rule_is_a_bullet_and_a_commit(memory: Memory) -> None:
    """A rule that is no line of a file can't be read, mended or taken back by its user."""
    assert await add(memory, "  Run the tests\n before every push. ") == Rule(
        "Run the tests before every push."
    )
    file = await memory.file("rules/rules.md")
    assert file.read_text() == "# Rules\n\n- Run the tests before every push.\n"
    assert memory.log() == ["rule: Run the tests before every push."]
    assert await memory.events() == ["store_created", "memory_added"]
    assert (await store_metrics(memory.ports, await memory.store())).rule_count == 1


async def test_the_same_rule_is_kept_once_wherever_it_stands(memory: Memory) -> None:
    """Every session would be told the same thing twice."""
    await write(memory, "# Git\n\nFor all branches:\n\n- Rebase, don't merge.\n", "git/commit.md")
    for _ in range(2):
        with memory.nothing_written():
            await add(memory, "Rebase, don't merge.")
    await add(memory, "Sign commits.")
    assert await rules(memory) == [("Rebase, don't merge.", False), ("Sign commits.", False)]
    assert (await memory.events()).count("memory_added") == 1


async def test_prose_around_the_rules_stays(memory: Memory) -> None:
    """What a person explains between the rules would be gone after the next one."""
    written = "# How we work\n\nBecause of 2019:\n\n- No deploys on Friday.\n\nAsk Bea.\n"
    await write(memory, written)
    await add(memory, "Sign commits.")
    text = (await memory.file("rules/rules.md")).read_text()
    assert text == written.replace("Friday.\n", "Friday.\n- Sign commits.\n")
    assert rules_text(await rules_files(memory.ports, await memory.store())) == text


async def test_files_are_read_one_after_the_other(memory: Memory) -> None:
    """Rules of the second category would never reach a session."""
    assert rules_text(await rules_files(memory.ports, await memory.store())) is None
    await write(memory, "- b\n", "rules.md")
    await write(memory, "- a\n", "git/commit.md")
    assert rules_text(await rules_files(memory.ports, await memory.store())) == "- a\n\n- b\n"


async def test_a_learned_rule_is_accepted_by_command_or_by_hand(memory: Memory) -> None:
    """What a transcript yielded would speak with the user's authority, or never could."""
    await write(memory, f"- Use tabs.{MARK}\n- Keep it small.{MARK}\n- Mine.\n")
    assert await rules(memory) == [("Use tabs.", True), ("Keep it small.", True), ("Mine.", False)]
    accepted = await accept_learned(memory.ports, memory.caller(None), await memory.store(), " Use  tabs. ")
    assert accepted == Rule("Use tabs.")
    assert memory.log()[0] == "accept: Use tabs."
    file = await memory.file("rules/rules.md")
    assert file.read_text() == f"- Use tabs.\n- Keep it small.{MARK}\n- Mine.\n"
    file.write_text(file.read_text().replace(MARK, ""))
    assert await rules(memory) == [("Use tabs.", False), ("Keep it small.", False), ("Mine.", False)]
    assert await memory.events() == ["store_created", "memory_updated"]


async def test_a_learned_rule_that_the_user_adds_is_theirs(memory: Memory) -> None:
    """The user would have said it themselves, and it would still count as learned."""
    await write(memory, f"- Use tabs.{MARK}\n", "style.md")
    await write(memory, f"- Use tabs.{MARK}\n")
    await add(memory, "Use tabs.")
    assert await rules(memory) == [("Use tabs.", False), ("Use tabs.", False)]


@pytest.mark.parametrize("text", ["Mine.", "Never heard of.", ""])
async def test_only_a_learned_rule_can_be_accepted(memory: Memory, text: str) -> None:
    """A slip in the words would be answered as if something had been done."""
    await write(memory, f"- Use tabs.{MARK}\n- Mine.\n")
    with memory.nothing_written(), pytest.raises(MemoryNotFound):
        await accept_learned(memory.ports, memory.caller(None), await memory.store(), text)


async def test_a_rule_can_not_bring_a_mark_of_its_own(memory: Memory) -> None:
    """A rule could hide who is behind it, or hide the ones that follow."""
    text = f"Trust me.{MARK}"
    assert (await add(memory, text)).learned is False
    await add(memory, "Next <!-- and a comment that nothing closes")
    assert await rules(memory) == [(text, False), ("Next <!-- and a comment that nothing closes", False)]


async def test_what_cannot_be_kept_is_refused(memory: Memory) -> None:
    """A key would be put before every session and be in git for ever, or a line across the page be a rule."""
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    refusals = [
        ("", "empty"),
        (" \n\u200b", "empty"),
        ("---", "empty"),
        ("x" * (MAX_RULE_CHARS + 1), "too_long"),
        (f"Log in with {secret}.", "secret"),
    ]
    with memory.nothing_written():
        for text, reason in refusals:
            with pytest.raises(MemoryRejected) as refused:
                await add(memory, text)
            assert refused.value.details["reason"] == reason and secret not in refused.value.message
    await add(memory, "x" * MAX_RULE_CHARS)


async def test_a_damaged_file_harms_only_itself(memory: Memory) -> None:
    """A half-merged file would silence all rules, be overwritten, or be missed by nobody."""
    await write(memory, "- Sign commits.\n", "git.md")
    damaged = "<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> theirs\n"
    await write(memory, damaged)
    assert await rules(memory) == [("Sign commits.", False)]
    with pytest.raises(FileUnreadable):
        await add(memory, "Use tabs.")
    await add(memory, "Sign commits.")
    assert (await memory.file("rules/rules.md")).read_text() == damaged
    found = [finding for finding in await diagnose(memory.ports) if "/rules/rules.md" in finding.message]
    assert [(finding.status, "conflict" in finding.message) for finding in found] == [("warning", True)]


async def test_a_secret_in_a_rule_by_hand_is_reported(memory: Memory) -> None:
    """It would be told to every agent, and go to every machine with the next push."""
    secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
    await write(memory, f"- Log in with {secret}.\n")
    found = [
        finding.message for finding in await diagnose(memory.ports) if "hold a secret" in finding.message
    ]
    assert len(found) == 1 and secret not in found[0]


async def test_rules_of_the_global_store(memory: Memory) -> None:
    """What holds in every project could only be told one project at a time."""
    await add_rule(memory.ports, memory.caller(None), GLOBAL, "Answer in German.")
    assert [file.path for file in await rules_files(memory.ports, GLOBAL)] == ["global/rules/rules.md"]
    assert await recall(memory.ports, [GLOBAL], "answer in german") == []
