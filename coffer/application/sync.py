"""Sync: this machine's memory and the remote's made the same, by itself and when somebody says so."""

from __future__ import annotations

from dataclasses import replace

import trio

from coffer.application.combine import consolidate
from coffer.application.conflicts import list_conflicts
from coffer.domain.activity import AuditEvent, Finding
from coffer.domain.changes import etag_of
from coffer.domain.errors import CofferError, ConfigInvalid, SyncFailed, SyncPaused
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.sync import (
    DEFAULT_INTERVAL,
    INTERVALS,
    REASONS,
    Exchange,
    Kept,
    RemoteSettings,
    State,
    SyncRun,
    SyncStatus,
)

DEBOUNCE_SECONDS = 3.0
FAILING_SECONDS = 60.0
BY_ITSELF = Caller("system")


class Synchroniser:
    """One at a time, whoever asks; `run` has to be running for sync to happen by itself."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._turn = trio.Lock()
        self._running = False
        self._changed = trio.Event()

    async def run(self) -> None:
        """Sync soon after something was written and at the set interval, while a remote is set."""
        while True:
            settings = await self._ports.sync_state.settings()
            changed = self._changed
            if settings is None or not settings.automatic:
                await changed.wait()
                continue
            await self._wait_for_a_reason(settings, changed)
            if changed is self._changed:
                await self.sync(BY_ITSELF)

    async def sync(self, caller: Caller) -> SyncRun:
        """Sync now and return how it went; raises ConfigInvalid while no remote is set."""
        async with self._turn:
            settings = await self._ports.sync_state.settings()
            if settings is None:
                raise ConfigInvalid("remote", "no remote is set; `coffer sync init URL` sets one")
            return await self._exchange(caller, settings.url)

    async def join(
        self, caller: Caller, url: str, automatic: bool = True, interval: int = DEFAULT_INTERVAL
    ) -> SyncStatus:
        """Set the remote; one that is new is joined at once, and not set when that fails with SyncFailed.

        It is the yes for two histories that never met. Everything of both sides is kept.
        """
        if interval not in INTERVALS:
            raise ConfigInvalid(
                "interval_seconds", f"{interval} isn't between {INTERVALS[0]} and {INTERVALS[-1]}"
            )
        url = await self._ports.remote.check(url)
        settings = RemoteSettings(url, automatic, interval)
        state = self._ports.sync_state
        async with self._turn:
            before = await state.settings()
            if before is None or before.url != url:
                await state.save_settings(None)
                run = await self._exchange(caller, url)
                if run.result == "failed":
                    await state.save_settings(before)
                    raise SyncFailed(run.reason or "The remote can't be joined.")
            await state.save_settings(settings)
        self._wake()
        return await self.status()

    async def off(self) -> SyncStatus:
        """Forget the remote; the memory and its history stay as they are, here and there."""
        async with self._turn:
            await self._ports.sync_state.save_settings(None)
        self._wake()
        return await self.status()

    async def accept(self, caller: Caller, reason: str) -> SyncRun:
        """Say yes to what sync has paused for, and go on; raises SyncPaused when it is for something else."""
        if reason not in REASONS:
            raise ConfigInvalid("reason", f"{reason!r} isn't one of {', '.join(REASONS)}")
        last, _ = await self._ports.sync_state.runs()
        if last is None or last.question is None:
            raise ConfigInvalid("reason", "sync isn't waiting for a yes")
        if last.question != reason:
            raise SyncPaused(last.question, last.reason or "", last.asked)
        await self._ports.sync_state.accept(reason, last.asked)
        return await self.sync(caller)

    async def status(self) -> SyncStatus:
        """Return how sync is, from what is known here; the remote isn't asked."""
        settings = await self._ports.sync_state.settings()
        last, success = await self._ports.sync_state.runs()
        ahead, behind = await self._ports.remote.distance(settings.url) if settings else (0, 0)
        state: State = "idle"
        if settings is None:
            state, last, success = "off", None, None
        elif self._running:
            state = "running"
        elif last and last.result in ("paused", "failed"):
            state = "paused" if last.result == "paused" else "failing"
        return SyncStatus(
            remote=settings.url if settings else None,
            machine=self._ports.machine,
            state=state,
            reason=last.reason if last else None,
            question=last.question if last else None,
            last_run_at=last.at if last else None,
            last_success_at=success,
            ahead=ahead,
            behind=behind,
            renamed=last.renamed if last else (),
        )

    async def _exchange(self, caller: Caller, url: str) -> SyncRun:
        self._running = True
        before = await self._ports.remote.tip()
        done = Exchange()
        try:
            done = await self._both_ways(url)
            run = SyncRun(
                "synced" if done.pulled or done.pushed else "nothing",
                self._ports.clock.now(),
                done.pulled,
                done.pushed,
                renamed=done.renamed,
            )
        except SyncPaused as pause:
            run = SyncRun(
                "paused",
                self._ports.clock.now(),
                reason=pause.message,
                question=pause.reason,
                asked=pause.subjects,
            )
        except CofferError as failure:
            run = SyncRun("failed", self._ports.clock.now(), reason=failure.message)
        finally:
            self._running = False
        await self._note_kept(before)
        await self._ports.sync_state.note_run(run)
        if caller is not BY_ITSELF or done.pulled or done.pushed:
            counts = {"pulled": run.pulled, "pushed": run.pushed}
            self._ports.state.audit(AuditEvent("sync_run", caller, None, counts))
        return run

    async def _both_ways(self, url: str) -> Exchange:
        accepted = await self._ports.sync_state.accepted()
        done = await self._ports.remote.exchange(url, accepted)
        if done.pulled and await consolidate(self._ports):
            more = await self._ports.remote.exchange(url, accepted)
            done = replace(done, pulled=done.pulled + more.pulled, pushed=done.pushed + more.pushed)
        return done

    async def _note_kept(self, before: str | None) -> None:
        """Remember what merges kept against a removal, also those of other machines: a person is to decide."""
        for path, since in await self._ports.remote.kept_since(before):
            content = await self._ports.tree.read(path)
            if content is not None:
                await self._ports.sync_state.keep(Kept(path, etag_of(content), since))

    async def _wait_for_a_reason(self, settings: RemoteSettings, changed: trio.Event) -> None:
        last, _ = await self._ports.sync_state.runs()
        failing = last is not None and last.result in ("paused", "failed")
        with trio.move_on_after(settings.interval_seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write_settled, FAILING_SECONDS if failing else 0.0, nursery)
                await changed.wait()
                nursery.cancel_scope.cancel()

    async def _write_settled(self, least: float, nursery: trio.Nursery) -> None:
        """End the wait once something was written and nothing more for a few seconds."""
        await trio.sleep(least)
        await self._ports.tree.written()
        for _ in range(10):
            with trio.move_on_after(DEBOUNCE_SECONDS) as quiet:
                await self._ports.tree.written()
            if quiet.cancelled_caught:
                break
        nursery.cancel_scope.cancel()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()


async def sync_findings(ports: Ports) -> list[Finding]:
    """Say for doctor how sync is, and what two machines have left for a person to decide."""
    found = []
    settings = await ports.sync_state.settings()
    last, success = await ports.sync_state.runs()
    if settings is not None and last is not None:
        age = f"Last tried at {last.at}, last succeeded {f'at {success}' if success else 'never'}."
        if last.reason is None:
            found.append(Finding("sync", "ok", f"The memory is synced with {settings.url}. {age}"))
        else:
            found.append(Finding("sync", "warning", f"{last.reason} {age}", "`coffer sync run` tries again."))
    for conflict in await list_conflicts(ports):
        what = "was edited on one machine and removed on another; it was kept"
        if conflict.other_path:
            what = f"was changed on two machines; the other version is {conflict.other_path}"
        action = "Settle it with `coffer sync resolve PATH --keep this`, `other` or `both`, or in an editor."
        found.append(Finding("conflict", "warning", f"{conflict.path} {what}.", action))
    return found
