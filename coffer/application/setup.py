"""Setup: connect every agent on this machine to the memory in one go, and take it all back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coffer.application.agent_entries import advice
from coffer.application.agent_files import AgentFiles, files_of, one_change, put_back, put_in
from coffer.application.agents import NewAgent, audit, enrol, on_this_machine, withdraw
from coffer.application.threads import in_thread
from coffer.domain.agents import Agent, FileChange
from coffer.domain.errors import CofferError, ConfigInvalid
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """What is done about one agent: `registered` tells how it was before, `problem` why nothing can be done.

    `advice` is what a person still has to do for the hooks to be called.
    """

    agent: Agent
    title: str
    registered: bool
    changes: tuple[FileChange, ...] = ()
    advice: str | None = None
    problem: str | None = None


async def setup(ports: Ports, caller: Caller, names: Sequence[str], apply: bool) -> list[AgentSetup]:
    """Register the agents that are here, tell them of the tools and install their hooks.

    With `apply` off only tell what would be changed. What is done already isn't done again. An agent whose
    files can't be edited is told as its `problem`, and the others aren't kept from theirs.
    """
    done = []
    for agent, registered in await _chosen(ports, names):
        files = await files_of(ports, agent)
        told = AgentSetup(agent, files.kind.title, registered)
        try:
            changes = await in_thread(lambda: _missing(files))  # noqa: B023
            if apply:
                async with one_change():
                    await _connect(ports, caller, files, registered)
            told = replace(told, changes=tuple(changes), advice=await advice(ports, agent))
        except CofferError as refusal:
            told = replace(told, problem=refusal.message)
        done.append(told)
    return done


async def undo_setup(ports: Ports, caller: Caller, names: Sequence[str], apply: bool) -> list[AgentSetup]:
    """Put every agent's files back as they were, its own memory restored, and forget the agents.

    With `apply` off only tell what would be changed. In a file that somebody edited since, only Coffer's own
    entries go.
    """
    done = []
    for agent, registered in await _chosen(ports, names):
        files = await files_of(ports, agent)
        told = AgentSetup(agent, files.kind.title, registered)
        try:
            if apply:
                async with one_change():
                    changes = await withdraw(ports, caller, files)
                    if registered:
                        await ports.agents.remove(agent.name)
                        audit(ports, caller, "agent_removed", agent)
            else:
                whole, others = await put_back(ports, files)
                changes = [*whole, *others]
            told = replace(told, changes=tuple(changes))
        except CofferError as refusal:
            told = replace(told, problem=refusal.message)
        done.append(told)
    return done


async def _chosen(ports: Ports, names: Sequence[str]) -> list[tuple[Agent, bool]]:
    here = await on_this_machine(ports)
    known = [agent.name for agent, _ in here]
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise ConfigInvalid("agents", f"no agent {name!r} was found on this machine; there is {there}")
    return [each for each in here if not names or each[0].name in names]


def _missing(files: AgentFiles) -> list[FileChange]:
    return [*files.added("mcp"), *(files.added("hooks") if files.kind.events else ())]


async def _connect(ports: Ports, caller: Caller, files: AgentFiles, registered: bool) -> None:
    agent = files.agent
    if not registered:
        await enrol(ports, caller, NewAgent(agent.type, agent.config_dir, agent.name))
    await put_in(ports, files, await in_thread(lambda: files.added("mcp")))
    hooks = await in_thread(lambda: files.added("hooks")) if files.kind.events else []
    await put_in(ports, files, hooks)
    if hooks:
        audit(ports, caller, "agent_hook_installed", agent)
