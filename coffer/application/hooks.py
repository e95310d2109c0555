"""Hooks: what an agent is told when it calls at one of its events, and the record that it called."""

from __future__ import annotations

from typing import Literal, cast, get_args

from coffer.application.notes import prompt_notes
from coffer.application.session import session_context
from coffer.domain.agents import Agent, HookEvent
from coffer.domain.errors import ConfigInvalid
from coffer.domain.hook_input import HookInput
from coffer.domain.ports import Ports

EndOutcome = Literal["no_model", "skipped"]


def hook_event(name: str) -> HookEvent:
    """Return the event of that name; raise ConfigInvalid."""
    known = get_args(HookEvent)
    if name not in known:
        raise ConfigInvalid("event", f"isn't one of {', '.join(known)}")
    return cast("HookEvent", name)


async def answer_hook(ports: Ports, agent: Agent, event: HookEvent, told: HookInput) -> bytes:
    """Return exactly what the hook has to print; the firing is recorded, with what went wrong if anything did."""
    kind = ports.kinds.kind(agent.type)
    problem: str | None = "Coffer gave no answer, or not in time; its log may say why."
    try:
        context = ""
        if event == "SessionStart":
            context = await session_context(ports, told.folder, kind.budget)
        elif event == "UserPromptSubmit":
            context = await prompt_notes(ports, agent, told.session, told.folder, told.prompt)
        else:
            await end_session(ports, told.folder)
        answer = kind.envelope(event, context)
        problem = None
        return answer
    finally:
        ports.agents.fired(agent.name, event, ports.clock.now(), problem)


async def end_session(ports: Ports, folder: str | None) -> EndOutcome:
    """Say what becomes of a session that ended: nothing outside a project, nor without a model to read it."""
    project = await ports.identity.project(folder) if folder else None
    return "skipped" if project is None else "no_model"
