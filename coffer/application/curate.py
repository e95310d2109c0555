"""Curate: read, mend, delete and clear what a store holds. A person's work, never an agent's tool."""

from __future__ import annotations

from dataclasses import dataclass, replace

from coffer.application.remember import (
    MAX_DESCRIPTION_CHARS,
    checked_line,
    checked_text,
    fact_from,
    refuse_secrets,
)
from coffer.application.scope import config_of, subject_line
from coffer.application.topics import with_index
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView, etag_of
from coffer.domain.errors import (
    ConfigInvalid,
    FileUnreadable,
    MemoryNotFound,
    MemoryRejected,
    StaleWrite,
    StoreNotFound,
)
from coffer.domain.facts import MAX_TITLE_CHARS, Caller, Fact
from coffer.domain.ports import Ports
from coffer.domain.stores import StoreRef
from lanes import lane_of
from lanes.errors import Unreadable
from lanes.knowledge import rewrite_note
from lanes.layout import INDEX_FILE, KNOWLEDGE, STORE_FILE
from lanes.names import is_fact_id
from lanes.store_config import update_config

MAX_PAGE = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """New text, title or description for a fact; None leaves one as it is, a blank title is derived anew."""

    text: str | None = None
    title: str | None = None
    description: str | None = None
    allow_secret: bool = False


async def list_facts(
    ports: Ports, store: StoreRef, lane: str | None = None, limit: int = 50, offset: int = 0
) -> tuple[list[Fact], int]:
    """Return a page of a store's facts and topics, newest first, and how many there are."""
    check_page(lane, limit, offset)
    facts, total = await ports.index.facts(store, lane, limit, offset)
    pending = await ports.tree.pending()
    return [_marked(fact, pending) for fact in facts], total


def check_page(lane: str | None, limit: int, offset: int) -> None:
    """Raise ConfigInvalid for what can't be a page of facts."""
    if lane not in (None, "inbox", "topic"):
        raise ConfigInvalid("lane", f"{lane!r} isn't inbox or topic")
    if not 1 <= limit <= MAX_PAGE:
        raise ConfigInvalid("limit", f"{limit} isn't between 1 and {MAX_PAGE}")
    if offset < 0:
        raise ConfigInvalid("offset", f"{offset} is below 0")


async def get_fact(ports: Ports, store: StoreRef, fact_id: str) -> Fact:
    """Return one fact as its file is now; raise MemoryNotFound."""
    fact = await ports.index.fact(store, fact_id) if is_fact_id(fact_id) else None
    if fact is None:
        raise MemoryNotFound(f"Fact {fact_id!r}", f"store {store.name}")
    return _marked(fact, await ports.tree.pending())


async def edit_fact(
    ports: Ports, caller: Caller, store: StoreRef, fact_id: str, edit: Edit, if_match: str | None = None
) -> Fact:
    """Rewrite a fact's file in place and return the fact.

    What a person left uncommitted in the file is committed as theirs first.
    With `if_match`, raises StaleWrite unless the file still has that etag.
    Raises MemoryRejected, MemoryNotFound, and FileUnreadable where a rewrite would lose something.
    """
    insist = edit.allow_secret and caller.actor == "user"
    text = None if edit.text is None else await checked_text(edit.text, insist)
    title = None if edit.title is None else checked_line("title", edit.title, MAX_TITLE_CHARS)
    description = (
        None
        if edit.description is None
        else checked_line("description", edit.description, MAX_DESCRIPTION_CHARS)
    )
    if not insist:
        await refuse_secrets(f"{title or ''}\n{description or ''}")
    current = await get_fact(ports, store, fact_id)
    now = ports.clock.now()

    def plan(view: TreeView) -> Planned[Fact]:
        content = _content(view, current)
        if if_match is not None and etag_of(content) != if_match:
            raise StaleWrite(fact_id)
        limit = config_of(view.read(f"{store.folder}/{STORE_FILE}"), store).max_fact_chars
        if text is not None and len(text) > limit:
            raise MemoryRejected.too_long(len(text), limit)
        try:
            before = fact_from(store, current.path, content)
            rewritten = rewrite_note(content, now=now, text=text, title=title, description=description)
            after = fact_from(store, current.path, rewritten)
            if _said(after) == _said(before):
                return Planned(before)
        except Unreadable as problem:
            raise FileUnreadable(current.path, problem.reason) from problem
        if text is not None:
            ports.index.note(store, text, current.path)
        changes = [Change(current.path, rewritten)]
        return Planned(after, _change_set("edit", after.title, caller, store, view, changes))

    fact, written = await ports.tree.write(plan)
    ports.state.audit(AuditEvent("memory_updated", caller, store.name, {"chars": len(fact.text)}))
    # A hand-made file is known by its path, whatever the rewrite put into it.
    return replace(fact, id=current.id, pending_reason=written.pending_reason)


