"""Recall over REST."""

from __future__ import annotations

from coffer.application.recall import DEFAULT_TOP_K, MAX_TOP_K, recall, stores_for
from coffer.application.scope import project_stores
from coffer.domain.errors import MemoryNotFound
from coffer.domain.facts import MAX_QUERY_CHARS
from coffer.surfaces.rest.facts import ID, project_of_store
from coffer.surfaces.rest.past import REF
from coffer.surfaces.rest.route import FOLDER, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, integer, number, record, string

HIT = record(
    "Hit",
    "One passage.",
    {
        "id": ID,
        "text": string("The passage as it stands in the file."),
        "score": number("About 1: every word of the query was found; below 0.4: a guess."),
        "source": string("`project:` or `global:`, then the file."),
        "time": string("When the passage was written or last changed."),
    },
)


async def _recall(asked: Asked) -> Answer:
    # Half of a surrogate pair can't be found, but a query with one is answered like any other.
    query = asked.body["query"].encode("utf-8", "replace").decode()
    stores = stores_for(asked.store, asked.body["scope"])
    if asked.store in stores and (project := await project_of_store(asked)) is not None:
        stores += [one for one in await project_stores(asked.ports, project) if one not in stores]
    hits = await recall(asked.ports, stores, query, asked.body["top_k"], asked.body.get("at"))
    return Answer(
        {
            "hits": [
                {
                    "id": hit.id,
                    "text": hit.text,
                    "score": round(hit.score, 4),
                    "source": f"{hit.scope}:{asked.ports.tree.root}/{hit.path}",
                    "time": hit.time,
                }
                for hit in hits
            ]
        }
    )


ROUTES = (
    Route(
        "POST",
        "/memory_stores/{name}/recall",
        "Find the best passages for a query, one a document, best first.",
        _recall,
        {200: record("Hits", "What was found.", {"hits": array("Best first.", HIT)})},
        errors=(MemoryNotFound,),
        headers=FOLDER,
        body=record(
            "Query",
            "What to look for.",
            {
                "query": {
                    "type": "string",
                    "description": f"Any text; what is beyond {MAX_QUERY_CHARS} characters is cut off.",
                },
                "scope": string(
                    "The store of the address, the global one, or both.",
                    enum=["project", "global", "both"],
                    default="both",
                ),
                "top_k": integer(
                    f"At most this many; kept between 1 and {MAX_TOP_K}.", default=DEFAULT_TOP_K
                ),
                "at": {**REF, "description": f"The memory as it was then: {REF['description']}."},
            },
            optional=("scope", "top_k", "at"),
        ),
    ),
)
