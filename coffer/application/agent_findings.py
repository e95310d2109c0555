"""What doctor says of agents: for each, what keeps memory from reaching it, and what to do about that."""

from __future__ import annotations

from coffer.application.agent_entries import hooks_status, mcp_status
from coffer.application.agent_files import AgentFiles, files_of
from coffer.application.agents import native_memory, on_this_machine
from coffer.application.threads import in_thread
from coffer.domain.activity import Finding
from coffer.domain.agents import HookStatus
from coffer.domain.errors import SettingsUnparsable
from coffer.domain.ports import Ports

Wrong = list[tuple[str, str | None]]


async def agent_findings(ports: Ports) -> list[Finding]:
    """Return at least one finding for every agent that is registered or found on this machine."""
    findings = []
    for agent, registered in await on_this_machine(ports):
        files = await files_of(ports, agent)
        wrong = await _wrong(ports, files) if registered else _unknown(files)
        name = f"agent {agent.name}"
        findings += [Finding(name, "warning", message, action) for message, action in wrong]
        if not wrong:
            findings.append(Finding(name, "ok", await _well(ports, files)))
    return findings


def _unknown(files: AgentFiles) -> Wrong:
    here = f"{files.kind.title} is on this machine ({files.agent.config_dir}) and isn't connected."
    return [(here, f"Run `coffer setup --agent {files.agent.name}`.")]


async def _wrong(ports: Ports, files: AgentFiles) -> Wrong:
    agent = files.agent
    if await in_thread(lambda: ports.kinds.folder(agent.config_dir)) is None:
        return [(f"Its folder {agent.config_dir} is gone.", f"Run `coffer agent remove {agent.name}`.")]
    wrong: Wrong = []
    for look in (_tools, _hooks):
        try:
            wrong += await look(ports, files)
        except SettingsUnparsable as unparsable:
            wrong.append((unparsable.message, None))
    if agent.disable_native_memory and await native_memory(ports, agent) == "on":
        again = f"Run `coffer agent set {agent.name} disable_native_memory true`."
        wrong.append(("Its own memory was to be off, and its settings have it on.", again))
    return list(dict.fromkeys(wrong))


async def _tools(ports: Ports, files: AgentFiles) -> Wrong:
    status = await mcp_status(ports, files.agent)
    action = f"Run `coffer agent mcp {files.agent.name} --install`."
    if not status.installed:
        return [("It isn't told of Coffer's tools, so it can neither recall nor remember.", action)]
    if await in_thread(lambda: files.added("mcp")):
        return [(f"{status.path} names another Coffer than this one: {status.command}", action)]
    return []


async def _hooks(ports: Ports, files: AgentFiles) -> Wrong:
    kind, agent = files.kind, files.agent
    if not kind.events:
        return []
    hooks = await hooks_status(ports, agent)
    install = f"Run `coffer agent hooks {agent.name} --install`."
    wrong: Wrong = [
        (f"Its hook {hook.event} failed when it was last called, {hook.last_fired}: {hook.last_error}", None)
        for hook in hooks
        if hook.last_error
    ]
    if blocked := await in_thread(lambda: kind.blocked(agent.config_dir)):
        wrong.append(
            (f"It calls no hooks at all: {blocked}", "Change that setting, and start a new session.")
        )
    if missing := [hook.event for hook in hooks if not hook.installed]:
        wrong.append((f"No memory arrives by itself: hooks are missing for {', '.join(missing)}.", install))
    elif await in_thread(lambda: files.added("hooks")):
        wrong.append((f"Its hooks call another Coffer than this one: {hooks[0].command}", install))
    elif any(hook.trusted is False for hook in hooks):
        wrong.append(("It doesn't call Coffer's hooks before you approve them.", kind.advice))
    elif not _last_fired(hooks):
        start = kind.advice or f"Start a new session in {kind.title}."
        wrong.append(("Its hooks are installed and were never called.", start))
    return wrong


async def _well(ports: Ports, files: AgentFiles) -> str:
    if files.kind.events:
        called = f"memory last reached it by itself {_last_fired(await hooks_status(ports, files.agent))}"
    else:
        called = f"{files.kind.title} has no hooks, so memory reaches it when it calls Coffer's tools"
    own = await native_memory(ports, files.agent)
    return f"Connected; {called}{f'; its own memory is {own}' if own in ('on', 'off') else ''}."


def _last_fired(hooks: list[HookStatus]) -> str | None:
    return max((hook.last_fired for hook in hooks if hook.last_fired), default=None)
