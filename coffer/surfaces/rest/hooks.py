"""What agents are told without asking, over REST: at the start of a session, at a prompt, and when a hook calls."""

from __future__ import annotations

from dataclasses import replace

from coffer.application.agents import find_agent
from coffer.application.hooks import answer_hook, end_session, hook_event
from coffer.application.notes import prompt_notes
from coffer.application.session import session_context
from coffer.domain.hook_input import read_hook_input
from coffer.surfaces.rest.route import FOLDER, Answer, Asked, Route, absolute
from coffer.surfaces.rest.schema import Schema, record, string

CWD = string("The absolute path of the folder that the agent works in.")
CONTEXT = record(
    "AdditionalContext",
    "What to put before the agent.",
    {"additional_context": string("Lines between a fixed opening and closing one.")},
)
_ANY: Schema = {
    "type": "object",
    "description": "What the agent gave its hook, byte for byte; what can't be understood counts as not said.",
    "properties": {},
}
_PRINTED: Schema = {"type": "object", "description": "Exactly what the hook has to print."}


async def _session_context(asked: Asked) -> Answer:
    agent = await find_agent(asked.ports, asked.path["name"])
    folder = asked.query.get("cwd")
    budget = asked.ports.kinds.kind(agent.type).budget
    text = await session_context(asked.ports, folder and absolute("cwd", folder), budget)
    return Answer({"additional_context": text})


async def _prompt_context(asked: Asked) -> Answer:
    agent = await find_agent(asked.ports, asked.path["name"])
    folder = absolute("cwd", asked.body["cwd"])
    session, prompt = asked.body["session_id"], asked.body["prompt"]
    return Answer({"additional_context": await prompt_notes(asked.ports, agent, session, folder, prompt)})


async def _hook(asked: Asked) -> Answer:
    agent = await find_agent(asked.ports, asked.path["name"])
    told = read_hook_input(asked.raw)
    told = replace(told, folder=told.folder or asked.caller.folder)
    printed = await answer_hook(asked.ports, agent, hook_event(asked.path["event"]), told)
    return Answer(printed) if printed else Answer(None, 204)


async def _end(asked: Asked) -> Answer:
    await find_agent(asked.ports, asked.path["name"])
    return Answer({"outcome": await end_session(asked.ports, absolute("cwd", asked.body["cwd"]))}, 202)


ROUTES = (
    Route(
        "GET",
        "/agents/{name}/session-context",
        "Tell what an agent is told at the start of a session; never nothing.",
        _session_context,
        {200: CONTEXT},
        query={"cwd": CWD},
    ),
    Route(
        "POST",
        "/agents/{name}/prompt-context",
        "Tell which notes an agent is given with a prompt, none twice in a session; usually none at all.",
        _prompt_context,
        {200: CONTEXT},
        body=record(
            "Prompt",
            "What the user said.",
            {
                "session_id": string("The agent's id of the session.", minLength=1),
                "cwd": CWD,
                "prompt": string("The prompt."),
            },
        ),
    ),
    Route(
        "POST",
        "/agents/{name}/hooks/{event}",
        "Answer an agent's hook, and record that it called.",
        _hook,
        {200: _PRINTED, 204: None},
        headers=FOLDER,
        body=_ANY,
        raw=True,
    ),
    Route(
        "POST",
        "/agents/{name}/sessions/{session_id}/end",
        "Say that a session ended, so that it may be distilled.",
        _end,
        {
            202: record(
                "SessionEnd",
                "What becomes of it.",
                {"outcome": string("What is done.", enum=["no_model", "skipped"])},
            )
        },
        body=record(
            "EndedSession",
            "Where it was.",
            {"cwd": CWD, "transcript_path": string("The file that holds it.")},
            optional=("transcript_path",),
        ),
    ),
)
