"""Facts over REST: add, list, read, mend, delete, clear."""

from __future__ import annotations

import re
from typing import Any

from coffer.application.curate import (
    MAX_PAGE,
    Edit,
    clear_store,
    delete_fact,
    edit_fact,
    get_fact,
    list_facts,
)
from coffer.application.remember import MAX_DESCRIPTION_CHARS, MAX_SUPERSEDES, NewFact, remember
from coffer.application.scope import project_store
from coffer.domain.errors import ConfigInvalid, MemoryNotFound, MemoryRejected, StaleWrite
from coffer.domain.facts import MAX_TITLE_CHARS, Fact
from coffer.domain.stores import Project, store_named
from coffer.surfaces.rest.route import ACTOR, FOLDER, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, boolean, integer, maybe, record, string
from coffer.surfaces.rest.stores import NAME, TIME, WRITING

ID = string("The fact's id.")
TEXT = string("The text, markdown.")
TITLE = string("One line; taken from the text when left out.", maxLength=MAX_TITLE_CHARS)
DESCRIPTION = string("One line; taken from the text when left out.", maxLength=MAX_DESCRIPTION_CHARS)
INSIST = boolean("Keep it although it looks like a secret; only a person may.", default=False)
LANE = string("A fact in the inbox, or a topic document.", enum=["inbox", "topic"])
IF_MATCH = {"If-Match": string("The `ETag` that was read, in quotes; several with commas between, or `*`.")}
PAGE = {
    "lane": LANE,
    "limit": integer("At most this many.", minimum=1, maximum=MAX_PAGE, default=50),
    "offset": integer("Leave out the newest this many.", minimum=0, maximum=10**9, default=0),
}

FACT = record(
    "Fact",
    "One fact or topic document.",
    {
        "id": ID,
        "store_name": NAME,
        "scope": string("Whose memory it is in.", enum=["project", "global"]),
        "lane": LANE,
        "title": string("One line."),
        "description": string("One line."),
        "text": TEXT,
        "actor": string("Who wrote it: `user` or `agent`."),
        "agent": maybe(string("Which agent, when that is known.")),
        "origin_session_id": maybe(string("The session it came from, when that is known.")),
        "path": string("Its file."),
        "folder_path": string("The file's folder."),
        "created_at": maybe(TIME),
        "updated_at": maybe(TIME),
        "commit": string("Whether git has it; the file is safe either way.", enum=["committed", "pending"]),
        "pending_reason": string("Why git doesn't have it yet."),
    },
    optional=("pending_reason",),
)


async def _add(asked: Asked) -> Answer:
    new = NewFact(**asked.body)
    remembered = await remember(asked.ports, asked.caller, asked.store, new, await project_of_store(asked))
    return fact_answer(asked, remembered.fact, 201 if remembered.status == "created" else 200)


async def project_of_store(asked: Asked) -> Project | None:
    """Return the caller's project where the store is its own, so that the project's root gets known."""
    folder = asked.caller.folder
    project = await asked.ports.identity.project(folder) if folder else None
    if project is None:
        return None
    own = (project.store, project.path_store, await project_store(asked.ports, project))
    return project if asked.store in own else None


async def _list(asked: Asked) -> Answer:
    facts, total = await list_facts(asked.ports, asked.store, **asked.query)
    return Answer({"facts": [told(asked, fact) for fact in facts], "total": total})


async def _get(asked: Asked) -> Answer:
    return fact_answer(asked, await get_fact(asked.ports, asked.store, asked.path["id"]))


async def _edit(asked: Asked) -> Answer:
    edit, expected = Edit(**asked.body), await _expected(asked)
    return fact_answer(
        asked, await edit_fact(asked.ports, asked.caller, asked.store, asked.path["id"], edit, expected)
    )


async def _delete(asked: Asked) -> Answer:
    await delete_fact(asked.ports, asked.caller, asked.store, asked.path["id"], await _expected(asked))
    return Answer(None, 204)


async def _clear(asked: Asked) -> Answer:
    return Answer({"cleared": await clear_store(asked.ports, asked.caller, asked.store)})