async def delete_fact(
    ports: Ports, caller: Caller, store: StoreRef, fact_id: str, if_match: str | None = None
) -> str | None:
    """Remove a fact's file; its text stays in the tree's git history. Return why the commit waits, if it does."""
    current = await get_fact(ports, store, fact_id)

    def plan(view: TreeView) -> Planned[None]:
        content = _content(view, current)
        if if_match is not None and etag_of(content) != if_match:
            raise StaleWrite(fact_id)
        changes = [Change(current.path, None)]
        return Planned(None, _change_set("delete", current.title, caller, store, view, changes))

    _, written = await ports.tree.write(plan)
    ports.state.audit(AuditEvent("memory_deleted", caller, store.name, {"count": 1}))
    return written.pending_reason


async def clear_store(ports: Ports, caller: Caller, store: StoreRef) -> int:
    """Remove every fact and topic of a store in one commit, and return how many; the store itself stays.

    Only what recall would have offered goes: other files that a person put there are left alone.
    """
    if store not in await ports.tree.stores():
        raise StoreNotFound(store.name)

    def plan(view: TreeView) -> Planned[int]:
        held = [path for path in view.files(f"{store.folder}/{KNOWLEDGE}") if _is_counted(store, path)]
        if not held:
            return Planned(0)
        changes = [Change(path, None) for path in held]
        changes.append(Change(f"{store.folder}/{INDEX_FILE}", None))
        if view.read(f"{store.folder}/{STORE_FILE}") is None:
            # The store must outlive its last fact, and git keeps no empty folder.
            changes.append(Change(f"{store.folder}/{STORE_FILE}", update_config(None, {})))
        subject = f"clear: {len(held)} texts of {store.name}"
        return Planned(len(held), ChangeSet("clear", subject, store.name, caller, tuple(changes)))

    cleared, _ = await ports.tree.write(plan)
    ports.state.audit(AuditEvent("memory_cleared", caller, store.name, {"count": cleared}))
    return cleared


def _said(fact: Fact) -> tuple[str, str, str]:
    return fact.text, fact.title, fact.description


def _is_counted(store: StoreRef, path: str) -> bool:
    lane = lane_of(path.removeprefix(f"{store.folder}/"))
    return lane is not None and lane.counted


def _content(view: TreeView, fact: Fact) -> bytes:
    """Return the fact's file, provided it still is that fact's; a person may have moved it meanwhile."""
    content = view.read(fact.path)
    if content is None:
        raise MemoryNotFound(f"Fact {fact.id!r}", f"store {fact.store}")
    return content


def _change_set(
    op: str, title: str, caller: Caller, store: StoreRef, view: TreeView, changes: list[Change]
) -> ChangeSet:
    """Return the operation, with INDEX.md brought along when it touches a topic document."""
    changes = with_index(view, store, changes)
    return ChangeSet(op, subject_line(op, title), store.name, caller, tuple(changes))


def _marked(fact: Fact, pending: dict[str, str]) -> Fact:
    reason = pending.get(fact.path)
    return fact if reason is None else replace(fact, pending_reason=reason)
