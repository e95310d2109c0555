"""Rules: what an agent is to do or to leave, put before every session. Set by the user, or learned and marked so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from coffer.application.lane_files import lane_files, write_lane
from coffer.application.remember import refuse_secrets
from coffer.application.threads import in_thread
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, TreeView
from coffer.domain.errors import FileUnreadable, MemoryNotFound, MemoryRejected
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes.errors import Unreadable
from lanes.layout import RULES
from lanes.names import single_line
from lanes.rules import Rule, RulesDocument, accept_rule, append_rule, concatenate, read_rules

MAX_RULE_CHARS = 1000
RULES_FILE = f"{RULES}/rules.md"


@dataclass(frozen=True, slots=True)
class RulesFile:
    """One readable rules file; `path` is relative to the tree."""

    path: str
    content: bytes
    document: RulesDocument

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.document.rules


async def rules_files(ports: Ports, store: StoreRef) -> list[RulesFile]:
    """Return a store's rules files by path; doctor names those that can't be read."""
    files = await lane_files(ports, store, RULES)

    def readable() -> list[RulesFile]:
        found = []
        for path, content in files:
            with suppress(Unreadable):
                found.append(RulesFile(path, content, read_rules(content)))
        return found

    return await in_thread(readable)


def rules_text(files: Sequence[RulesFile]) -> str | None:
    """Return the text of all files, one after the other as they stand; None without any file."""
    return concatenate([(file.path, file.content) for file in files]) or None


async def add_rule(
    ports: Ports, caller: Caller, store: StoreRef, text: str, project: Project | None = None
) -> Rule:
    """Add a rule of the user's own; one that is there already is left as it is, a learned one becomes theirs.

    Raises MemoryRejected for a rule that is empty, has more than 1,000 characters or holds a secret.
    """
    line = single_line(text)
    if not line:
        raise MemoryRejected.empty()
    if len(line) > MAX_RULE_CHARS:
        raise MemoryRejected.too_long(len(line), MAX_RULE_CHARS)
    await refuse_secrets(line)

    def decide(view: TreeView, store: StoreRef) -> Sequence[Change]:
        known = _accepted(view, store, line)
        return [_appended(view, store, line)] if known is None else known

    store, changed = await write_lane(ports, caller, store, project, "rule", line, decide)
    if changed:
        ports.state.audit(AuditEvent("memory_added", caller, store.name, {"lane": RULES, "chars": len(line)}))
    return Rule(line)


async def accept_learned(ports: Ports, caller: Caller, store: StoreRef, text: str) -> Rule:
    """Make a learned rule the user's own; raise MemoryNotFound when no learned rule reads like `text`."""
    line = single_line(text)

    def decide(view: TreeView, store: StoreRef) -> Sequence[Change]:
        changes = _accepted(view, store, line)
        if not changes:
            raise MemoryNotFound(f"A learned rule {line[:80]!r}", f"store {store.name}")
        return changes

    store, _ = await write_lane(ports, caller, store, None, "accept", line, decide)
    ports.state.audit(AuditEvent("memory_updated", caller, store.name, {"lane": RULES, "chars": len(line)}))
    return Rule(line)


def _accepted(view: TreeView, store: StoreRef, text: str) -> list[Change] | None:
    """Return what makes a rule the user's own wherever it stands; None when it stands nowhere."""
    files = [(path, content) for path, content, rules in _readable(view, store) if text in rules]
    changes = [(path, accept_rule(content, text)) for path, content in files]
    return [Change(path, after) for path, after in changes if after is not None] if files else None


def _appended(view: TreeView, store: StoreRef, text: str) -> Change:
    path = f"{store.folder}/{RULES_FILE}"
    try:
        content = append_rule(view.read(path), Rule(text))
    except Unreadable as problem:
        raise FileUnreadable(path, problem.reason) from problem
    if content is None:
        raise MemoryRejected.empty()  # nothing but punctuation, such as a line across the page
    return Change(path, content)


def _readable(view: TreeView, store: StoreRef) -> Iterator[tuple[str, bytes, set[str]]]:
    """Yield path, bytes and the rules' texts of every rules file that can be read."""
    for path in view.files(f"{store.folder}/{RULES}"):
        content = view.read(path) if path.endswith(".md") else None
        if content is not None:
            try:
                yield path, content, {rule.text for rule in read_rules(content).rules}
            except Unreadable:
                continue
