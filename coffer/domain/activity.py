"""What is kept about use: who did what when. Never content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coffer.domain.facts import Caller


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the audit: an event name of the contract, who, which store, sizes and counts."""

    event: str
    caller: Caller
    store: str | None = None
    details: Mapping[str, int | str | bool] = field(default_factory=dict)
    time: str = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One MCP tool call: `outcome` is `ok` or `error`; no arguments, no results."""

    time: str
    tool: str
    agent: str | None
    session: str | None
    duration_ms: float
    outcome: str
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `coffer doctor`: `status` is `ok`, `warning` or `problem`; `action` says what to do."""

    name: str
    status: str
    message: str
    action: str | None = None
