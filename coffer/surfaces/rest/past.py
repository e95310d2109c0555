"""The past over REST: a store as it was, what changed between two moments, who wrote each line of a fact."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coffer.application.past import MAX_REF_CHARS, blame_fact, diff, facts_at
from coffer.domain.errors import MemoryNotFound
from coffer.domain.history import Moment
from coffer.surfaces.rest.facts import FACT, ONE, PAGE, told
from coffer.surfaces.rest.route import Answer, Asked, Route
from coffer.surfaces.rest.schema import array, integer, maybe, record, string
from coffer.surfaces.rest.stores import TIME

REF = string("a commit, 4 to 40 hex digits, or an ISO 8601 time or day", maxLength=MAX_REF_CHARS)
AT = {
    "commit": maybe(string("The newest commit of then; null before the first.")),
    "time": maybe(TIME),
}
MOMENT = record("Moment", "A state of the memory.", AT)
DIFF = record(
    "FileDiff",
    "A file that differs.",
    {
        "path": string("The file."),
        "status": string("What became of it.", enum=["added", "changed", "removed"]),
        "diff": maybe(string("As `diff -u` tells it; null for what isn't text or is too much to show.")),
    },
)
LINE = record(
    "BlamedLine",
    "One line.",
    {
        "commit": string("The commit that wrote it."),
        "time": TIME,
        "actor": maybe(string("Who wrote it.")),
        "agent": maybe(string("Which agent, when that is known.")),
        "session": maybe(string("In which of its sessions, when that is known.")),
        "text": string("The line."),
    },
)


async def _facts(asked: Asked) -> Answer:
    moment, facts, total = await facts_at(asked.ports, asked.store, asked.path["ref"], **asked.query)
    return Answer({"facts": [told(asked, fact) for fact in facts], "total": total, **_moment(moment)})


async def _diff(asked: Asked) -> Answer:
    start, end, files, total = await diff(
        asked.ports, asked.store, asked.query.get("from"), asked.query.get("to")
    )
    root = asked.ports.tree.root
    shown = [{**asdict(file), "path": f"{root}/{file.path}"} for file in files]
    return Answer({"from": _moment(start), "to": _moment(end), "files": shown, "total": total})


async def _blame(asked: Asked) -> Answer:
    lines = await blame_fact(asked.ports, asked.store, asked.path["id"])
    return Answer({"lines": [asdict(line) for line in lines]})


def _moment(moment: Moment | None) -> dict[str, Any]:
    return asdict(moment) if moment else {"commit": None, "time": None}


ROUTES = (
    Route(
        "GET",
        "/memory_stores/{name}/at/{ref}/facts",
        "List facts and topics as they were at a commit or a time, newest first.",
        _facts,
        {
            200: record(
                "PastFacts",
                "A page.",
                {"facts": array("The page.", FACT), "total": integer("How many there were."), **AT},
            )
        },
        (MemoryNotFound,),
        query=PAGE,
    ),
    Route(
        "GET",
        "/memory_stores/{name}/diff",
        "Tell how the files of a store differ from one moment, or the beginning, to another, or now.",
        _diff,
        {
            200: record(
                "Diff",
                "What changed.",
                {
                    "from": MOMENT,
                    "to": MOMENT,
                    "files": array("By path; of very many a part.", DIFF),
                    "total": integer("How many differ."),
                },
            )
        },
        (MemoryNotFound,),
        query={"from": REF, "to": REF},
    ),
    Route(
        "GET",
        f"{ONE}/blame",
        "Tell who wrote each line of a fact's file, as it was last committed.",
        _blame,
        {200: record("Blame", "The file.", {"lines": array("From the top.", LINE)})},
        (MemoryNotFound,),
    ),
)
