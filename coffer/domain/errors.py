"""Every refusal and failure a client can meet, each with a stable code and one sentence.

    CofferError
    ├── Refused                     the request can be mended by whoever sent it
    │   ├── ConfigInvalid           a field or parameter has the wrong shape
    │   ├── StoreNotFound           not a legal store name, or a store that must exist and doesn't
    │   ├── StoreMergeInvalid       two stores that can't become one
    │   ├── MemoryNotFound          no such fact or version
    │   ├── MemoryRejected          the text itself: empty, too long, or holding a secret
    │   ├── StaleWrite              the fact changed since it was read
    │   ├── ScopeUnresolved         the caller's folder isn't inside a git project
    │   │   └── NoBranch            it is, but which branch it is on can't be told
    │   ├── AgentNotFound           no agent is registered under that name
    │   ├── AgentExists             the name or the settings folder is another agent's
    │   ├── UnsupportedAgentType    a type that Coffer doesn't know, or that can't do what was asked
    │   ├── SettingsUnparsable      another program's file that can't be edited without risk
    │   ├── SettingsChanged         another program's file was edited while Coffer was about to
    │   ├── UndoConflict            later work stands on what is to be undone
    │   ├── SyncPaused              a person has to say yes to something first
    │   ├── Unauthorized            no token, or a wrong one
    │   ├── ForbiddenOrigin         a host, origin or content type that no client of ours sends
    │   └── PayloadTooLarge
    └── Unable                      the machine can't do it now
        ├── FileUnreadable          rewriting the file would lose something in it
        ├── StoreReadOnly           the memory tree can't be written
        ├── DiskFull
        ├── SyncFailed              the remote can't be reached, or what it holds can't be taken in
        ├── StateTooNew             state.sqlite was written by a newer Coffer
        └── Internal                a fault of ours; the log has its id

Surfaces translate these once, by `code`; nothing below a surface knows of HTTP or JSON-RPC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class CofferError(Exception):
    """A refusal or failure with a stable `code`, a sentence for a person, and data for a program."""

    code = "INTERNAL"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details: Mapping[str, object] = details


class Refused(CofferError):
    """The request can be mended by whoever sent it; nothing was written."""


class ConfigInvalid(Refused):
    code = "CONFIG_INVALID"

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}; correct it and try again.", field=field)


class StoreNotFound(Refused):
    code = "MEMORY_STORE_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no memory store {name!r}. `coffer memory list` shows the stores; "
            "names are `global` or `project-` and 26 characters.",
            store=name,
        )


class StoreMergeInvalid(Refused):
    code = "MEMORY_STORE_MERGE_INVALID"

    def __init__(self, problem: str) -> None:
        super().__init__(f"{problem}; name two different stores of projects.")


class MemoryNotFound(Refused):
    code = "MEMORY_NOT_FOUND"

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} isn't in {where}.", where=where)


class MemoryRejected(Refused):
    """The text can't be kept. `details.reason` is `empty`, `too_long` or `secret`; never the text."""

    code = "MEMORY_REJECTED"

    @classmethod
    def empty(cls) -> MemoryRejected:
        return cls("The text is empty; say what to remember.", reason="empty")

    @classmethod
    def too_long(cls, length: int, limit: int) -> MemoryRejected:
        return cls(
            f"The text has {length} characters, {limit} are allowed; keep the essence or split it.",
            reason="too_long",
            length=length,
            limit=limit,
        )

    @classmethod
    def secret(cls, kind: str) -> MemoryRejected:
        return cls(
            f"The text seems to hold a secret ({kind}). Remember where it is kept instead; "
            "for a fact a person may insist with allow_secret.",
            reason="secret",
            kind=kind,
        )


class StaleWrite(Refused):
    code = "STALE_WRITE"

    def __init__(self, fact_id: str) -> None:
        super().__init__(f"Fact {fact_id} changed since it was read; read it again and repeat the edit.")


class ScopeUnresolved(Refused):
    code = "SCOPE_UNRESOLVED"

    def __init__(self, folder: str | None) -> None:
        where = f"{folder} isn't inside a git project" if folder else "the caller's folder is unknown"
        super().__init__(
            f"No project: {where}. Work inside a git repository, or use scope=global where there is a scope."
        )


