"""Sync over REST: the remote, running now, a person's yes, and conflicts."""

from __future__ import annotations

from dataclasses import asdict

from coffer.application.conflicts import list_conflicts, resolve_conflict
from coffer.domain.errors import MemoryNotFound, SyncFailed, SyncPaused
from coffer.domain.sync import DEFAULT_INTERVAL, INTERVALS, REASONS, Conflict, SyncRun, SyncStatus
from coffer.surfaces.rest.route import ACTOR, Answer, Asked, Route
from coffer.surfaces.rest.schema import array, boolean, integer, maybe, record, string
from coffer.surfaces.rest.stores import TIME, WRITING

RENAMED = array(
    "Files that came with the run under names that not every machine can hold, by their new ones.",
    string("A path in the memory tree."),
)
STATUS = record(
    "SyncStatus",
    "How sync is, from what this machine knows.",
    {
        "remote": maybe(string("Where the memory is synced to; null while sync is off.")),
        "machine": string("This machine's name."),
        "state": string("How it is.", enum=["off", "idle", "running", "paused", "failing"]),
        "reason": maybe(string("Why it is paused or failing, in a sentence.")),
        "question": maybe(string("What `sync/accept` takes while it is paused.")),
        "last_run_at": maybe(TIME),
        "last_success_at": maybe(TIME),
        "ahead": integer("Commits that the remote, as last seen, hasn't."),
        "behind": integer("Commits of the remote, as last seen, that this machine hasn't."),
        "renamed": RENAMED,
    },
)
RUN = record(
    "SyncRun",
    "How one run went.",
    {
        "result": string("How it ended.", enum=["synced", "nothing", "paused", "failed"]),
        "pulled": integer("Commits that came in."),
        "pushed": integer("Commits that were handed over."),
        "conflicts": integer("Conflicts that are open."),
        "reason": maybe(string("Why it paused or failed, in a sentence.")),
        "question": maybe(string("What `sync/accept` takes.")),
        "renamed": RENAMED,
    },
)
CONFLICTS = record(
    "Conflicts",
    "What only a person can decide.",
    {
        "conflicts": array(
            "By path.",
            record(
                "Conflict",
                "Two versions of one text.",
                {
                    "path": string("The file that has the plain name."),
                    "other_path": maybe(
                        string("The file that holds the other version; null where that was a removal.")
                    ),
                    "store": string("The store's name."),
                    "since": TIME,
                },
            ),
        )
    },
)


async def _join(asked: Asked) -> Answer:
    body = asked.body
    status = await asked.daemon.sync.join(
        asked.caller, body["url"], body["automatic"], body["interval_seconds"]
    )
    return _status_answer(status)


async def _off(asked: Asked) -> Answer:
    return _status_answer(await asked.daemon.sync.off())


async def _status(asked: Asked) -> Answer:
    return _status_answer(await asked.daemon.sync.status())


async def _run(asked: Asked) -> Answer:
    return await _run_answer(asked, await asked.daemon.sync.sync(asked.caller))


async def _accept(asked: Asked) -> Answer:
    return await _run_answer(asked, await asked.daemon.sync.accept(asked.caller, asked.body["reason"]))


async def _conflicts(asked: Asked) -> Answer:
    return _conflicts_answer(asked, await list_conflicts(asked.ports))


async def _resolve(asked: Asked) -> Answer:
    left = await resolve_conflict(asked.ports, asked.caller, asked.body["path"], asked.body["keep"])
    return _conflicts_answer(asked, left)


async def _serving(asked: Asked) -> Answer:
    return Answer({"push": await asked.ports.sync_state.push_allowed()})


async def _allow_push(asked: Asked) -> Answer:
    await asked.ports.sync_state.allow_push(asked.body["push"])
    return await _serving(asked)


def _status_answer(status: SyncStatus) -> Answer:
    return Answer({**asdict(status), "renamed": list(status.renamed)})


async def _run_answer(asked: Asked, run: SyncRun) -> Answer:
    return Answer(
        {
            "result": run.result,
            "pulled": run.pulled,
            "pushed": run.pushed,
            "conflicts": len(await list_conflicts(asked.ports)),
            "reason": run.reason,
            "question": run.question,
            "renamed": list(run.renamed),
        }
    )


def _conflicts_answer(asked: Asked, conflicts: list[Conflict]) -> Answer:
    def absolute(path: str | None) -> str | None:
        return None if path is None else f"{asked.ports.tree.root}/{path}"

    told = [
        {**asdict(each), "path": absolute(each.path), "other_path": absolute(each.other_path)}
        for each in conflicts
    ]
    return Answer({"conflicts": told})


REMOTE = record(
    "Remote",
    "Where to sync to.",
    {
        "url": string(
            "https or ssh, `user@host:path`, or the absolute path of a bare repository.",
            minLength=1,
            maxLength=4096,
        ),
        "automatic": boolean("Sync after writes and at the interval.", default=True),
        "interval_seconds": integer(
            "Seconds between two looks at the remote.",
            minimum=INTERVALS[0],
            maximum=INTERVALS[-1],
            default=DEFAULT_INTERVAL,
        ),
    },
    optional=("automatic", "interval_seconds"),
)

SERVED = record(
    "Served",
    "What the user's own git may do at `/memory.git`.",
    {"push": boolean("Whether it may push; it may always read.")},
)

ROUTES = (
    Route(
        "PUT",
        "/sync/remote",
        "Set the remote; one that is new is joined at once, and both sides keep everything.",
        _join,
        {200: STATUS},
        (SyncFailed,),
        headers=ACTOR,
        body=REMOTE,
    ),
    Route("GET", "/sync/remote", "Tell how sync is.", _status, {200: STATUS}),
    Route(
        "DELETE", "/sync/remote", "Switch sync off; nothing is removed here or there.", _off, {200: STATUS}
    ),
    Route("GET", "/sync/status", "Tell how sync is.", _status, {200: STATUS}),
    Route("POST", "/sync/run", "Sync now, and tell how it went.", _run, {200: RUN}, headers=ACTOR),
    Route(
        "POST",
        "/sync/accept",
        "Say yes to what sync has paused for, and go on.",
        _accept,
        {200: RUN},
        (SyncPaused,),
        headers=ACTOR,
        body=record("Yes", "What to say yes to.", {"reason": string("Its name.", enum=[*REASONS])}),
    ),
    Route("GET", "/sync/serving", "Tell what may be done at /memory.git.", _serving, {200: SERVED}),
    Route(
        "PUT",
        "/sync/serving",
        "Let the user's own git push to /memory.git, or no longer.",
        _allow_push,
        {200: SERVED},
        headers=ACTOR,
        body=record("Serving", "What may be done.", {"push": boolean("Whether it may push.")}),
    ),
    Route("GET", "/sync/conflicts", "List what only a person can decide.", _conflicts, {200: CONFLICTS}),
    Route(
        "POST",
        "/sync/conflicts/resolve",
        "Settle one conflict, and list those that are left.",
        _resolve,
        {200: CONFLICTS},
        (MemoryNotFound, *WRITING),
        headers=ACTOR,
        body=record(
            "Resolution",
            "What stays.",
            {
                "path": string("Either path of the conflict.", minLength=1, maxLength=4096),
                "keep": string(
                    "`this` keeps the plain name's version, `other` the other one, `both` makes two of them.",
                    enum=["this", "other", "both"],
                ),
            },
        ),
    ),
)
