"""Stores of one project over REST: find them, and make them one."""

from __future__ import annotations

from dataclasses import asdict

from coffer.application.combine import merge_stores
from coffer.application.merge_scan import MAX_JUDGED, merge_scan
from coffer.domain.errors import StoreMergeInvalid, StoreNotFound
from coffer.domain.stores import store_named
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, boolean, integer, maybe, record, string
from coffer.surfaces.rest.stores import NAME, WRITING

EVIDENCE = record(
    "MergeEvidence",
    "What is known of a store.",
    {
        "store": NAME,
        "display_name": string("What people call it."),
        "root": maybe(string("Where its project is, when that is on this machine.")),
        "remote": maybe(string("Its project's remote, normalised.")),
        "fact_count": integer("Facts and topics."),
        "titles": array("Those of the newest.", string("One line.")),
    },
)
SCAN = record(
    "MergeScan",
    "Stores that seem to be one project's.",
    {
        "engine": string("Whether a model was there to judge.", enum=["ok", "no_model"]),
        "truncated": boolean(f"Whether there were more than the {MAX_JUDGED} pairs that a model judges."),
        "proposals": array(
            "The certain ones first.",
            record(
                "MergeProposal",
                "Two stores.",
                {
                    "source": NAME,
                    "target": NAME,
                    "confidence": string("`certain`, or what the model says."),
                    "judged_by": string("What speaks for it.", enum=["remote", "engine"]),
                    "reason": string("Why, in a sentence."),
                    "source_evidence": EVIDENCE,
                    "target_evidence": EVIDENCE,
                },
            ),
        ),
    },
)
MERGED = record(
    "MergedStores",
    "What was done.",
    {
        "target": NAME,
        "merged_files": integer("How many files came over."),
        "label_moved": boolean("Whether the target took the source's label."),
        "root_moved": boolean("Whether the target took the source's place on this machine."),
        "aliases": array("Every project id that leads to the target now.", string("A project id.")),
        "reorg_status": string(
            "What became of tidying up the target.", enum=["no_model", "empty", "skipped"]
        ),
    },
)


async def _scan(asked: Asked) -> Answer:
    return Answer(asdict(await merge_scan(asked.ports)))


async def _merge(asked: Asked) -> Answer:
    source, target = (store_named(asked.body[name]) for name in ("source", "target"))
    return Answer(
        asdict(await merge_stores(asked.ports, asked.caller, source, target, asked.body["organize"]))
    )


ROUTES = (
    Route(
        "POST",
        "/memory_stores/merge_scan",
        "Find stores that seem to be one project's; changes nothing.",
        _scan,
        {200: SCAN},
    ),
    Route(
        "POST",
        "/memory_stores/merge",
        "Move everything of one project's store into another's; nothing is lost, and the old name leads to the new.",
        _merge,
        {200: MERGED},
        (StoreMergeInvalid, StoreNotFound, *WRITING),
        headers=ACTOR,
        body=record(
            "Merge",
            "Which stores.",
            {
                "source": string("The store that goes."),
                "target": string("The store that stays."),
                "organize": boolean("Tidy up the target afterwards, if a model is there.", default=True),
            },
            optional=("organize",),
        ),
    ),
)
