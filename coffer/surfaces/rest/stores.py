"""Stores over REST: list them, show one, name it, set its limits, count what is in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coffer.application.scope import project_of, project_store
from coffer.application.stores import (
    MAX_LABEL_CHARS,
    configure_store,
    label_store,
    list_stores,
    show_store,
    store_metrics,
)
from coffer.domain.errors import DiskFull, FileUnreadable, ScopeUnresolved, StoreReadOnly
from coffer.domain.facts import Caller
from coffer.domain.stores import Store
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route, absolute
from coffer.surfaces.rest.schema import Schema, array, boolean, integer, maybe, record, string
from lanes.store_config import FACT_CHARS, RETRIEVAL_MODES

WRITING = (FileUnreadable, StoreReadOnly, DiskFull)

NAME = string("`global`, or `project-` and 26 characters.")
TIME = string("ISO 8601, UTC, whole seconds, `Z`.")
LIMITS: dict[str, Schema] = {
    "max_fact_chars": integer(
        "How many characters a fact may have.", minimum=FACT_CHARS[0], maximum=FACT_CHARS[-1]
    ),
    "retrieval_modes": array(
        "How recall searches.", string("A way to search.", enum=list(RETRIEVAL_MODES)), minItems=1
    ),
}
STORE = record(
    "Store",
    "One store; one that doesn't exist yet is shown empty.",
    {
        "name": NAME,
        "scope": string("Whose memory it is.", enum=["project", "global"]),
        "project_id": string("26 characters, the same on every machine."),
        "display_name": string(
            "The label, else the project's folder or remote by its last part, else the name."
        ),
        "label": maybe(string("The name that a person gave it.")),
        "project_root": maybe(string("Where the project is on this machine, when that is known.")),
        "remote": maybe(string("The project's remote, normalised.")),
        "store_dir": string("The store's folder."),
        "exists": boolean("Whether it has a folder yet; the first fact makes one."),
        "fact_count": integer("Facts and topics."),
        "merged_identities": array("Project ids whose memory was merged into it.", string("A project id.")),
        "config": record("StoreConfig", "Its settings.", LIMITS),
        "created_at": maybe(TIME),
        "updated_at": maybe(TIME),
    },
)
METRICS = record(
    "StoreMetrics",
    "How much a store holds.",
    {
        "fact_count": integer("Facts and topics together."),
        "topic_count": integer("Topic documents."),
        "inbox_count": integer("Facts in the inbox."),
        "rule_count": integer("Rules."),
        "journal_days": integer("Days with a journal."),
        "handoff_count": integer("Branches with a handoff."),
        "disk_bytes": integer("Bytes of all its files."),
        "last_write_at": maybe(TIME),
    },
)


async def _list(asked: Asked) -> Answer:
    folder = asked.query.get("cwd")
    if folder is None:
        stores = await list_stores(asked.ports)
    else:
        project = await project_of(asked.ports, Caller(folder=absolute("cwd", folder)))
        stores = [await show_store(asked.ports, await project_store(asked.ports, project))]
    return Answer({"memory_stores": [_told(store) for store in stores]})


async def _show(asked: Asked) -> Answer:
    return Answer(_told(await show_store(asked.ports, asked.store)))


async def _configure(asked: Asked) -> Answer:
    store = await configure_store(
        asked.ports,
        asked.caller,
        asked.store,
        asked.body.get("max_fact_chars"),
        asked.body.get("retrieval_modes"),
    )
    return Answer(_told(store))


async def _label(asked: Asked) -> Answer:
    return Answer(_told(await label_store(asked.ports, asked.caller, asked.store, asked.body["label"])))


async def _metrics(asked: Asked) -> Answer:
    return Answer(asdict(await store_metrics(asked.ports, asked.store)))


def _told(store: Store) -> dict[str, Any]:
    told = asdict(store)
    told["config"] = {name: told.pop(name) for name in LIMITS}
    return told


ROUTES = (
    Route(
        "GET",
        "/memory_stores",
        "List the stores; with `cwd` only that of the folder's project, also when it doesn't exist yet.",
        _list,
        {200: record("Stores", "The global store first.", {"memory_stores": array("The stores.", STORE)})},
        (ScopeUnresolved,),
        # A folder's name may be any bytes, so this is no text that has to be UTF-8.
        query={"cwd": {"type": "string", "description": "An absolute folder on this machine."}},
    ),
    Route("GET", "/memory_stores/{name}", "Show a store.", _show, {200: STORE}),
    Route(
        "PATCH",
        "/memory_stores/{name}",
        "Set a store's limits; what is left out stays.",
        _configure,
        {200: STORE},
        WRITING,
        headers=ACTOR,
        body=record("StoreChange", "What to change.", LIMITS, optional=LIMITS),
    ),
    Route(
        "PATCH",
        "/memory_stores/{name}/label",
        "Give a store a name for people; a blank one takes it away.",
        _label,
        {200: STORE},
        WRITING,
        headers=ACTOR,
        body=record("Label", "A name.", {"label": string("One line.", maxLength=MAX_LABEL_CHARS)}),
    ),
    Route("GET", "/memory_stores/{name}/metrics", "Count what a store holds.", _metrics, {200: METRICS}),
)
