"""Rules: what an agent is to do or to leave, put before every session. Set by the user, or learned and marked so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coffer.application.remember import refuse_secrets
from coffer.application.scope import new_store_changes, subject_line
from coffer.domain.activity import AuditEvent
from coffer.domain.changes import Change, ChangeSet, Planned, TreeView
from coffer.domain.errors import ConfigInvalid, FileUnreadable, MemoryNotFound, MemoryRejected
from coffer.domain.facts import Caller
from coffer.domain.ports import Ports
from coffer.domain.stores import Project, StoreRef
from lanes.errors import Unreadable
from lanes.layout import RULES
from lanes.names import single_line
from lanes.rules import Rule, accept_rule, append_rule, concatenate, read_rules

MAX_RULE_CHARS = 1000
RULES_FILE = f"{RULES}/rules.md"


@dataclass(frozen=True, slots=True)
class RulesFile:
    """One readable rules file; `path` is relative to the tree."""

    path: str
    content: bytes
    rules: tuple[Rule, ...]


async def rules_files(ports: Ports, store: StoreRef) -> list[RulesFile]:
    """Return a store's rules files by path; one that can't be read is doctor's, not the session's."""
    found = []
    for path, content in sorted(await ports.tree.contents(f"{store.folder}/{RULES}")):
        if path.endswith(".md"):
            try:
                found.append(RulesFile(path, content, read_rules(content).rules))
            except Unreadable:
                continue
    return found


def rules_text(files: Sequence[RulesFile]) -> str | None:
    """Return the text of all files, one after the other; None when there is no rule and no prose."""
    return concatenate([(file.path, file.content) for file in files]) or None


async def add_rule(
    ports: Ports, caller: Caller, store: StoreRef, text: str, project: Project | None = None
) -> Rule:
    """Add a rule of the user's own; one that is there already is left as it is, a learned one becomes theirs.

    Raises MemoryRejected for an empty rule or a secret, ConfigInvalid for one of more than 1,000 characters.
    """
    line = single_line(text)
    if not line:
        raise MemoryRejected.empty()
    if len(line) > MAX_RULE_CHARS:
        raise ConfigInvalid("text", f"has {len(line)} characters, {MAX_RULE_CHARS} are allowed in a rule")
    refuse_secrets(line)

    def plan(view: TreeView) -> Planned[bool]:
        path, content = _with_rule(view, store, line)
        if content is None:
            return Planned(False)
        changes = (*new_store_changes(view, store, project), Change(path, content))
        return Planned(True, ChangeSet("rule", subject_line("rule", line), store.name, caller, changes))

    added, _ = await ports.tree.write(plan)
    if added:
        details: dict[str, int | str | bool] = {"lane": "rules", "chars": len(line)}
        ports.state.audit(AuditEvent("memory_added", caller, store.name, details))
    return Rule(line)


async def accept_rules(ports: Ports, caller: Caller, store: StoreRef, text: str | None) -> list[Rule]:
    """Make a learned rule the user's own, or with None all of them; return those that were accepted.

    Raises MemoryNotFound when no learned rule reads like `text`.
    """
    wanted = None if text is None else single_line(text)

    def plan(view: TreeView) -> Planned[list[Rule]]:
        changes, accepted = [], []
        for path, before, rules in _readable(view, store):
            content = before
            for rule in rules:
                if rule.learned and wanted in (None, rule.text):
                    content = accept_rule(content, rule.text) or content
                    accepted.append(Rule(rule.text))
            if content != before:
                changes.append(Change(path, content))
        if not changes:
            if wanted is not None:
                raise MemoryNotFound(f"A learned rule {wanted[:80]!r}", f"store {store.name}")
            return Planned([])
        said = accepted[0].text if len(accepted) == 1 else f"{len(accepted)} rules"
        subject = subject_line("accept", said)
        return Planned(accepted, ChangeSet("accept", subject, store.name, caller, tuple(changes)))

    accepted, _ = await ports.tree.write(plan)
    if accepted:
        details: dict[str, int | str | bool] = {"lane": "rules", "count": len(accepted)}
        ports.state.audit(AuditEvent("memory_updated", caller, store.name, details))
    return accepted


def _with_rule(view: TreeView, store: StoreRef, text: str) -> tuple[str, bytes | None]:
    """Return the file that gets the rule and its new bytes; None for those when nothing is to be done."""
    for path, content, rules in _readable(view, store):
        if any(rule.text == text for rule in rules):
            return path, accept_rule(content, text)
    path = f"{store.folder}/{RULES_FILE}"
    try:
        return path, append_rule(view.read(path), Rule(text))
    except Unreadable as problem:
        raise FileUnreadable(path, problem.reason) from problem


def _readable(view: TreeView, store: StoreRef) -> Iterator[tuple[str, bytes, tuple[Rule, ...]]]:
    """Yield path, bytes and rules of every rules file that can be read."""
    for path in view.files(f"{store.folder}/{RULES}"):
        content = view.read(path) if path.endswith(".md") else None
        if content is not None:
            try:
                yield path, content, read_rules(content).rules
            except Unreadable:
                continue
