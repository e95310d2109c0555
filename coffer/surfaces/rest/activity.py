"""What was done and asked, over REST. Never content."""

from __future__ import annotations

from dataclasses import asdict

from coffer.domain.errors import StoreNotFound
from coffer.domain.stores import store_named
from coffer.surfaces.rest.route import Answer, Asked, Route
from coffer.surfaces.rest.schema import array, integer, maybe, number, record, string
from coffer.surfaces.rest.stores import NAME, TIME

MAX_ENTRIES = 500

PAGE = {
    "limit": integer("At most this many.", minimum=1, maximum=MAX_ENTRIES, default=50),
    "before": string("Only what happened before this time."),
}
AGENT = maybe(string("Which agent, when that is known."))
EVENT = record(
    "AuditEvent",
    "One change.",
    {
        "time": TIME,
        "event": string("What happened, such as `memory_added`."),
        "actor": string("Who did it: `user`, `agent` or `system`."),
        "agent": AGENT,
        "store": maybe(NAME),
        "details": {"type": "object", "description": "Sizes and counts."},
    },
)
INVOCATION = record(
    "Invocation",
    "One tool call of an agent.",
    {
        "time": TIME,
        "tool": string("The tool."),
        "agent": AGENT,
        "session": maybe(string("The agent's session, when that is known.")),
        "duration_ms": number("How long it took."),
        "outcome": string("How it ended.", enum=["ok", "error"]),
        "error_code": maybe(string("The code of its error.")),
    },
)


async def _audit(asked: Asked) -> Answer:
    store = asked.query.get("store")
    events = await asked.ports.state.audit_events(
        asked.query["limit"],
        asked.query.get("before"),
        asked.query.get("event"),
        None if store is None else store_named(store).name,
    )
    return Answer(
        {
            "events": [
                {
                    "time": event.time,
                    "event": event.event,
                    "actor": event.caller.actor,
                    "agent": event.caller.agent,
                    "store": event.store,
                    "details": dict(event.details),
                }
                for event in events
            ]
        }
    )


async def _invocations(asked: Asked) -> Answer:
    invocations = await asked.ports.state.invocations(
        asked.query["limit"], asked.query.get("before"), asked.query.get("tool"), asked.query.get("agent")
    )
    return Answer({"invocations": [asdict(invocation) for invocation in invocations]})


ROUTES = (
    Route(
        "GET",
        "/audit",
        "List what was changed, newest first.",
        _audit,
        {200: record("Audit", "A page.", {"events": array("Newest first.", EVENT)})},
        (StoreNotFound,),
        query={**PAGE, "event": string("Only this event."), "store": string("Only this store.")},
    ),
    Route(
        "GET",
        "/invocations",
        "List the agents' tool calls, newest first.",
        _invocations,
        {200: record("Invocations", "A page.", {"invocations": array("Newest first.", INVOCATION)})},
        query={**PAGE, "tool": string("Only this tool."), "agent": string("Only this agent.")},
    ),
)
