"""Join the ports to what this machine has: the only place that knows both."""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio

from coffer.domain.agents import Commands
from coffer.domain.ports import Ports
from coffer.domain.secrets import find_secrets
from coffer.infrastructure import failpoints
from coffer.infrastructure.agent_registry import SqliteAgents
from coffer.infrastructure.agents.commands import HOOK, SHIM
from coffer.infrastructure.agents.kinds import KnownAgents
from coffer.infrastructure.clock import SystemClock
from coffer.infrastructure.identity import GitIdentity
from coffer.infrastructure.index.past import PastIndex
from coffer.infrastructure.index.threaded import ThreadedIndex
from coffer.infrastructure.no_engine import NoEngine
from coffer.infrastructure.settings.files import DiskSettings
from coffer.infrastructure.state import SqliteState
from coffer.infrastructure.sync_state import SqliteSync
from coffer.infrastructure.tree_git import GitTree
from coffer.infrastructure.tree_history import TreeHistory
from coffer.infrastructure.tree_serving import TreeServing
from coffer.infrastructure.tree_sync import TreeSync
from gitsync.merge_lines import merge_lines


@asynccontextmanager
async def open_ports(home: str, environ: Mapping[str, str]) -> AsyncIterator[Ports]:
    """Open a Coffer home for use; on leaving, finish every write, then close.

    The caller holds the home's daemon lock. What a crash left behind is mended before the first answer.
    """
    reached = failpoints.from_setting(environ.get("COFFER_FAILPOINT"))
    clock = SystemClock()
    root = os.path.join(home, "memory")
    tree = GitTree(root, clock, reached)
    state = SqliteState(os.path.join(home, "state.sqlite"), clock.now)
    index = ThreadedIndex(os.path.join(home, "index.sqlite"), root, _secret_in, reached)
    sync = TreeSync(root, tree)
    await state.open()
    await tree.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(tree.run)
        nursery.start_soon(state.run)
        try:
            yield Ports(
                tree=tree,
                history=TreeHistory(root),
                past=PastIndex(root),
                index=index,
                state=state,
                identity=GitIdentity(environ.get("HOME")),
                clock=clock,
                agents=SqliteAgents(state),
                kinds=KnownAgents(environ, environ.get("HOME", home)),
                settings=DiskSettings(clock.now),
                commands=Commands(shim=_program(SHIM), hook=_program(HOOK)),
                remote=sync,
                sync_state=SqliteSync(state),
                serving=TreeServing(root, tree, sync, environ),
                engine=NoEngine(),
                machine=socket.gethostname() or "localhost",
                merge_lines=merge_lines,
            )
        finally:
            with trio.CancelScope(shield=True):
                await tree.settle()
                await index.close()
                await state.close()
            nursery.cancel_scope.cancel()


def _program(name: str) -> str:
    """Return where a program of Coffer's is: beside this Python, or where scripts are installed otherwise."""
    user = sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))
    folders = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"), user)
    paths = [os.path.join(folder, name) for folder in folders]
    return next((path for path in paths if os.path.exists(path)), paths[0])


def _secret_in(text: str) -> str | None:
    """Name the kind of secret in a hand-edited text, for doctor."""
    found = find_secrets(text)
    return f"seems to hold a secret ({found[0].kind})" if found else None
