"""Session: what an agent is told when it begins to work, without asking. Reads only, and never nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from coffer.application.handoff import saved_scene
from coffer.application.journal import recent_entries
from coffer.application.rules import RulesFile, rules_files
from coffer.application.scope import project_store
from coffer.domain.agents import Budget
from coffer.domain.errors import CofferError
from coffer.domain.framing import Frame, fitting, has_room, less, quote, spoken_day
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, StoreRef
from lanes.errors import Unreadable
from lanes.knowledge import derive_title
from lanes.rules import Rule

SEEDED = (
    "## How this memory is used",
    '- When the user wants to continue earlier work ("continue", "where were we", "resume"), call coffer__resume(): '
    "it returns the handoff that was saved for this project and branch.",
    "- Prefer coffer__remember for what should be known later, and coffer__recall to look something up, over a "
    "memory of your own: Coffer is what all of this user's agents share.",
)
MAX_TITLES = 25
MAX_JOURNAL_LINES = 3
MAX_INDEX_BYTES = 2048
MAX_LEARNED_RULES = 10
MAX_LEARNED_CHARS = 1200

_RULE_BYTES, _TITLE_BYTES, _ENTRY_BYTES, _NAME_BYTES = 3000, 120, 160, 80
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}(?:\s+Rules)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Section:
    """Lines under a heading; `more` makes the line that says how many were left out, and how to see them."""

    head: tuple[str, ...]
    lines: tuple[str, ...]
    more: Callable[[int], str]
    hidden: int = 0

    def least(self) -> tuple[str, ...]:
        """Return what the section is when none of its lines has room."""
        return (*self.head, self.more(len(self.lines) + self.hidden))

    def told(self, room: Budget) -> list[str]:
        lines = fitting(self.lines, less(room, *self.head), self.more, self.hidden)
        return [*self.head, *lines] if lines else []


async def session_context(ports: Ports, folder: str | None, budget: Budget) -> str:
    """Return what a session that begins in `folder` is told, within `budget`.

    The project's rules, the global ones, how to use the memory (which is never cut), and what remains of the
    room for an index of the project's memory. Creates nothing, also outside every project or before the first
    fact; what can't be read is left out.
    """
    project = await ports.identity.project(folder) if folder else None
    frame = Frame(ports.clock.new_id()[-8:])
    room = less(budget, frame.opening, *SEEDED, frame.closing)
    store = None if project is None else await project_store(ports, project)
    stores = [GLOBAL] if store is None else [store, GLOBAL]
    sections = [section for one in stores for section in _rules(one, await rules_files(ports, one))]
    told: list[str] = []
    for place, section in enumerate(sections, 1):
        kept = [line for later in sections[place:] for line in later.least()]
        lines = section.told(less(room, *kept))
        room = less(room, *lines)
        told += lines
    index = [] if project is None or store is None else await _index(ports, store, project.branch, room)
    return frame.around([*told, *SEEDED, *index])


def _rules(store: StoreRef, files: Sequence[RulesFile]) -> list[_Section]:
    """Return a store's own rules, then what was learned and nobody has confirmed yet; what is empty not at all."""
    own: list[str] = []
    learned: list[str] = []
    for file in files:
        for block in file.document.blocks:
            if block.rule is None:
                own += _prose(block.text)
            elif words := quote(block.rule.text, _RULE_BYTES):
                if block.rule.learned:
                    learned.append(f"- {words} ({_learned(block.rule)})")
                else:
                    own.append(f"- {words}")
    where = "in every project" if store.is_global else "in this project"
    shown_by = "coffer memory rules" + (" global" if store.is_global else "")

    def more(count: int) -> str:
        # How to confirm a learned rule is for the user to know, not for the agent that may have noted it.
        return f"- … {count} more; `{shown_by}` shows them"

    kept = _capped(learned)
    own_head = (f"## The user's standing rules {where}",)
    learned_head = (
        f"## Rules learned {where}, which the user has not confirmed",
        "Noted by agents or by Coffer itself; what the user says counts more.",
    )
    sections = [
        _Section(own_head, tuple(own), more),
        _Section(learned_head, tuple(kept), more, len(learned) - len(kept)),
    ]
    return [section for section in sections if section.lines or section.hidden]


def _prose(text: str) -> Iterable[str]:
    """Yield the lines that a person wrote between the bullets, without headings that say nothing."""
    for line in _COMMENT.sub("", text).splitlines():
        words = quote(line, _RULE_BYTES)
        if words and not _HEADING.fullmatch(words):
            yield f"> {words}"


def _learned(rule: Rule) -> str:
    day = f" {spoken_day(rule.learned_on)}" if rule.learned_on else ""
    by = f" by {quote(rule.learned_by, _NAME_BYTES)}" if rule.learned_by else ""
    return f"learned{day}{by}"


def _capped(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for line in lines[:MAX_LEARNED_RULES]:
        if sum(map(len, kept)) + len(line) > MAX_LEARNED_CHARS:
            break
        kept.append(line)
    return kept


async def _index(ports: Ports, store: StoreRef, branch: str | None, room: Budget) -> list[str]:
    """Return what the project's memory is about, as titles; nothing when there is no room, or nothing to tell."""
    room = Budget(min(room.bytes, MAX_INDEX_BYTES), room.tokens)
    try:
        titles, total = await _titles(ports, store)
        entries = await recent_entries(ports, store, MAX_JOURNAL_LINES)
        waiting = await _waiting(ports, store, branch)
    except (CofferError, OSError):
        return []
    head = ["## Project memory (via Coffer)", "Titles only; coffer__recall finds the texts."]
    tail = ["Recent activity:"] if entries else []
    for entry in entries:
        who = quote(entry.actor, _NAME_BYTES)
        tail.append(f"- {spoken_day(entry.time)}, {who}: {quote(derive_title(entry.body), _ENTRY_BYTES)}")
    tail += waiting
    if not (titles or tail) or not has_room(less(room, *head, *tail)):
        return []
    known = fitting(
        titles,
        less(room, *head, "Known topics:", *tail),
        lambda n: f"- … {n} more; coffer__recall finds them",
        total - len(titles),
    )
    return [*head, *(["Known topics:", *known] if known else []), *tail]


async def _waiting(ports: Ports, store: StoreRef, branch: str | None) -> list[str]:
    """Return the line that tells of a handoff for the project's present branch; its text is for who asks."""
    try:
        saved = await saved_scene(ports, store, branch) if branch else None
    except Unreadable:
        return []
    if saved is None:
        return []
    scene = saved.scene
    by = f" by {quote(scene.agent, _NAME_BYTES)}" if scene.agent else ""
    on = f" on {spoken_day(scene.updated_at)}" if scene.updated_at else ""
    name = quote(scene.branch, _NAME_BYTES)
    return [f"A handoff for the branch {name} waits, saved{by}{on}: coffer__resume() shows it."]


async def _titles(ports: Ports, store: StoreRef) -> tuple[list[str], int]:
    """Return the titles of what is newest, topics first, and how many texts there are in all."""
    facts, total = await ports.index.facts(store, None, MAX_TITLES, 0)
    facts.sort(key=lambda fact: fact.lane != "topic")
    return [f"- {quote(fact.title, _TITLE_BYTES)}" for fact in facts], total
