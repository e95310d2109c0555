"""History over REST: what happened to the tree, a store or a fact, and taking back or bringing back."""

from __future__ import annotations

from dataclasses import asdict

from coffer.application.history import (
    MAX_COMMITS,
    fact_history,
    restore_fact,
    store_history,
    whole_history,
)
from coffer.application.undo import undo
from coffer.domain.errors import MemoryNotFound, UndoConflict
from coffer.domain.facts import CommitInfo
from coffer.surfaces.rest.facts import FACT, ONE, fact_answer
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, integer, maybe, record, string
from coffer.surfaces.rest.stores import TIME, WRITING

COMMIT = string("the id of a commit, 4 to 40 hex digits", pattern=r"^[0-9a-fA-F]{4,40}(?![\s\S])")
LIMIT = {"limit": integer("At most this many.", minimum=1, maximum=MAX_COMMITS, default=50)}
CHANGE = {
    "commit": string("The commit's id."),
    "time": TIME,
    "op": maybe(string("What Coffer did; null for a person's own commit.")),
    "actor": maybe(string("Who did it.")),
    "agent": maybe(string("Which agent, when that is known.")),
    "session": maybe(string("In which of its sessions, when that is known.")),
    "subject": string("The commit's first line."),
}
COMMITS = array(
    "Newest first.",
    record("Commit", "One change.", {**CHANGE, "paths": array("The files it touched.", string("A file."))}),
)
VERSIONS = array(
    "Newest first.",
    record(
        "Version",
        "One state of a fact.",
        {
            **CHANGE,
            "path": string("Its file then."),
            "text": maybe(string("Its text; null where the commit deleted it.")),
        },
    ),
)


PAGE = {
    **LIMIT,
    "before": {**COMMIT, "description": "the id of a commit, 4 to 40 hex digits; only older ones are told"},
}
UNDONE = record(
    "Undone",
    "A commit that takes another one back.",
    {
        "commit": maybe(string("Its id; null while the commit waits.")),
        "undone": string("The id of the one that was taken back."),
        "subject": string("Its first line."),
        "paths": array("The files it changed.", string("A file.")),
        "pending_reason": maybe(
            string("Why git doesn't have it yet; the files are as they were either way.")
        ),
    },
)


async def _all(asked: Asked) -> Answer:
    return _commits(asked, await whole_history(asked.ports, **asked.query))


async def _store(asked: Asked) -> Answer:
    return _commits(asked, await store_history(asked.ports, asked.store, **asked.query))


def _commits(asked: Asked, commits: list[CommitInfo]) -> Answer:
    root = asked.ports.tree.root
    told = [{**asdict(commit), "paths": [f"{root}/{path}" for path in commit.paths]} for commit in commits]
    return Answer({"commits": told})


async def _fact(asked: Asked) -> Answer:
    versions = await fact_history(asked.ports, asked.store, asked.path["id"], **asked.query)
    root = asked.ports.tree.root
    return Answer(
        {"versions": [{**asdict(version), "path": f"{root}/{version.path}"} for version in versions]}
    )


async def _restore(asked: Asked) -> Answer:
    fact = await restore_fact(
        asked.ports, asked.caller, asked.store, asked.path["id"], asked.body["commit"].lower()
    )
    return fact_answer(asked, fact)


async def _undo(asked: Asked) -> Answer:
    undone = await undo(asked.ports, asked.caller, asked.body["commit"].lower())
    root = asked.ports.tree.root
    return Answer({**asdict(undone), "paths": [f"{root}/{path}" for path in undone.paths]})


ROUTES = (
    Route(
        "GET",
        "/history",
        "List the commits of the whole memory tree, newest first.",
        _all,
        {200: record("Commits", "A page.", {"commits": COMMITS})},
        (MemoryNotFound,),
        query=PAGE,
    ),
    Route(
        "POST",
        "/memory_stores/undo",
        "Take back what one commit did, by a new commit; what was written since stays.",
        _undo,
        {200: UNDONE},
        (MemoryNotFound, UndoConflict, *WRITING),
        headers=ACTOR,
        body=record("Undo", "Which commit.", {"commit": COMMIT}),
    ),
    Route(
        "GET",
        "/memory_stores/{name}/history",
        "List the commits that touched a store, or one path in it, newest first.",
        _store,
        {200: record("Commits", "A page.", {"commits": COMMITS})},
        (MemoryNotFound,),
        query={
            "path": string("A file or folder inside the store."),
            **PAGE,
        },
    ),
    Route(
        "GET",
        f"{ONE}/history",
        "List a fact's versions, newest first, also of one that was deleted.",
        _fact,
        {200: record("Versions", "The versions.", {"versions": VERSIONS})},
        (MemoryNotFound,),
        query=LIMIT,
    ),
    Route(
        "POST",
        f"{ONE}/restore",
        "Put a fact back as it was at a commit; the present version stays in history.",
        _restore,
        {200: FACT},
        (MemoryNotFound, *WRITING),
        headers=ACTOR,
        body=record("Restore", "Which version.", {"commit": COMMIT}),
    ),
)
