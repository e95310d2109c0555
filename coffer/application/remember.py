"""Remember: check a text, give it an id, and put it into its store's inbox."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coffer.application.live_store import in_live_store
from coffer.application.scope import config_of, new_store_changes, project_stores, subject_line
from coffer.application.threads import in_thread
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView, etag_of
from coffer.domain.errors import ConfigInvalid, MemoryNotFound, MemoryRejected
from coffer.domain.facts import MAX_TITLE_CHARS, Caller, Fact, Remembered
from coffer.domain.ports import Ports
from coffer.domain.secrets import find_secrets
from coffer.domain.stores import GLOBAL, Project, StoreRef, store_named
from lanes.errors import Unreadable
from lanes.knowledge import Note, derive_description, derive_title, new_fact, read_note, storable
from lanes.layout import STORE_FILE, SUPERSEDED, inbox_path, superseded_path
from lanes.names import fact_filename, is_fact_id, single_line
from lanes.store_config import FACT_CHARS

MAX_DESCRIPTION_CHARS = 1000
MAX_SUPERSEDES = 50


@dataclass(frozen=True, slots=True)
class NewFact:
    """What somebody wants remembered. A person may insist on a secret with `allow_secret`, an agent may not."""

    text: str
    title: str | None = None
    description: str | None = None
    supersedes: Sequence[str] = ()
    allow_secret: bool = False


async def remember(
    ports: Ports, caller: Caller, store: StoreRef, new: NewFact, project: Project | None = None
) -> Remembered:
    """Write a text into `store`, creating the store when it is the first; answer once it is on disk.

    The very same text is kept once: a second one answers with the fact that holds it.
    Superseded facts move to the archive in the same commit.
    Raises MemoryRejected, ConfigInvalid, MemoryNotFound (an id to supersede), FileUnreadable.
    """
    text = await checked_text(new.text, new.allow_secret and caller.actor == "user")
    title = checked_line("title", new.title or "", MAX_TITLE_CHARS) or derive_title(text)
    description = checked_line(
        "description", new.description or "", MAX_DESCRIPTION_CHARS
    ) or derive_description(text)
    if not (new.allow_secret and caller.actor == "user"):
        await refuse_secrets(f"{title}\n{description}")
    looked_at = NewFact(text, title, description, _ids(new.supersedes))

    async def write(store: StoreRef) -> Remembered:
        return await _remembered(ports, caller, store, looked_at, project)

    return await in_live_store(ports, store, project, write)


async def _remembered(
    ports: Ports, caller: Caller, store: StoreRef, new: NewFact, project: Project | None
) -> Remembered:
    """Write a text that was looked at, with its title and description."""
    text, title, description = new.text, new.title or "", new.description or ""
    await ports.index.prepare(store)
    beside = await project_stores(ports, project) if project is not None and new.supersedes else []
    retired = [await _find(ports, (store, *beside, GLOBAL), fact_id) for fact_id in new.supersedes]
    now, fact_id = ports.clock.now(), ports.clock.new_id()

    def plan(view: TreeView) -> Planned[tuple[Remembered, bool]]:
        first = new_store_changes(view, store, project)
        limit = config_of(view.read(f"{store.folder}/{STORE_FILE}"), store).max_fact_chars
        if len(text) > limit:
            raise MemoryRejected.too_long(len(text), limit)
        changes: list[Change] = []
        held = _held(ports, view, store, text)
        if held is None:
            content = new_fact(
                fact_id=fact_id,
                title=title,
                description=description,
                text=text,
                actor=caller.actor,
                agent=caller.agent,
                origin_session_id=caller.session,
                now=now,
            )
            path = f"{store.folder}/{inbox_path(now, fact_filename(title, fact_id))}"
            changes += [*first, Change(path, content)]
            ports.index.note(store, text, path)
            answer = Remembered(fact_from(store, path, content), "created")
        else:
            answer = Remembered(held, "exists")
        for old in retired:
            if old.path != answer.fact.path:
                changes += _archived(view, old, now, [change.path for change in changes])
        return Planned(
            (answer, bool(first)),
            ChangeSet(
                "remember", subject_line("remember", answer.fact.title), store.name, caller, tuple(changes)
            )
            if changes
            else None,
        )

    (answer, store_is_new), written = await ports.tree.write(plan)
    if answer.status == "created":
        if store_is_new:
            ports.state.audit(AuditEvent("store_created", caller, store.name))
        ports.state.audit(AuditEvent("memory_added", caller, store.name, {"chars": len(text)}))
    if project is not None:
        ports.state.found_root(store.name, project.root)
    for _ in retired:
        ports.state.audit(AuditEvent("memory_superseded", caller, store.name, {"count": 1}))
    return replace(answer, fact=replace(answer.fact, pending_reason=written.pending_reason))


async def checked_text(text: str, allow_secret: bool, field: str = "text") -> str:
    """Return `text` as a file will hold it; refuse an empty one and one that holds a secret."""
    if len(text) > FACT_CHARS[-1]:  # whatever the store allows; and looking for secrets takes a while
        raise MemoryRejected.too_long(len(text), FACT_CHARS[-1])
    try:
        text = storable(text)
        text.encode()
    except (Unreadable, UnicodeEncodeError) as problem:
        raise ConfigInvalid(field, f"can't be kept in a text file ({problem})") from problem
    if not text:
        raise MemoryRejected.empty()
    if not allow_secret:
        await refuse_secrets(text)
    return text


async def refuse_secrets(text: str) -> None:
    """Raise MemoryRejected naming the kind of secret in `text`, never the secret."""
    findings = await in_thread(lambda: find_secrets(text))
    if findings:
        raise MemoryRejected.secret(findings[0].kind)


def checked_line(field: str, value: str, limit: int) -> str:
    """Return a title or description as one clean line, perhaps an empty one."""
    line = single_line(value)
    if len(line) > limit:
        raise ConfigInvalid(field, f"has {len(line)} characters, {limit} are allowed")
    return line


def fact_from(store: StoreRef, path: str, content: bytes) -> Fact:
    """Return the fact that a file holds; raise Unreadable when it holds none."""
    return fact_of(store, path, content, read_note(path.removeprefix(f"{store.folder}/"), content))


def fact_of(store: StoreRef, path: str, content: bytes, note: Note) -> Fact:
    """Return a read note as a fact of `store`."""
    return Fact(
        id=note.id,
        store=store.name,
        lane="topic" if note.lane == "topic" else "inbox",
        title=note.title,
        description=note.description,
        text=note.body,
        actor=note.actor,
        agent=note.agent,
        origin_session_id=note.origin_session_id,
        path=path,
        created_at=note.created_at or "",
        updated_at=note.updated_at or note.created_at or "",
        etag=etag_of(content),
    )


def _ids(supersedes: Sequence[str]) -> list[str]:
    if len(supersedes) > MAX_SUPERSEDES:
        raise ConfigInvalid("supersedes", f"names {len(supersedes)} facts, {MAX_SUPERSEDES} are allowed")
    return list(dict.fromkeys(supersedes))


async def _find(ports: Ports, stores: Sequence[StoreRef], fact_id: str) -> Fact:
    """Return the fact to retire, from the store written to or another that recall offers with it."""
    if is_fact_id(fact_id):
        for candidate in dict.fromkeys(stores):
            fact = await ports.index.fact(candidate, fact_id)
            if fact is not None:
                return fact
    raise MemoryNotFound(f"Fact {fact_id!r}", f"store {stores[0].name}")


def _held(ports: Ports, view: TreeView, store: StoreRef, text: str) -> Fact | None:
    """Return the fact that holds exactly `text` already, as its file is now."""
    for path in ports.index.holders(store, text):
        content = view.read(path)
        if content is None:
            continue
        try:
            fact = fact_from(store, path, content)
        except Unreadable:
            continue
        if fact.text == text:
            return fact
    return None


def _archived(view: TreeView, old: Fact, now: str, taken: Sequence[str]) -> list[Change]:
    """Return the changes that move a fact's file, as it is, into its store's archive."""
    content = view.read(old.path)
    if content is None:
        raise MemoryNotFound(f"Fact {old.id!r}", f"store {old.store}")
    folder = store_named(old.store).folder
    names = {path.removeprefix(f"{folder}/") for path in [*view.files(f"{folder}/{SUPERSEDED}"), *taken]}
    target = superseded_path(old.path.removeprefix(f"{folder}/"), now, names)
    return [Change(f"{folder}/{target}", content), Change(old.path, None)]
