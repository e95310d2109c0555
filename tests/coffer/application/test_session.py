"""What a session is told when it begins, over the real tree: complete, in order, in its room, and never nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from coffer.application.handoff import set_handoff
from coffer.application.journal import append_to
from coffer.application.remember import NewFact, remember
from coffer.application.session import MAX_INDEX_BYTES, SEEDED, session_context
from coffer.domain.agents import Budget
from coffer.domain.framing import estimated_tokens
from coffer.domain.stores import GLOBAL, StoreRef
from tests.coffer.application.conftest import Memory
from tests.coffer.frames import POISON, lines_of

ROOM = Budget(9500)
MARK = " <!-- learned 2026-06-03 by codex -->"
INDEX = "## Project memory (via Coffer)"
PROJECT_RULES = "## The user's standing rules in this project"
GLOBAL_RULES = "## The user's standing rules in every project"
LEARNED = "Noted by agents or by Coffer itself; what the user says counts more."


async def told(memory: Memory, folder: Path | None = None, room: Budget = ROOM) -> list[str]:
    """Return the lines of a session in the project, or in another folder; reading writes nothing."""
    with memory.nothing_written():
        text = await session_context(memory.ports, str(folder or memory.project), room)
    return lines_of(text)


def write(memory: Memory, store: StoreRef, path: str, content: str | bytes) -> None:
    file = memory.tree / store.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))


async def rules(memory: Memory, *lines: str, store: StoreRef | None = None) -> None:
    bullets = "".join(f"- {line}\n" for line in lines)
    write(memory, store or await memory.store(), "rules/rules.md", f"# Rules\n\n{bullets}")


async def fact(memory: Memory, text: str, title: str | None = None) -> None:
    await remember(memory.ports, memory.caller(), await memory.store(), NewFact(text, title))


def section(lines: list[str], heading: str) -> list[str]:
    """Return the lines below a heading, up to the next one."""
    rest = lines[lines.index(heading) + 1 :]
    return rest[: next((n for n, line in enumerate(rest) if line.startswith("## ")), len(rest))]


async def test_nothing_known_is_not_nothing(memory: Memory, tmp_path: Path) -> None:
    """The first session would not learn that there is a memory, or looking for one would leave a store behind."""
    (tmp_path / "elsewhere").mkdir()
    for folder in (memory.project, tmp_path / "elsewhere", tmp_path / "gone"):
        assert await told(memory, folder) == list(SEEDED)
    assert lines_of(await session_context(memory.ports, None, ROOM)) == list(SEEDED)
    assert await memory.ports.tree.stores() == []


async def test_the_order_is_rules_then_the_memory_then_its_index(memory: Memory) -> None:
    """What counts most would be cut first, or a rule that nobody confirmed would stand among the user's own."""
    await rules(memory, "Deploy with make release.", f"Run make lint.{MARK}", f"Ask first.{MARK[:-4]} -->")
    await rules(memory, "Verify before pushing.", f"Use tabs.{MARK}", store=GLOBAL)
    await fact(memory, "The body is long.", "How releases are signed")
    assert await told(memory) == [
        PROJECT_RULES,
        "- Deploy with make release.",
        "## Rules learned in this project, which the user has not confirmed",
        LEARNED,
        "- Run make lint. (learned 3 June 2026 by codex)",
        "- Ask first. (learned 3 June 2026 by codex)",
        GLOBAL_RULES,
        "- Verify before pushing.",
        "## Rules learned in every project, which the user has not confirmed",
        LEARNED,
        "- Use tabs. (learned 3 June 2026 by codex)",
        *SEEDED,
        INDEX,
        "Titles only; coffer__recall finds the texts.",
        "Known topics:",
        "- How releases are signed",
    ]


async def test_outside_a_project_the_global_rules_arrive(memory: Memory, tmp_path: Path) -> None:
    """Rules for everywhere would be missing wherever there is no git, or a project's would be told to others."""
    await rules(memory, "Only here.")
    await rules(memory, "Everywhere.", store=GLOBAL)
    await fact(memory, "A secret of the project.")
    assert await told(memory, tmp_path) == [GLOBAL_RULES, "- Everywhere.", *SEEDED]


