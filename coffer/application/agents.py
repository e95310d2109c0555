"""Agents: find, register, show, change and remove them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain, count
from operator import itemgetter
from typing import Literal, cast

from coffer.application.agent_files import AgentFiles, files_of, one_change, put_in, take_all_out, take_out
from coffer.application.threads import in_thread
from coffer.domain.activity import AuditEvent
from coffer.domain.agents import Agent, AgentKind, AgentType, Candidate, FileChange
from coffer.domain.errors import (
    AgentExists,
    AgentNotFound,
    ConfigInvalid,
    SettingsUnparsable,
    UnsupportedAgentType,
)
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports

NativeMemory = Literal["on", "off", "none", "unknown"]

# It stands in command lines as it is, and among the addresses of agents.
NAME = re.compile(r"(?!candidates\Z)[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent to be registered; without a folder the one that is found, without a name its type."""

    type: str
    config_dir: str | None = None
    name: str | None = None
    disable_native_memory: bool = False
    prompt_notes: bool = True


async def find_agent(ports: Ports, name: str) -> Agent:
    """Return a registered agent; raise AgentNotFound."""
    agent = await ports.agents.find(name)
    if agent is None:
        raise AgentNotFound(name)
    return agent


async def candidates(ports: Ports) -> list[tuple[Candidate, Agent | None]]:
    """Return the agents found on this machine, each with its registration if there is one."""
    found = await in_thread(ports.kinds.candidates)
    registered = await ports.agents.all()
    return [(each, await _registered_in(ports, registered, each.config_dir)) for each in found]


async def on_this_machine(ports: Ports) -> list[tuple[Agent, bool]]:
    """Return the registered agents, and those that are found beside them as they would be registered."""
    agents = {agent.name: (agent, True) for agent in await ports.agents.all()}
    for candidate, registered in await candidates(ports):
        if registered is None:
            numbered = (f"{candidate.type}-{number}" for number in count(2))
            name = next(name for name in chain([candidate.type], numbered) if name not in agents)
            agents[name] = Agent(name, candidate.type, candidate.config_dir), False
    return sorted(agents.values(), key=lambda each: each[0].name)


async def native_memory(ports: Ports, agent: Agent) -> NativeMemory:
    """Tell how an agent's own memory is by its settings; `none` where it has none that can be switched."""
    files = await files_of(ports, agent)
    try:
        changes, _ = await in_thread(lambda: files.kind.native_memory_off(agent.config_dir))
    except UnsupportedAgentType:
        return "none"
    except SettingsUnparsable:
        return "unknown"
    return "on" if changes else "off"


async def register_agent(ports: Ports, caller: Caller, new: NewAgent) -> Agent:
    """Register an agent, whose files stay as they are unless its own memory is to be switched off.

    Raises UnsupportedAgentType, ConfigInvalid for a bad name or a folder that isn't there, and AgentExists
    when the name or the folder is another agent's.
    """
    async with one_change():
        agent = await enrol(ports, caller, new)
        if new.disable_native_memory:
            agent = await _without_native_memory(ports, caller, agent)
        return agent


async def enrol(ports: Ports, caller: Caller, new: NewAgent) -> Agent:
    """Do what `register_agent` does but for the files; only inside `one_change`."""
    kind = ports.kinds.kind(cast("AgentType", new.type))
    folder = new.config_dir if new.config_dir is not None else await _found(ports, kind)
    if await in_thread(lambda: ports.kinds.folder(folder)) is None:
        raise ConfigInvalid("config_dir", "there is no such folder; start the agent once, it makes its own")
    name = new.name if new.name is not None else kind.type
    if not NAME.fullmatch(name):
        raise ConfigInvalid(
            "name", "must be 1 to 64 letters, digits, dots, dashes and underscores, and not `candidates`"
        )
    other = await ports.agents.find(name) or await _registered_in(ports, await ports.agents.all(), folder)
    if other is not None:
        raise AgentExists(other.name, other.config_dir)
    agent = Agent(name, kind.type, folder, prompt_notes=new.prompt_notes)
    await ports.agents.save(agent, None)
    audit(ports, caller, "agent_registered", agent)
    return agent


