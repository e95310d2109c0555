"""The lanes beside facts over REST: rules, journal, handoff scenes, and what the organizer did."""

from __future__ import annotations

from coffer.application.handoff import scenes
from coffer.application.journal import append_to, days
from coffer.application.rules import accept_learned, add_rule, rules_files, rules_text
from coffer.domain.errors import MemoryNotFound, MemoryRejected
from coffer.surfaces.rest.facts import project_of_store
from coffer.surfaces.rest.route import ACTOR, FOLDER, Answer, Asked, Route
from coffer.surfaces.rest.schema import Schema, array, boolean, maybe, record, string
from coffer.surfaces.rest.stores import TIME, WRITING
from lanes.layout import LOG_FILE
from lanes.rules import Rule

PATHS: dict[str, Schema] = {"path": string("Its file."), "folder_path": string("The file's folder.")}
RULE = record(
    "Rule",
    "One rule.",
    {
        "text": string("The rule, one line."),
        "learned": boolean("Whether an agent or the organizer wrote it and nobody accepted it yet."),
        "learned_on": maybe(string("The day, when that is known.")),
        "learned_by": maybe(string("Who wrote it, when that is known.")),
    },
)
RULES = record(
    "Rules",
    "A store's rules.",
    {
        "text": maybe(string("All files one after the other; null without any.")),
        "files": array(
            "By path.", record("RulesFile", "One file.", {**PATHS, "rules": array("Its rules.", RULE)})
        ),
    },
)
DAY = record(
    "JournalFile", "One day.", {"period": string("The UTC day."), "text": string("The file."), **PATHS}
)
ENTRY = record(
    "JournalEntry",
    "What happened.",
    {
        "time": TIME,
        "actor": string("Who wrote it."),
        "source": string("Where it came from."),
        "text": string("The entry."),
    },
)
SCENE = record(
    "Scene",
    "Where the work on a branch stands.",
    {
        "branch": string("The branch."),
        "text": string("The scene."),
        "updated_at": maybe(TIME),
        "agent": maybe(string("Which agent saved it.")),
        **PATHS,
    },
)
LOG = record("ConsolidationLog", "What the organizer did.", {"text": maybe(string("The log.")), **PATHS})


async def _rules(asked: Asked) -> Answer:
    files = await rules_files(asked.ports, asked.store)
    told = [{**_paths(asked, file.path), "rules": [_rule(rule) for rule in file.rules]} for file in files]
    return Answer({"text": rules_text(files), "files": told})


async def _add_rule(asked: Asked) -> Answer:
    project = await project_of_store(asked)
    return Answer(_rule(await add_rule(asked.ports, asked.caller, asked.store, asked.body["text"], project)))


async def _accept_rule(asked: Asked) -> Answer:
    return Answer(_rule(await accept_learned(asked.ports, asked.caller, asked.store, asked.body["text"])))


async def _journal(asked: Asked) -> Answer:
    told = [
        {"period": day.period, "text": day.content.decode("utf-8", "replace"), **_paths(asked, day.path)}
        for day in await days(asked.ports, asked.store)
    ]
    return Answer({"files": told})


async def _append(asked: Asked) -> Answer:
    project = await project_of_store(asked)
    entry = await append_to(asked.ports, asked.caller, asked.store, asked.body["text"], "rest", project)
    if entry is None:
        raise MemoryRejected.empty()
    return Answer({"time": entry.time, "actor": entry.actor, "source": entry.source, "text": entry.body}, 201)


async def _handoff(asked: Asked) -> Answer:
    told = [
        {
            "branch": saved.scene.branch,
            "text": saved.scene.body,
            "updated_at": saved.scene.updated_at or None,
            "agent": saved.scene.agent,
            **_paths(asked, saved.path),
        }
        for saved in await scenes(asked.ports, asked.store)
    ]
    return Answer({"scenes": told})


async def _log(asked: Asked) -> Answer:
    path = f"{asked.store.folder}/{LOG_FILE}"
    content = await asked.ports.tree.read(path)
    text = None if content is None else content.decode("utf-8", "replace")
    return Answer({"text": text, **_paths(asked, path)})


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "text": rule.text,
        "learned": rule.learned,
        "learned_on": rule.learned_on,
        "learned_by": rule.learned_by,
    }


def _paths(asked: Asked, path: str) -> dict[str, str]:
    absolute = f"{asked.ports.tree.root}/{path}"
    return {"path": absolute, "folder_path": absolute.rpartition("/")[0]}


_HEADERS = {**ACTOR, **FOLDER}

ROUTES = (
    Route(
        "GET",
        "/memory_stores/{name}/rules",
        "Tell a store's rules, each file as it stands.",
        _rules,
        {200: RULES},
    ),
    Route(
        "POST",
        "/memory_stores/{name}/rules",
        "Add a rule of the user's own; one that is there already stays as it is.",
        _add_rule,
        {200: RULE},
        (MemoryRejected, *WRITING),
        headers=_HEADERS,
        body=record("NewRule", "What to do or to leave.", {"text": RULE["properties"]["text"]}),
    ),
    Route(
        "POST",
        "/memory_stores/{name}/rules/accept",
        "Make a learned rule the user's own.",
        _accept_rule,
        {200: RULE},
        (MemoryNotFound, *WRITING),
        headers=ACTOR,
        body=record("AcceptedRule", "Which rule.", {"text": RULE["properties"]["text"]}),
    ),
    Route(
        "GET",
        "/memory_stores/{name}/journal",
        "Tell a store's journal, the newest day first.",
        _journal,
        {200: record("Journal", "The days.", {"files": array("Newest first.", DAY)})},
    ),
    Route(
        "POST",
        "/memory_stores/{name}/journal",
        "Note in a project's journal what happened.",
        _append,
        {201: ENTRY},
        (MemoryRejected, *WRITING),
        headers=_HEADERS,
        body=record("NewEntry", "What happened.", {"text": string("The entry, markdown.")}),
    ),
    Route(
        "GET",
        "/memory_stores/{name}/handoff",
        "Tell the scene of each branch, the newest first.",
        _handoff,
        {200: record("Scenes", "The scenes.", {"scenes": array("Newest first.", SCENE)})},
    ),
    Route(
        "GET",
        "/memory_stores/{name}/consolidation-log",
        "Tell what the organizer did to a store.",
        _log,
        {200: LOG},
    ),
)
