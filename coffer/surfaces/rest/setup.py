"""Setup over REST: connect every agent on this machine in one go, and take it all back."""

from __future__ import annotations

from coffer.application.setup import AgentSetup, setup, undo_setup
from coffer.domain.short_diff import short_diff
from coffer.surfaces.rest.agents import AGENT_NAME, CONFIG_DIR, TYPE
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, boolean, maybe, record, string

SETUP = record(
    "Setup",
    "What was or would be done about each agent.",
    {
        "applied": boolean("Whether it was done."),
        "agents": array(
            "By name.",
            record(
                "AgentSetup",
                "One agent.",
                {
                    "name": AGENT_NAME,
                    "type": TYPE,
                    "title": string("What people call it."),
                    "config_dir": CONFIG_DIR,
                    "registered": boolean("Whether it was registered before."),
                    "changes": array(
                        "File by file.",
                        record(
                            "SettingsChange",
                            "A change of one file.",
                            {
                                "path": string("The file."),
                                "says": string("What the change does."),
                                "diff": string(
                                    "The lines that go, after `- `, and those that come, after `+ `."
                                ),
                            },
                        ),
                    ),
                    "advice": maybe(string("What a person has to do afterwards.")),
                    "problem": maybe(
                        string("Why nothing can be done; the other agents aren't kept from theirs.")
                    ),
                },
            ),
        ),
    },
)
CHOICE = record(
    "SetupChoice",
    "What to do.",
    {
        "apply": boolean("Do it; without it only tell.", default=False),
        "agents": array(
            "Only these; without it every agent that is found.", AGENT_NAME, maxItems=100, default=[]
        ),
    },
    optional=("apply", "agents"),
)


async def _setup(asked: Asked) -> Answer:
    return _setup_told(
        asked, await setup(asked.ports, asked.caller, asked.body["agents"], asked.body["apply"])
    )


async def _undo(asked: Asked) -> Answer:
    done = await undo_setup(asked.ports, asked.caller, asked.body["agents"], asked.body["apply"])
    return _setup_told(asked, done)


def _setup_told(asked: Asked, done: list[AgentSetup]) -> Answer:
    told = [
        {
            "name": each.agent.name,
            "type": each.agent.type,
            "title": each.title,
            "config_dir": each.agent.config_dir,
            "registered": each.registered,
            "changes": [
                {"path": change.path, "says": change.says, "diff": short_diff(change.before, change.after)}
                for change in each.changes
            ],
            "advice": each.advice,
            "problem": each.problem,
        }
        for each in done
    ]
    return Answer({"applied": asked.body["apply"], "agents": told})


ROUTES = (
    Route(
        "POST",
        "/setup",
        "Connect every agent on this machine: register it, tell it of the tools, install the hooks.",
        _setup,
        {200: SETUP},
        headers=ACTOR,
        body=CHOICE,
    ),
    Route(
        "POST",
        "/setup/undo",
        "Put every agent's files back as they were and forget the agents.",
        _undo,
        {200: SETUP},
        headers=ACTOR,
        body=CHOICE,
    ),
)