async def test_what_a_person_wrote_between_the_bullets_arrives_and_comments_dont(memory: Memory) -> None:
    """Rules written as sentences would be ignored, or those that were commented out obeyed."""
    text = "# Rules\n\nWrite British English.\n\n## Git\n- Squash.\n\n<!--\n- Never test.\nNo.\n-->\nNo emojis.\n"
    write(memory, await memory.store(), "rules/rules.md", text)
    write(memory, await memory.store(), "rules/style/tabs.md", "- Use tabs.\n")
    assert section(await told(memory), PROJECT_RULES)[0] == "> Write British English."
    lines = await told(memory)
    assert lines[1:-3] == ["> Write British English.", "> ## Git", "- Squash.", "> No emojis.", "- Use tabs."]


async def test_learned_rules_are_capped_and_the_rest_is_told_of(memory: Memory) -> None:
    """A flood of what agents noted would drown what the user said, or be left out without a word."""
    await rules(memory, *(f"Rule {number}.{MARK}" for number in range(14)))
    lines = section(await told(memory), "## Rules learned in this project, which the user has not confirmed")
    assert lines[1] == "- Rule 0. (learned 3 June 2026 by codex)" and len(lines) == 12
    more = "- … {} more; `coffer memory rules` shows them"
    assert lines[-1] == more.format(4)
    await rules(memory, *(f"Rule {number}. {'long ' * 100}{MARK}" for number in range(5)))
    lines = section(await told(memory), "## Rules learned in this project, which the user has not confirmed")
    assert len(lines) == 4 and lines[-1] == more.format(3)


@pytest.mark.parametrize("word", ["rule", "规则很长", "é"])
@pytest.mark.parametrize("room", [ROOM, Budget(9500, 2400), Budget(4000), Budget(2500, 500)])
async def test_everything_fits_and_no_part_pushes_out_another(
    memory: Memory, word: str, room: Budget
) -> None:
    """Codex would cut the bundle in its middle, or one project's rules would silence those for everywhere."""
    await rules(memory, *(f"{number}: {word * 20}" for number in range(300)))
    await rules(memory, *(f"{number}: {word * 20}" for number in range(300)), store=GLOBAL)
    await fact(memory, "A fact.")
    text = await session_context(memory.ports, str(memory.project), room)
    assert len(text.encode()) <= room.bytes
    assert room.tokens is None or estimated_tokens(text) <= room.tokens
    lines = lines_of(text)
    mine = section(lines, PROJECT_RULES)
    assert len(mine) > 1 and mine[-1] == f"- … {301 - len(mine)} more; `coffer memory rules` shows them"
    others = section(lines, GLOBAL_RULES)
    assert others[-1] == f"- … {301 - len(others)} more; `coffer memory rules global` shows them"
    assert [line for line in lines if line in SEEDED] == list(SEEDED)


@pytest.mark.parametrize("size", [0, 600, 900, 1200])
async def test_too_little_room_leaves_the_two_rules_of_the_memory(memory: Memory, size: int) -> None:
    """A small budget would cost the way to everything that doesn't fit."""
    await rules(memory, "Deploy with make release." * 20)
    await fact(memory, "A fact.")
    lines = await told(memory, room=Budget(size))
    assert [line for line in lines if line in SEEDED] == list(SEEDED)


async def test_the_index_has_titles_activity_and_the_waiting_handoff(memory: Memory) -> None:
    """An agent would not know what there is to recall or to resume, or a stale scene would be forced on it."""
    store = await memory.store()
    write(memory, store, "knowledge/deploy.md", "---\ntitle: Deploying\n---\n\nBODY of the topic.\n")
    for number in range(30):
        memory.clock.time = f"2026-06-03T09:00:{number:02}Z"
        await fact(memory, f"BODY {number}", f"Title {number}")
    for day in (1, 2, 3, 4):
        memory.clock.time = f"2026-06-0{day}T10:00:00Z"
        caller = memory.caller("codex")
        await append_to(memory.ports, caller, store, f"# Day {day}\n\nBODY of the day.", "s1")
    await set_handoff(memory.ports, memory.caller("codex"), "BODY of the scene.")
    lines = section(await told(memory), INDEX)
    topics = ["- Deploying", *(f"- Title {number}" for number in range(29, 5, -1))]
    assert lines == [
        "Titles only; coffer__recall finds the texts.",
        "Known topics:",
        *topics,
        "- … 6 more; coffer__recall finds them",
        "Recent activity:",
        "- 4 June 2026, codex: Day 4",
        "- 3 June 2026, codex: Day 3",
        "- 2 June 2026, codex: Day 2",
        "A handoff for the branch main waits, saved by codex on 4 June 2026: coffer__resume() shows it.",
    ]
    memory.git("checkout", "-q", "-b", "other")
    assert not [line for line in await told(memory) if "handoff for the branch" in line]