class NoBranch(ScopeUnresolved):
    def __init__(self, root: str) -> None:
        Refused.__init__(
            self, f"The branch of {root} can't be told, and a handoff belongs to a branch; check one out."
        )


class AgentNotFound(Refused):
    code = "AGENT_NOT_FOUND"

    def __init__(self, name: str) -> None:
        super().__init__(f"No agent is registered as {name!r}; `coffer agent list` shows them.", agent=name)


class AgentExists(Refused):
    code = "AGENT_EXISTS"

    def __init__(self, name: str, config_dir: str) -> None:
        super().__init__(
            f"The agent {name!r} is registered already, with its settings in {config_dir}.",
            agent=name,
            config_dir=config_dir,
        )


class UnsupportedAgentType(Refused):
    code = "UNSUPPORTED_AGENT_TYPE"

    def __init__(self, type_name: str, problem: str) -> None:
        super().__init__(f"{type_name}: {problem}", type=type_name)


class SettingsUnparsable(Refused):
    """Another program's file that Coffer leaves alone; line and column count from 1, 0 where unknown."""

    code = "SETTINGS_UNPARSABLE"

    def __init__(self, path: str, problem: str, line: int = 0, column: int = 0) -> None:
        where = f", line {line}, column {column}" if line else ""
        super().__init__(
            f"{path}{where}: {problem}; it was left as it is. Mend it, then try again.",
            path=path,
            line=line,
            column=column,
        )


class SettingsChanged(Refused):
    """Somebody edited another program's file between Coffer's reading and writing it; it was left as it is."""

    code = "STALE_WRITE"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was edited at the same time; it was left as it is. Try again.", path=path)


class UndoConflict(Refused):
    """`details.later` holds the commits that stand in the way, newest first, each with `subject` and `time`."""

    code = "UNDO_CONFLICT"

    def __init__(self, commit: str, paths: Sequence[str], later: Sequence[Mapping[str, str]]) -> None:
        newest = f", by “{later[0]['subject']}” ({later[0]['commit'][:12]})" if later else ""
        super().__init__(
            f"Commit {commit[:12]} can't be undone: {', '.join(paths[:3])} was changed since{newest}. "
            "Undo that first, or edit the file.",
            paths=list(paths),
            later=list(later),
        )
        self.paths = paths


class SyncPaused(Refused):
    """Sync waits for a person's yes. `reason` names the question, `subjects` exactly what it is asked about."""

    code = "SYNC_PAUSED"

    def __init__(self, reason: str, question: str, subjects: tuple[str, ...]) -> None:
        super().__init__(f"{question} `coffer sync accept {reason}` says yes.", reason=reason)
        self.reason = reason
        self.subjects = subjects


class Unauthorized(Refused):
    code = "UNAUTHORIZED"

    def __init__(self) -> None:
        super().__init__(
            "This needs the token from the file `token` in Coffer's home, sent as "
            "`Authorization: Bearer …` or `X-Coffer-Token`."
        )


class ForbiddenOrigin(Refused):
    code = "FORBIDDEN_ORIGIN"


class PayloadTooLarge(Refused):
    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The request is larger than {limit} bytes.", limit=limit)


class Unable(CofferError):
    """The machine can't do it now; what was stored before is unharmed."""


class FileUnreadable(Unable):
    code = "FILE_UNREADABLE"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"{path} can't be rewritten without losing something in it ({reason}); mend it in an editor first.",
            path=path,
            reason=reason,
        )


class StoreReadOnly(Unable):
    code = "STORE_READ_ONLY"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(
            f"The memory tree can't be written ({path}: {reason}); give its owner write access.", path=path
        )


class DiskFull(Unable):
    code = "DISK_FULL"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The disk that holds {path} is full; nothing was written. Free some space.", path=path
        )


class SyncFailed(Unable):
    code = "SYNC_FAILED"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class StateTooNew(Unable):
    code = "STATE_TOO_NEW"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was written by a newer Coffer; update this one.", path=path)


class Internal(Unable):
    code = "INTERNAL"

    def __init__(self, incident: str) -> None:
        super().__init__(
            f"Something went wrong in Coffer; the log has it under {incident}.", incident=incident
        )
