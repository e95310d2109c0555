"""Where the floor for prompt-time notes has to lie: `python -m bench.notes FOLDER`.

FOLDER holds a retrieval set: `facts.jsonl` (id, store, title, body, author, date, lang) and `queries.jsonl`
(store, text, gold). Beside its queries, `fixtures/prompts/answered.jsonl` has prompts of everyday work that a
fact of the set answers, and `everyday.jsonl` such that no fact answers, each of which is asked in every project
of the set whose facts are in its language.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import trio

from coffer.application.notes import LEAST_TERMS, candidates, chosen
from coffer.domain.facts import Hit
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, Project, StoreRef, project_id
from coffer.infrastructure.index.threaded import ThreadedIndex
from lanes.knowledge import new_fact
from lanes.names import fact_filename, ulid

FLOORS = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8)
PROMPTS = Path(__file__).parents[1] / "fixtures" / "prompts"

Json = dict[str, Any]
Found = list[tuple[float, Hit]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A prompt with what was found for it, and the ids of the facts that answer it."""

    found: Found
    gold: frozenset[str]

    def shown(self, floor: float) -> list[bool]:
        """Return for each note that would be shown whether it answers."""
        return [hit.id in self.gold for hit in chosen(self.found, floor)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.notes", description=__doc__)
    parser.add_argument("folder", type=Path, help="the retrieval set")
    folder = parser.parse_args().folder
    facts = _lines(folder / "facts.jsonl")
    with tempfile.TemporaryDirectory(prefix="coffer-notes-") as scratch:
        root = Path(scratch) / "memory"
        ids = _write(root, facts)
        index = ThreadedIndex(f"{scratch}/index.sqlite", str(root), lambda _: None, lambda *_: None)
        ports = cast("Ports", SimpleNamespace(index=index, identity=_Projects()))
        trio.run(_report, ports, ids, facts, folder)
    return 0


async def _report(ports: Ports, ids: Mapping[str, str], facts: Sequence[Json], folder: Path) -> None:
    stores = {fact["store"]: fact["lang"] for fact in facts if fact["store"] != "global"}

    async def ask(prompt: Json, store: str) -> Asked:
        found: Found = []
        if ports.index.terms(prompt["text"]) >= LEAST_TERMS:
            found = await candidates(ports, f"/{store}", prompt["text"])
        return Asked(found, frozenset(ids[gold] for gold in prompt.get("gold", ())))

    everyday = _lines(PROMPTS / "everyday.jsonl")
    answered = _lines(PROMPTS / "answered.jsonl")
    # A question about everything is asked in some project, which has its own notes to be mistaken for an answer.
    queries = [
        {**query, "store": min(stores) if query["store"] == "global" else query["store"]}
        for query in _lines(folder / "queries.jsonl")
    ]
    tables = {
        "queries": [
            await ask(each, each["store"])
            for each in queries
            if ports.index.terms(each["text"]) >= LEAST_TERMS
        ],
        "answered": [await ask(each, each["store"]) for each in answered],
    }
    silent = {
        name: [
            await ask(each, store)
            for each in everyday
            if each["lang"] == name
            for store, lang in stores.items()
            if lang == name
        ]
        for name in ("en", "zh")
    }
    print(
        "| floor | queries: helped, precision | answered prompts: helped, precision | silent, English | Chinese |"
    )
    print("| --- | --- | --- | --- | --- |")
    for floor in FLOORS:
        cells = [_helped(asked, floor) for asked in tables.values()]
        cells += [_share([not each.shown(floor) for each in asked]) for asked in silent.values()]
        print(f"| {floor} | {' | '.join(cells)} |")


def _helped(asked: Sequence[Asked], floor: float) -> str:
    shown = [each.shown(floor) for each in asked]
    return f"{sum(map(any, shown))} of {len(shown)}, {_share([right for each in shown for right in each])}"


def _share(values: Sequence[bool]) -> str:
    return f"{sum(values) / len(values):.1%} of {len(values)}" if values else "none"


class _Projects:
    """Every folder at the root is the project that it is named for."""

    async def project(self, folder: str) -> Project:
        return Project(_store(folder[1:]), folder, "main", None, None)


def _store(name: str) -> StoreRef:
    return GLOBAL if name == "global" else StoreRef(project_id(f"bench:{name}"))


def _write(root: Path, facts: Sequence[Json]) -> dict[str, str]:
    """Write the facts into their stores; return the id that each got."""
    ids = {}
    for number, fact in enumerate(facts):
        ids[fact["id"]] = fact_id = ulid(1_700_000_000_000 + number, number.to_bytes(10, "big"))
        day = fact["date"]
        agent = None if fact["author"] == "human" else fact["author"]
        folder = root / _store(fact["store"]).folder / "knowledge" / "inbox" / day[:7]
        folder.mkdir(parents=True, exist_ok=True)
        content = new_fact(
            fact_id=fact_id,
            title=fact["title"],
            description=None,
            text=fact["body"],
            actor="agent" if agent else "user",
            agent=agent,
            origin_session_id=None,
            now=f"{day}T10:00:00Z",
        )
        (folder / fact_filename(fact["title"], fact_id)).write_bytes(content)
    return ids


def _lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