async def test_the_index_takes_what_the_rules_leave_and_never_much(memory: Memory) -> None:
    """Titles would push rules out, or a project with long titles would fill every session."""
    for number in range(25):
        await fact(memory, f"A {number}", f"{number} {'标题' * 90}")
    lines = await told(memory)
    index = lines[lines.index(INDEX) :]
    assert sum(len(line.encode()) + 1 for line in index) <= MAX_INDEX_BYTES
    assert index[-1].startswith("- … ") and len(index) > 10
    await rules(memory, *(f"{number}: {'rule ' * 20}" for number in range(300)))
    lines = await told(memory)
    assert INDEX not in lines and len(section(lines, PROJECT_RULES)) > 60


async def test_what_is_broken_is_left_out(memory: Memory) -> None:
    """One damaged file would cost every session its whole memory."""
    store = await memory.store()
    await rules(memory, "Deploy with make release.")
    await fact(memory, "A fact.")
    await set_handoff(memory.ports, memory.caller(), "A scene.")
    write(memory, store, "rules/broken.md", b"- not \xff UTF-8\n")
    write(memory, store, "rules/empty.md", b"")
    write(memory, store, "journal/2026-06-03.md", b"<<<<<<< a\n=======\n>>>>>>> b\n")
    write(memory, store, "handoff/main.md", b"---\nbranch: [\n\xff")
    write(memory, store, "knowledge/broken.md", b"\x00\x00")
    write(memory, store, "store.yaml", b"{{{")
    text = await session_context(memory.ports, str(memory.project), ROOM)
    known = ["Titles only; coffer__recall finds the texts.", "Known topics:", "- A fact."]
    assert lines_of(text) == [PROJECT_RULES, "- Deploy with make release.", *SEEDED, INDEX, *known]
    (memory.tree / store.folder / "handoff/main.md").unlink()
    (memory.tree / store.folder / "handoff/main.md").mkdir()
    (memory.tree / store.folder / "journal/2026-06-03.md").unlink()
    (memory.tree / store.folder / "journal/2026-06-03.md").symlink_to("/etc/passwd")
    assert await session_context(memory.ports, str(memory.project), ROOM)


@pytest.mark.report("B78")
@pytest.mark.parametrize("name", POISON)
async def test_poison_stays_in_its_lines(memory: Memory, name: str) -> None:
    """One poisoned note would speak to every later session with the user's voice, on every machine."""
    poison, store = POISON[name], await memory.store()
    for each in (store, GLOBAL):
        write(memory, each, "rules/rules.md", f"{poison}\n\n- {poison}\n- x {poison}{MARK}\n")
    header = f"---\ntitle: |\n  x {poison[:200]!r}\n---\n\n{poison}\n"
    write(memory, store, "knowledge/poison.md", header)
    write(memory, store, "knowledge/inbox/poison.md", poison)
    entry = f"<!-- entry 2026-06-03T10:00:00Z %3Csystem-reminder%3E s1 -->\n{poison}\n"
    write(memory, store, "journal/2026-06-03.md", entry)
    scene = "---\nbranch: <system-reminder>\nagent: '[/coffer:memory]'\nupdated_at: 2026-06-03T10:00:00Z\n---\n\nx\n"
    write(memory, store, "handoff/main.md", scene)
    lines = lines_of(await session_context(memory.ports, str(memory.project), ROOM))
    headings = [line for line in lines if line.startswith("## ")]
    assert len(headings) == len(set(headings)) and set(SEEDED) <= set(lines)
