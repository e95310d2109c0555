"""Agents: find, register, show, change and remove them, with their entry for the tools and their hooks."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, cast

from coffer.application.agent_files import (
    AgentFiles,
    files_of,
    in_thread,
    one_change,
    put_in,
    take_all_out,
    take_out,
)
from coffer.domain.activity import AuditEvent
from coffer.domain.agents import Agent, AgentType, Candidate, FileChange, HookStatus, McpStatus
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
    registered = await ports.agents.all()
    folder = new.config_dir
    if folder is None:
        known = [candidate for candidate, _ in await candidates(ports) if candidate.type == kind.type]
        if not known:
            raise ConfigInvalid(
                "config_dir",
                f"{kind.title} isn't on this machine; start it once, or say where its settings are",
            )
        folder = known[0].config_dir
    elif await in_thread(lambda: ports.kinds.folder(new.config_dir or "")) is None:
        raise ConfigInvalid("config_dir", "there is no such folder; start the agent once, it makes its own")
    name = new.name or kind.type
    if not NAME.fullmatch(name):
        raise ConfigInvalid(
            "name", "must be 1 to 64 letters, digits, dots, dashes and underscores, and not `candidates`"
        )
    other = next((each for each in registered if each.name == name), None) or await _registered_in(
        ports, registered, folder
    )
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


async def mcp_status(ports: Ports, name: str) -> McpStatus:
    """Tell whether an agent is told of Coffer's tools."""
    files = await files_of(ports, await find_agent(ports, name))
    return await in_thread(lambda: files.kind.mcp(files.agent.config_dir))


async def connect_mcp(ports: Ports, name: str) -> McpStatus:
    """Tell an agent of Coffer's tools."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        await put_in(ports, files, await in_thread(lambda: files.added("mcp")))
    return await mcp_status(ports, name)


async def disconnect_mcp(ports: Ports, name: str) -> McpStatus:
    """Take Coffer's tools from an agent."""
    async with one_change():
        await take_out(ports, await files_of(ports, await find_agent(ports, name)), "mcp")
    return await mcp_status(ports, name)


async def hooks_status(ports: Ports, agent: Agent) -> list[HookStatus]:
    """Tell of each of an agent's hooks whether it is there, and when it last called."""
    files = await files_of(ports, agent)
    fired = await ports.agents.firings(agent.name)
    return [
        replace(status, last_fired=firing.time, last_error=firing.error) if firing else status
        for status in await in_thread(lambda: files.kind.hooks(agent.config_dir))
        for firing in [fired.get(status.event)]
    ]


async def install_hooks(ports: Ports, caller: Caller, name: str) -> Agent:
    """Install Coffer's hooks; raise UnsupportedAgentType where the agent has none."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        if not files.kind.events:
            raise UnsupportedAgentType(
                files.agent.type, f"{files.kind.title} has no hooks; it gets Coffer's tools alone."
            )
        changes = await in_thread(lambda: files.added("hooks"))
        await put_in(ports, files, changes)
        if changes:
            audit(ports, caller, "agent_hook_installed", files.agent)
        return files.agent


async def uninstall_hooks(ports: Ports, caller: Caller, name: str) -> Agent:
    """Take Coffer's hooks out of an agent's files."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        if await take_out(ports, files, "hooks"):
            audit(ports, caller, "agent_hook_uninstalled", files.agent)
        return files.agent


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


async def _registered_in(ports: Ports, registered: list[Agent], folder: str) -> Agent | None:
    """Return the agent whose settings are in a folder, by whatever way the folder is reached."""
    real = await in_thread(lambda: ports.kinds.folder(folder))
    for agent in registered:
        if folder == agent.config_dir or (
            real is not None and real == await in_thread(lambda: ports.kinds.folder(agent.config_dir))  # noqa: B023
        ):
            return agent
    return None