async def change_agent(
    ports: Ports, caller: Caller, name: str, disable_native_memory: bool | None, prompt_notes: bool | None
) -> Agent:
    """Change an agent's settings; None leaves one as it is.

    Switching its own memory off keeps what its settings say now, and switching it on again restores exactly
    that. Raises AgentNotFound, UnsupportedAgentType where there is nothing to switch, and SettingsUnparsable.
    """
    async with one_change():
        agent = await find_agent(ports, name)
        if disable_native_memory:
            agent = await _without_native_memory(ports, caller, agent)
        elif disable_native_memory is False and agent.disable_native_memory:
            await take_out(ports, await files_of(ports, agent), "native_memory")
            agent = replace(agent, disable_native_memory=False)
            await ports.agents.save(agent, None)
            audit(ports, caller, "agent_native_memory_restored", agent)
        if prompt_notes is not None and prompt_notes != agent.prompt_notes:
            agent = replace(agent, prompt_notes=prompt_notes)
            await ports.agents.save(agent, await ports.agents.native_prior(name))
        return agent


async def remove_agent(ports: Ports, caller: Caller, name: str) -> None:
    """Take everything of Coffer's out of an agent's files, its own memory restored, and forget the agent."""
    async with one_change():
        agent = await find_agent(ports, name)
        await withdraw(ports, caller, await files_of(ports, agent))
        await ports.agents.remove(name)
        audit(ports, caller, "agent_removed", agent)


async def withdraw(ports: Ports, caller: Caller, files: AgentFiles) -> list[FileChange]:
    """Take everything of Coffer's out of an agent's files; only inside `one_change`."""
    hooks = await in_thread(lambda: files.removed("hooks"))
    done = await take_all_out(ports, files)
    if hooks:
        audit(ports, caller, "agent_hook_uninstalled", files.agent)
    if files.native_prior is not None:
        audit(ports, caller, "agent_native_memory_restored", files.agent)
    return done


def audit(ports: Ports, caller: Caller, event: str, agent: Agent) -> None:
    """Record what was done about an agent."""
    ports.state.audit(AuditEvent(event, caller, None, {"name": agent.name, "type": agent.type}))


async def _without_native_memory(ports: Ports, caller: Caller, agent: Agent) -> Agent:
    files = await files_of(ports, agent)
    changes, prior = await in_thread(lambda: files.kind.native_memory_off(agent.config_dir))
    if agent.disable_native_memory:
        if not changes:
            return agent
        # It was switched on behind Coffer's back: what counts now is what was there before and since.
        await take_out(ports, files, "native_memory")
        changes, prior = await in_thread(lambda: files.kind.native_memory_off(agent.config_dir))
    off = replace(agent, disable_native_memory=True)
    await ports.agents.save(off, prior)  # first, so that the way back is never unknown
    try:
        await put_in(ports, files, changes)
    except BaseException:
        await ports.agents.save(replace(agent, disable_native_memory=False), None)
        raise
    audit(ports, caller, "agent_native_memory_disabled", off)
    return off


async def _found(ports: Ports, kind: AgentKind) -> str:
    """Return the folder of an agent that is on this machine, one that isn't registered if there is one."""
    here = [(registered is not None, each) for each, registered in await candidates(ports)]
    folders = [each.config_dir for known, each in sorted(here, key=itemgetter(0)) if each.type == kind.type]
    if not folders:
        raise ConfigInvalid(
            "config_dir", f"{kind.title} isn't on this machine; start it once, or say where its settings are"
        )
    return folders[0]


async def _registered_in(ports: Ports, registered: list[Agent], folder: str) -> Agent | None:
    """Return the agent whose settings are in a folder, by whatever way the folder is reached."""

    def real(path: str) -> str:
        return ports.kinds.folder(path) or path

    def found() -> Agent | None:
        return next((each for each in registered if real(each.config_dir) == real(folder)), None)

    return await in_thread(found)