async def _expected(asked: Asked) -> str | None:
    """Return the etag that the file must still have when it is written; None for any."""
    tags = matching_tags(asked.headers.get("If-Match"))
    if tags is None:
        return None
    current = (await get_fact(asked.ports, asked.store, asked.path["id"])).etag
    if current not in tags:
        raise StaleWrite(asked.path["id"])
    return current


def matching_tags(if_match: str | None) -> frozenset[str] | None:
    """Return the etags that satisfy an `If-Match` header, None where any does.

    RFC 9110, 13.1.1: `*`, or a list of quoted tags, of which the weak ones (`W/"…"`) match nothing.
    """
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.findall(r'(W/)?"([^"]*)"', if_match)
    if not re.fullmatch(r'(\s*(W/)?"[^"]*"\s*(,|$))+', if_match):
        raise ConfigInvalid("If-Match", "must be `*`, or an ETag in its quotes")
    return frozenset(tag for weak, tag in found if not weak)


def fact_answer(asked: Asked, fact: Fact, status: int = 200) -> Answer:
    """Return the answer that holds one fact and its ETag."""
    return Answer(told(asked, fact), status, {"ETag": f'"{fact.etag}"'})


def told(asked: Asked, fact: Fact) -> dict[str, Any]:
    """Return a fact in the shape of `FACT`."""
    path = f"{asked.ports.tree.root}/{fact.path}"
    told: dict[str, Any] = {
        "id": fact.id,
        "store_name": fact.store,
        "scope": store_named(fact.store).scope,
        "lane": fact.lane,
        "title": fact.title,
        "description": fact.description,
        "text": fact.text,
        "actor": fact.actor,
        "agent": fact.agent,
        "origin_session_id": fact.origin_session_id,
        "path": path,
        "folder_path": path.rpartition("/")[0],
        "created_at": fact.created_at or None,
        "updated_at": fact.updated_at or None,
        "commit": "committed" if fact.pending_reason is None else "pending",
    }
    if fact.pending_reason is not None:
        told["pending_reason"] = fact.pending_reason
    return told


ONE = "/memory_stores/{name}/facts/{id}"
ALL = "/memory_stores/{name}/facts"

ROUTES = (
    Route(
        "POST",
        ALL,
        "Remember a text; the first creates the store. 200 when the store holds the very same text already.",
        _add,
        {201: FACT, 200: FACT},
        (MemoryRejected, MemoryNotFound, *WRITING),
        headers={**ACTOR, **FOLDER},
        body=record(
            "NewFact",
            "What to remember.",
            {
                "text": TEXT,
                "title": TITLE,
                "description": DESCRIPTION,
                "supersedes": array("Ids of facts that this one replaces.", ID, maxItems=MAX_SUPERSEDES),
                "allow_secret": INSIST,
            },
            optional=("title", "description", "supersedes", "allow_secret"),
        ),
    ),
    Route(
        "GET",
        ALL,
        "List facts and topics, newest first.",
        _list,
        {
            200: record(
                "Facts",
                "A page.",
                {"facts": array("The page.", FACT), "total": integer("How many there are.")},
            )
        },
        query=PAGE,
    ),
    Route(
        "DELETE",
        ALL,
        "Delete every fact and topic of a store; the store stays, and the git history keeps the texts.",
        _clear,
        {200: record("Cleared", "What was done.", {"cleared": integer("How many went.")})},
        WRITING,
        headers=ACTOR,
    ),
    Route("GET", ONE, "Read a fact.", _get, {200: FACT}, (MemoryNotFound,)),
    Route(
        "PATCH",
        ONE,
        "Mend a fact; what is left out stays.",
        _edit,
        {200: FACT},
        (MemoryNotFound, MemoryRejected, StaleWrite, *WRITING),
        headers={**ACTOR, **IF_MATCH},
        body=record(
            "FactChange",
            "What to change.",
            fields := {"text": TEXT, "title": TITLE, "description": DESCRIPTION, "allow_secret": INSIST},
            optional=fields,
        ),
    ),
    Route(
        "DELETE",
        ONE,
        "Delete a fact; the git history keeps its text.",
        _delete,
        {204: None},
        (MemoryNotFound, StaleWrite, *WRITING),
        headers={**ACTOR, **IF_MATCH},
    ),
)
