"""What Coffer puts into an agent's own files, piece by piece, and how each file gets back to what it was.

Three pieces: the entry for the tools (`mcp`), the `hooks`, and the switch of the agent's own memory. A file
that nobody else touched meanwhile is put back byte for byte when Coffer's last piece leaves it; in one that
somebody edited, Coffer's own entries are taken out and the rest stays.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal

import trio

from coffer.application.threads import in_thread
from coffer.domain.agents import Agent, AgentKind, Commands, FileChange
from coffer.domain.errors import SettingsUnparsable
from coffer.domain.originals import Original, original
from coffer.domain.ports import Ports

Piece = Literal["native_memory", "mcp", "hooks"]
PIECES: tuple[Piece, ...] = ("native_memory", "mcp", "hooks")

_ONE_CHANGE = trio.Lock()


@asynccontextmanager
async def one_change() -> AsyncIterator[None]:
    """Let no other change of agents begin before this one has ended, nor this one be cut short."""
    async with _ONE_CHANGE:
        with trio.CancelScope(shield=True):
            yield


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """One agent's files; `native_prior` is what restores its own memory while Coffer holds that off.

    The methods read the files and write none. They raise SettingsUnparsable for one that can't be edited.
    """

    kind: AgentKind
    agent: Agent
    commands: Commands
    native_prior: str | None

    def added(self, piece: Literal["mcp", "hooks"]) -> list[FileChange]:
        """Return what puts a piece in; nothing when it is there and right."""
        put = self.kind.connect if piece == "mcp" else self.kind.install_hooks
        return put(self.agent.config_dir, self.commands, self.agent.name)

    def removed(self, piece: Piece) -> list[FileChange]:
        """Return what takes a piece out; nothing when it isn't there."""
        if piece == "mcp":
            return self.kind.disconnect(self.agent.config_dir)
        if piece == "hooks":
            return self.kind.uninstall_hooks(self.agent.config_dir)
        if self.native_prior is None:
            return []
        return self.kind.native_memory_restored(self.agent.config_dir, self.native_prior)

    def held(self, but: Piece | None = None) -> set[str]:
        """Return the files that hold a piece, not counting `but`; what can't be read holds none."""
        paths: set[str] = set()
        for piece in PIECES:
            if piece != but:
                with suppress(SettingsUnparsable):
                    paths |= {change.path for change in self.removed(piece)}
        return paths


async def files_of(ports: Ports, agent: Agent) -> AgentFiles:
    """Return an agent's files."""
    prior = await ports.agents.native_prior(agent.name)
    return AgentFiles(ports.kinds.kind(agent.type), agent, ports.commands, prior)


async def put_in(ports: Ports, files: AgentFiles, changes: list[FileChange]) -> None:
    """Write changes that put something of Coffer's in, and keep the way back."""
    held = await in_thread(files.held)
    await in_thread(lambda: ports.settings.apply(changes))
    known = await ports.agents.originals()
    for change in changes:
        back = known.get(change.path)
        if back is not None and back.fits(change.before):
            back = original(back.found(change.before), change.after)
        else:
            # Once Coffer is in a file that somebody edited, what was there before it came isn't known any more.
            back = None if change.path in held else original(change.before, change.after)
        ports.agents.keep_original(change.path, back)


async def take_out(ports: Ports, files: AgentFiles, piece: Piece) -> list[FileChange]:
    """Take one piece out; return what was changed."""
    changes = await in_thread(lambda: files.removed(piece))
    others = await in_thread(lambda: files.held(but=piece))
    known = await ports.agents.originals()
    done: dict[FileChange, Original | None] = {}
    for change in changes:
        back = known.get(change.path)
        if back is None or not back.fits(change.before):
            done[change] = None
        elif change.path in others:
            done[change] = original(back.found(change.before), change.after)
        else:
            done[replace(change, after=back.found(change.before))] = None
    await in_thread(lambda: ports.settings.apply(list(done)))
    for change, back in done.items():
        ports.agents.keep_original(change.path, back)
    return list(done)


async def put_back(ports: Ports, files: AgentFiles) -> tuple[list[FileChange], list[FileChange]]:
    """Return what takes every piece out: files put back as they were, and entries taken out of the others."""
    known = await ports.agents.originals()
    whole: dict[str, FileChange] = {}
    others = []
    for change in await in_thread(lambda: [each for piece in PIECES for each in files.removed(piece)]):
        back = known.get(change.path)
        if back is None or not back.fits(change.before):
            others.append(change)
        else:
            earlier = whole.get(change.path)
            says = f"{earlier.says}; {change.says}" if earlier else change.says
            whole[change.path] = replace(change, after=back.found(change.before), says=says)
    return list(whole.values()), others


async def take_all_out(ports: Ports, files: AgentFiles) -> list[FileChange]:
    """Do what `put_back` returns; return it."""
    whole, others = await put_back(ports, files)
    await in_thread(lambda: ports.settings.apply(whole))
    for change in whole:
        ports.agents.keep_original(change.path, None)
    for piece in PIECES:  # one after the other, since two of them may be in one file
        await take_out(ports, files, piece)
    return [*whole, *others]
