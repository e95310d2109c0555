"""A memory of any size, the same on every run: short developer notes over sixty month folders."""

from __future__ import annotations

import random
from pathlib import Path

from lanes.knowledge import derive_description, derive_title, new_fact
from lanes.names import fact_filename, ulid

MONTHS = 60
PLACES = [
    "billing",
    "gateway",
    "scheduler",
    "importer",
    "console",
    "search",
    "mailer",
    "ledger",
    "uploads",
    "auth",
]
THINGS = [
    "retry",
    "timeout",
    "migration",
    "cache",
    "index",
    "queue",
    "webhook",
    "schema",
    "token",
    "snapshot",
]
VERBS = [
    "fails",
    "waits",
    "is rebuilt",
    "is skipped",
    "runs twice",
    "is rate limited",
    "needs a lock",
    "is archived",
]
REASONS = [
    "after a deploy",
    "on Mondays",
    "when the disk is slow",
    "behind the proxy",
    "in staging only",
    "since v2",
]
HOW = [
    "run make",
    "ask the on-call",
    "set the flag",
    "restart the worker",
    "read the runbook",
    "drain the pool",
]


def text(number: int) -> str:
    """Return note `number`: a sentence that only it says, and a few that many share."""
    chance = random.Random(number)
    place, thing = chance.choice(PLACES), chance.choice(THINGS)
    mark = f"case{number:05d}"
    lines = [
        f"The {place} {thing} {chance.choice(VERBS)} {chance.choice(REASONS)} ({mark}).",
        f"{chance.choice(HOW).capitalize()} {place}_{thing}_{chance.randrange(100)} and check `{place}.{thing}`.",
        f"Seen with {chance.choice(PLACES)} {chance.choice(THINGS)}; "
        f"{chance.choice(HOW)} before {chance.choice(THINGS)} {chance.choice(VERBS)}.",
        f"Owner: team {chance.choice(PLACES)}, ticket OPS-{chance.randrange(10_000)}.",
    ]
    return "\n\n".join(lines)


def queries(count: int, size: int) -> list[str]:
    """Return queries of three words, each answered by one of the first `size` notes."""
    chance = random.Random(7)
    found = []
    for _ in range(count):
        words = text(chance.randrange(size)).replace("(", " ").replace(")", " ").replace(".", " ").split()
        found.append(f"{words[1]} {words[2]} {next(word for word in words if word.startswith('case'))}")
    return found


def write(inbox: Path, size: int) -> None:
    """Write the first `size` notes below a store's inbox, as months of use leave them."""
    for number in range(size):
        month = number % MONTHS
        time = f"{2021 + month // 12}-{month % 12 + 1:02d}-15T10:{number // 60 % 60:02d}:{number % 60:02d}Z"
        body = text(number)
        title, fact_id = derive_title(body), ulid(number, number.to_bytes(10, "big"))
        folder = inbox / time[:7]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / fact_filename(title, fact_id)).write_bytes(
            new_fact(
                fact_id=fact_id,
                title=title,
                description=derive_description(body),
                text=body,
                actor="agent",
                agent="bench",
                origin_session_id=None,
                now=time,
            )
        )
