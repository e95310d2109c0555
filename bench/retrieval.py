"""What recall finds: how many of the texts that answer a question are among the first hits.

    python -m bench.retrieval [FOLDER]

FOLDER holds the sets, none of which is part of this repository; without them nothing is measured. devmem
(`facts.jsonl`, `queries.jsonl`) is the memory of 13 invented projects in one home, searched together. LoCoMo
(`locomo-dev.json`, https://github.com/snap-research/locomo, CC BY-NC 4.0) is searched a conversation at a time,
once with each turn as a fact and once with each as a journal entry. Everything goes through the files and the
recall that agents are served from.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import mean
from typing import Any

import trio

from bench.table import machine, ms
from coffer.application.recall import recall
from coffer.bootstrap import open_ports
from coffer.domain.ports import Ports
from coffer.domain.stores import GLOBAL, StoreRef, project_id
from lanes.journal import Entry, append_entry, day_of, entry_id, journal_path
from lanes.knowledge import new_fact
from lanes.layout import inbox_path
from lanes.names import fact_filename, ulid

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "retrieval"
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Text:
    """Something to be remembered; `time` is ISO 8601 in UTC."""

    id: str
    store: StoreRef
    title: str
    body: str
    time: str
    author: str


@dataclass(frozen=True, slots=True)
class Question:
    """A query, where it is asked, and the texts that answer it."""

    text: str
    stores: tuple[StoreRef, ...]
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Set:
    """Texts, and questions about them."""

    texts: list[Text]
    questions: list[Question]


@dataclass(frozen=True, slots=True)
class Figures:
    """What was found: shares of the wanted texts, and how long each recall took in milliseconds."""

    at_5: float
    at_10: float
    mrr: float
    milliseconds: list[float]


def devmem(folder: Path) -> Set:
    """Read the developers' memory; `human` wrote what no agent wrote."""
    lines = (folder / "facts.jsonl").read_text("utf-8").splitlines()
    texts = [
        Text(
            fact["id"],
            GLOBAL if fact["store"] == "global" else StoreRef(project_id(fact["store"])),
            fact["title"],
            fact["body"],
            f"{fact['date']}T12:00:00Z",
            "user" if fact["author"] == "human" else fact["author"],
        )
        for fact in map(json.loads, lines)
    ]
    stores = tuple(dict.fromkeys(text.store for text in texts))
    asked = map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
    return Set(texts, [Question(one["text"], stores, frozenset(one["gold"])) for one in asked])


def locomo(folder: Path) -> Set:
    """Read the conversations, a turn a text; questions whose evidence isn't a turn are left out."""
    found = Set([], [])
    for sample in json.loads((folder / "locomo-dev.json").read_text("utf-8")):
        name, conversation = sample["sample_id"], sample["conversation"]
        store = StoreRef(project_id(f"locomo/{name}"))
        found.texts.extend(_turns(name, store, conversation))
        known = {text.id for text in found.texts}
        for asked in sample["qa"]:
            evidence = re.findall(r"D:?(\d+):0*(\d+)", " ".join(map(str, asked.get("evidence") or [])))
            wanted = frozenset(f"{name}/D{session}:{turn}" for session, turn in evidence) & known
            if wanted:
                found.questions.append(Question(asked["question"], (store,), wanted))
    return found


def _turns(name: str, store: StoreRef, conversation: dict[str, Any]) -> Iterator[Text]:
    for number in count(1):
        began = conversation.get(f"session_{number}_date_time")
        if began is None:
            return
        moment = datetime.strptime(f"{began} +0000", "%I:%M %p on %d %B, %Y %z")
        for place, turn in enumerate(conversation.get(f"session_{number}", ())):
            caption = turn.get("blip_caption")
            body = turn["text"] + (f" [shares a photo: {caption}]" if caption else "")
            said = (moment + timedelta(seconds=place)).strftime("%Y-%m-%dT%H:%M:%SZ")
            yield Text(f"{name}/{turn['dia_id']}", store, turn["speaker"], body, said, turn["speaker"])


def as_facts(tree: Path, texts: Sequence[Text]) -> dict[str, str]:
    """Write each text as a fact; return which text each id of a hit means."""
    meant = {}
    for text in texts:
        fact_id = ulid(0, hashlib.sha256(text.id.encode()).digest()[:10])
        agent = None if text.author == "user" else text.author
        content = new_fact(
            fact_id=fact_id,
            title=text.title,
            description=None,
            text=text.body,
            actor="agent" if agent else "user",
            agent=agent,
            origin_session_id=None,
            now=text.time,
        )
        file = tree / text.store.folder / inbox_path(text.time, fact_filename(text.title, fact_id))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        meant[fact_id] = text.id
    return meant


def as_entries(tree: Path, texts: Sequence[Text]) -> dict[str, str]:
    """Write each text as a journal entry; return which text each id of a hit means."""
    meant, files = {}, dict[Path, bytes]()
    for text in texts:
        entry, day = Entry(text.time, text.author, "bench", text.body), day_of(text.time)
        file = tree / text.store.folder / journal_path(day)
        files[file] = append_entry(files.get(file), day, entry) or files[file]
        meant[entry_id(entry)] = text.id
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return meant


async def measure(home: Path, data: Set, write: Callable[[Path, Sequence[Text]], dict[str, str]]) -> Figures:
    """Put a set into a new home and ask every question."""
    meant = write(home / "memory", data.texts)
    at_5, at_10, firsts, took = [], [], [], []
    async with open_ports(str(home), {"HOME": str(home)}) as ports:
        await _warm_up(ports, data)
        for question in data.questions:
            began = time.perf_counter()
            hits = await recall(ports, question.stores, question.text, DEPTH)
            took.append((time.perf_counter() - began) * 1000)
            found = [meant[hit.id] for hit in hits]
            at_5.append(len(question.wanted.intersection(found[:5])) / len(question.wanted))
            at_10.append(len(question.wanted.intersection(found)) / len(question.wanted))
            places = [place for place, text in enumerate(found, 1) if text in question.wanted]
            firsts.append(1 / places[0] if places else 0.0)
    return Figures(mean(at_5), mean(at_10), mean(firsts), took)


async def _warm_up(ports: Ports, data: Set) -> None:
    for store in {text.store for text in data.texts}:
        await recall(ports, [store], "index everything first")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where the sets are")
    folder = parser.parse_args().folder
    runs = (
        ("devmem", "facts.jsonl", devmem, as_facts, ""),
        ("LoCoMo, turns as facts", "locomo-dev.json", locomo, as_facts, ""),
        ("LoCoMo, turns as journal entries", "locomo-dev.json", locomo, as_entries, "recall@5 ≥ 0.67"),
    )
    there = [run for run in runs if (folder / run[1]).exists()]
    if not there:
        print(f"There are no retrieval sets in {folder}; nothing was measured.")
        return 0
    print(f"{machine()}\n\n| set | texts | questions | recall@5 | recall@10 | MRR | a recall | asked |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for title, _, load, write, asked in there:
        data = load(folder)
        scratch = Path(tempfile.mkdtemp(prefix="coffer-bench-"))
        try:
            found = trio.run(measure, scratch, data, write)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        shares = f"{found.at_5:.3f} | {found.at_10:.3f} | {found.mrr:.3f}"
        sizes = f"{len(data.texts)} | {len(data.questions)}"
        print(f"| {title} | {sizes} | {shares} | {ms(found.milliseconds)} | {asked} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
