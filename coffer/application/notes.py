"""Notes: the few facts that may bear on what the user just asked, offered to the agent without being asked for.

Silence is the rule: a note that doesn't fit costs attention with every prompt, and one that is missing can
still be recalled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from coffer.application.scope import stores_in_scope
from coffer.domain.agents import Agent, Budget
from coffer.domain.facts import MAX_QUERY_CHARS, Caller, Hit
from coffer.domain.framing import Frame, less, quote, shortened, spoken_day, wide_characters
from coffer.domain.ports import Ports

MAX_NOTES = 3
MAX_BYTES = 1536
LEAST_TERMS = 3

# Settled by `python -m bench.notes`, whose table docs/hooks.md shows: at 0.5 nearly everything that is shown
# answers, and 96 of 100 everyday prompts get silence. In a Chinese, Japanese or Korean sentence every pair of
# characters counts as a word, so that a full answer reaches half of what it reaches in English.
FLOOR = 0.5
WIDE_WEIGHT = 2.0
CLOSE_TO_BEST = 0.6  # of the best note's score; a second or third one below that is a chance match

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")
_SENTENCES = 4  # from the beginning of a prompt, and as many from its end; what is between them was pasted
_INTRODUCTION = "Notes that may bear on this prompt; coffer__recall finds more."
_NAME_BYTES, _TITLE_BYTES = 80, 120


async def prompt_notes(
    ports: Ports, agent: Agent, session: str | None, folder: str | None, prompt: str | None
) -> str:
    """Return at most three short notes for a prompt in their frame, or nothing, which is the usual answer.

    No note comes twice in a session; without a session that can be told from others none comes at all.
    """
    if not (agent.prompt_notes and session and prompt) or ports.index.terms(prompt) < LEAST_TERMS:
        return ""
    reader = f"{agent.name}:{session}"
    shown = await ports.agents.shown(reader)
    hits = [hit for hit in chosen(await candidates(ports, folder, prompt)) if _key(hit) not in shown]
    if not hits:
        return ""
    frame = Frame(ports.clock.new_id()[-8:])
    lines = [_INTRODUCTION]
    for waiting, hit in zip(range(len(hits), 0, -1), hits):
        room = less(Budget(MAX_BYTES), frame.opening, *lines, frame.closing).bytes // waiting - 1
        lines.append(shortened(f"- {_source(hit)}: {quote(hit.text, room)}", room))
    ports.agents.show(reader, [_key(hit) for hit in hits], ports.clock.now())
    return frame.around(lines)


async def candidates(ports: Ports, folder: str | None, prompt: str) -> list[tuple[float, Hit]]:
    """Return what was found for any sentence of a prompt with the best score it got for one, best first.

    Sentence by sentence, because a word that was found counts less the more others stand beside it.
    """
    stores = await stores_in_scope(ports, Caller(folder=folder), "both")
    best: dict[tuple[str, str], tuple[float, Hit]] = {}
    sentences = [
        sentence[:MAX_QUERY_CHARS]
        for sentence in _sentences(prompt)
        if ports.index.terms(sentence) >= LEAST_TERMS
    ]
    for sentence, hits in zip(sentences, await ports.index.search_each(sentences, stores, MAX_NOTES)):
        weight = WIDE_WEIGHT if 3 * wide_characters(sentence) >= len(sentence) else 1.0
        for hit in hits:
            score = hit.score * weight
            if score > best.get((hit.store, hit.id), (0.0, hit))[0]:
                best[hit.store, hit.id] = score, hit
    return sorted(best.values(), key=lambda found: found[0], reverse=True)


def chosen(found: Sequence[tuple[float, Hit]], floor: float = FLOOR) -> list[Hit]:
    """Return those of the candidates that are worth the agent's attention."""
    if not found:
        return []
    least = max(floor, CLOSE_TO_BEST * found[0][0])
    return [hit for score, hit in found[:MAX_NOTES] if score >= least]


def _sentences(prompt: str) -> Iterable[str]:
    sentences = [sentence for sentence in _SENTENCE_END.split(prompt) if sentence and not sentence.isspace()]
    return [*sentences[:_SENTENCES], *sentences[_SENTENCES:][-_SENTENCES:]]


def _source(hit: Hit) -> str:
    """Say where a note comes from, as people would."""
    where = "for every project" if hit.scope == "global" else "in this project"
    day = spoken_day(hit.time)
    if hit.lane == "topic":
        return f"From “{quote(hit.title, _TITLE_BYTES)}” {where}, as of {day}"
    by = "the user" if hit.actor == "user" else quote(hit.agent or "an agent", _NAME_BYTES)
    return f"Noted {where} by {by} on {day}"


def _key(hit: Hit) -> str:
    return f"{hit.store}/{hit.id}"
