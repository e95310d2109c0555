"""Agents over REST: find, register, change and remove them, their entry for the tools, their hooks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coffer.application.agent_entries import (
    advice,
    connect_mcp,
    disconnect_mcp,
    hooks_status,
    install_hooks,
    mcp_status,
    uninstall_hooks,
)
from coffer.application.agents import (
    NewAgent,
    candidates,
    change_agent,
    find_agent,
    native_memory,
    register_agent,
    remove_agent,
)
from coffer.domain.agents import Agent
from coffer.domain.errors import (
    AgentExists,
    SettingsChanged,
    SettingsUnparsable,
    UnsupportedAgentType,
)
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route, absolute
from coffer.surfaces.rest.schema import Schema, array, boolean, maybe, record, string
from coffer.surfaces.rest.stores import TIME

EDITING = (SettingsUnparsable, SettingsChanged)

AGENT_NAME = string("The agent's name: letters, digits, dots, dashes and underscores.")
TYPE = string("`claude_code`, `codex`, `opencode` or `cursor`.")
CONFIG_DIR = string("The folder of its settings.")
SWITCHES: dict[str, Schema] = {
    "disable_native_memory": boolean("Whether Coffer keeps its own memory off."),
    "prompt_notes": boolean("Whether it gets notes that fit a prompt."),
}
AGENT = record(
    "Agent",
    "A registered agent.",
    {
        "name": AGENT_NAME,
        "type": TYPE,
        "config_dir": CONFIG_DIR,
        **SWITCHES,
        "native_memory": string(
            "Its own memory by its settings; `none`: it has no switch, `unknown`: they can't be read.",
            enum=["on", "off", "none", "unknown"],
        ),
    },
)
CANDIDATE = record(
    "Candidate",
    "An agent on this machine.",
    {
        "type": TYPE,
        "config_dir": CONFIG_DIR,
        "because": string("By what it was found."),
        "registered": maybe(string("The name under which it is registered.")),
    },
)
MCP = record(
    "McpStatus",
    "Whether the agent is told of Coffer's tools.",
    {
        "installed": boolean("Whether the entry is there."),
        "path": string("The file for it."),
        "command": maybe(string("What the agent runs.")),
    },
)
HOOK = record(
    "Hook",
    "One event at which the agent calls Coffer.",
    {
        "event": string("The event, by the agent's name for it."),
        "installed": boolean("Whether the hook is there."),
        "command": maybe(string("What the agent runs.")),
        "trusted": {
            "type": ["boolean", "null"],
            "description": "Whether it is approved, where that is known.",
        },
        "last_fired": maybe(TIME),
        "last_error": maybe(string("What went wrong then.")),
    },
)
HOOKS = record(
    "Hooks",
    "The hooks of an agent.",
    {
        "hooks": array("By event; none for an agent without hooks.", HOOK),
        "advice": maybe(string("What a person has to do for them to be called.")),
    },
)


async def _list(asked: Asked) -> Answer:
    return Answer({"agents": [await _told(asked, agent) for agent in await asked.ports.agents.all()]})


async def _candidates(asked: Asked) -> Answer:
    found = await candidates(asked.ports)
    told = [{**asdict(candidate), "registered": agent.name if agent else None} for candidate, agent in found]
    return Answer({"candidates": told})


async def _register(asked: Asked) -> Answer:
    new = NewAgent(**asked.body)
    if new.config_dir is not None:
        absolute("config_dir", new.config_dir)
    return Answer(await _told(asked, await register_agent(asked.ports, asked.caller, new)), 201)


async def _show(asked: Asked) -> Answer:
    return Answer(await _told(asked, await _agent(asked)))


async def _change(asked: Asked) -> Answer:
    wanted = [asked.body.get(name) for name in SWITCHES]
    return Answer(
        await _told(asked, await change_agent(asked.ports, asked.caller, asked.path["name"], *wanted))
    )


async def _remove(asked: Asked) -> Answer:
    await remove_agent(asked.ports, asked.caller, asked.path["name"])
    return Answer(None, 204)


async def _mcp(asked: Asked) -> Answer:
    return await _mcp_told(asked, await _agent(asked))


async def _connect(asked: Asked) -> Answer:
    return await _mcp_told(asked, await connect_mcp(asked.ports, asked.path["name"]))


async def _disconnect(asked: Asked) -> Answer:
    return await _mcp_told(asked, await disconnect_mcp(asked.ports, asked.path["name"]))


async def _hooks(asked: Asked) -> Answer:
    return await _hooks_told(asked, await _agent(asked))


async def _install(asked: Asked) -> Answer:
    return await _hooks_told(asked, await install_hooks(asked.ports, asked.caller, asked.path["name"]))


async def _uninstall(asked: Asked) -> Answer:
    return await _hooks_told(asked, await uninstall_hooks(asked.ports, asked.caller, asked.path["name"]))


async def _agent(asked: Asked) -> Agent:
    return await find_agent(asked.ports, asked.path["name"])


async def _told(asked: Asked, agent: Agent) -> dict[str, Any]:
    return {**asdict(agent), "native_memory": await native_memory(asked.ports, agent)}


async def _mcp_told(asked: Asked, agent: Agent) -> Answer:
    return Answer(asdict(await mcp_status(asked.ports, agent)))


async def _hooks_told(asked: Asked, agent: Agent) -> Answer:
    hooks = await hooks_status(asked.ports, agent)
    return Answer({"hooks": [asdict(hook) for hook in hooks], "advice": await advice(asked.ports, agent)})


ROUTES = (
    Route(
        "GET",
        "/agents",
        "List the registered agents.",
        _list,
        {200: record("Agents", "By name.", {"agents": array("The agents.", AGENT)})},
    ),
    Route(
        "GET",
        "/agents/candidates",
        "List the agents that are on this machine, registered or not.",
        _candidates,
        {200: record("Candidates", "What was found.", {"candidates": array("The agents.", CANDIDATE)})},
    ),
    Route(
        "POST",
        "/agents",
        "Register an agent. Its files stay as they are, unless its own memory is to be off.",
        _register,
        {201: AGENT},
        (UnsupportedAgentType, AgentExists, *EDITING),
        headers=ACTOR,
        body=record(
            "NewAgent",
            "An agent.",
            {
                "type": TYPE,
                "config_dir": string("The folder of its settings; without it the one that is found."),
                "name": string("A name for it; its type without it."),
                **SWITCHES,
            },
            optional=("config_dir", "name", *SWITCHES),
        ),
    ),
    Route("GET", "/agents/{name}", "Show an agent.", _show, {200: AGENT}),
    Route(
        "PATCH",
        "/agents/{name}",
        "Change an agent's settings; what is left out stays. Its own memory is restored as it was.",
        _change,
        {200: AGENT},
        (UnsupportedAgentType, *EDITING),
        headers=ACTOR,
        body=record("AgentChange", "What to change.", SWITCHES, optional=SWITCHES),
    ),
    Route(
        "DELETE",
        "/agents/{name}",
        "Forget an agent, after everything of Coffer's was taken out of its files and its own memory restored.",
        _remove,
        {204: None},
        EDITING,
        headers=ACTOR,
    ),
    Route(
        "GET",
        "/agents/{name}/mcp",
        "Tell whether an agent knows Coffer's tools.",
        _mcp,
        {200: MCP},
        (SettingsUnparsable,),
    ),
    Route(
        "POST",
        "/agents/{name}/mcp",
        "Tell an agent of Coffer's tools, in its own settings.",
        _connect,
        {200: MCP},
        EDITING,
        headers=ACTOR,
    ),
    Route(
        "DELETE",
        "/agents/{name}/mcp",
        "Take Coffer's tools out of an agent's settings.",
        _disconnect,
        {200: MCP},
        EDITING,
        headers=ACTOR,
    ),
    Route(
        "GET",
        "/agents/{name}/hooks",
        "Tell which hooks are installed and when each last called.",
        _hooks,
        {200: HOOKS},
        (SettingsUnparsable,),
    ),
    Route(
        "POST",
        "/agents/{name}/hooks",
        "Install Coffer's hooks in an agent's settings.",
        _install,
        {200: HOOKS},
        (UnsupportedAgentType, *EDITING),
        headers=ACTOR,
    ),
    Route(
        "DELETE",
        "/agents/{name}/hooks",
        "Take Coffer's hooks out of an agent's settings.",
        _uninstall,
        {200: HOOKS},
        EDITING,
        headers=ACTOR,
    ),
)
