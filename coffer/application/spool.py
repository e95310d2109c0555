"""Spool: what hooks left behind while no daemon was there to answer them."""

from __future__ import annotations

from collections.abc import Iterable

from coffer.application.hooks import answer_hook
from coffer.domain.hook_input import read_hook_input
from coffer.domain.ports import Ports


async def drain(ports: Ports, left: Iterable[tuple[str, bytes]]) -> None:
    """Take up the ends of sessions, each as the agent's name and what the agent gave its hook.

    Those of agents that nobody registered, or that were removed since, are dropped.
    """
    for name, given in left:
        agent = await ports.agents.find(name)
        if agent is not None:
            await answer_hook(ports, agent, "SessionEnd", read_hook_input(given))
