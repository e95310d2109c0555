"""Refusals and failures as HTTP: one table of statuses, one JSON body.

Light to import: the daemon guards its doors before the web framework is loaded.
"""

from __future__ import annotations

from coffer.domain.errors import CofferError, Refused
from coffer.surfaces.rest.json_body import render

API = "/api/v1"

STATUS = {
    "MEMORY_STORE_MERGE_INVALID": 400,
    "UNSUPPORTED_AGENT_TYPE": 400,
    "UNAUTHORIZED": 401,
    "FORBIDDEN_ORIGIN": 403,
    "NOT_FOUND": 404,
    "MEMORY_STORE_NOT_FOUND": 404,
    "MEMORY_NOT_FOUND": 404,
    "AGENT_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "AGENT_EXISTS": 409,
    "FILE_UNREADABLE": 409,
    "SETTINGS_UNPARSABLE": 409,
    "SYNC_PAUSED": 409,
    "UNDO_CONFLICT": 409,
    "STALE_WRITE": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "CONFIG_INVALID": 422,
    "MEMORY_REJECTED": 422,
    "SCOPE_UNRESOLVED": 422,
    "INTERNAL": 500,
    "SYNC_FAILED": 502,
    "STORE_READ_ONLY": 503,
    "STATE_TOO_NEW": 503,
    "DISK_FULL": 507,
}


class NoSuchRoute(Refused):
    """No route has this address."""

    code = "NOT_FOUND"

    def __init__(self) -> None:
        super().__init__(f"There is nothing at this address; {API}/openapi.json lists what there is.")


class NoSuchMethod(Refused):
    """The route is there and doesn't take this method; the answer's `Allow` tells those it takes."""

    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"This address takes {allowed} only.")


def encoded(error: CofferError) -> tuple[int, bytes]:
    """Return the status and JSON body that tell a client of `error`."""
    told = {"code": error.code, "message": error.message, "details": dict(error.details)}
    return STATUS[error.code], render({"error": told})
