"""An agent's entry for Coffer's tools and its hooks: told, put in, taken out."""

from __future__ import annotations

from dataclasses import replace

from coffer.application.agent_files import files_of, one_change, put_in, take_out
from coffer.application.agents import audit, find_agent
from coffer.application.threads import in_thread
from coffer.domain.agents import Agent, HookStatus, McpStatus
from coffer.domain.errors import UnsupportedAgentType
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports


async def mcp_status(ports: Ports, agent: Agent) -> McpStatus:
    """Tell whether an agent is told of Coffer's tools."""
    files = await files_of(ports, agent)
    return await in_thread(lambda: files.kind.mcp(agent.config_dir))


async def connect_mcp(ports: Ports, name: str) -> Agent:
    """Tell an agent of Coffer's tools."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        await put_in(ports, files, await in_thread(lambda: files.added("mcp")))
        return files.agent


async def disconnect_mcp(ports: Ports, name: str) -> Agent:
    """Take Coffer's tools from an agent."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        await take_out(ports, files, "mcp")
        return files.agent


async def hooks_status(ports: Ports, agent: Agent) -> list[HookStatus]:
    """Tell of each of an agent's hooks whether it is there, and when it last called."""
    files = await files_of(ports, agent)
    fired = await ports.agents.firings(agent.name)
    hooks = await in_thread(lambda: files.kind.hooks(agent.config_dir))
    return [
        replace(hook, last_fired=fired[hook.event].time, last_error=fired[hook.event].error)
        if hook.event in fired
        else hook
        for hook in hooks
    ]


async def advice(ports: Ports, agent: Agent) -> str | None:
    """Return what a person has to do for the hooks to be called; None once they are known to be."""
    hooks = await hooks_status(ports, agent)
    seen = any(hook.trusted or hook.last_fired for hook in hooks)
    return None if seen else ports.kinds.kind(agent.type).advice


async def install_hooks(ports: Ports, caller: Caller, name: str) -> Agent:
    """Install Coffer's hooks; raise UnsupportedAgentType where the agent has none."""
    async with one_change():
        files = await files_of(ports, await find_agent(ports, name))
        if not files.kind.events:
            raise UnsupportedAgentType(
                files.agent.type, f"{files.kind.title} has no hooks that Coffer could use."
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
