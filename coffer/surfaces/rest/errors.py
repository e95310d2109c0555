"""Refusals and failures as HTTP: one table of statuses, one JSON body, one way to log a fault of ours."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator

from quart import Response
from quart.typing import ResponseReturnValue
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from coffer.domain.errors import (
    CofferError,
    ConfigInvalid,
    Internal,
    MemoryNotFound,
    Refused,
    StoreNotFound,
)
from coffer.domain.stores import store_named

API = "/api/v1"

STATUS = {
    "UNAUTHORIZED": 401,
    "FORBIDDEN_ORIGIN": 403,
    "NOT_FOUND": 404,
    "MEMORY_STORE_NOT_FOUND": 404,
    "MEMORY_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "FILE_UNREADABLE": 409,
    "STALE_WRITE": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "CONFIG_INVALID": 422,
    "MEMORY_REJECTED": 422,
    "SCOPE_UNRESOLVED": 422,
    "INTERNAL": 500,
    "STORE_READ_ONLY": 503,
    "STATE_TOO_NEW": 503,
    "DISK_FULL": 507,
}

log = logging.getLogger(__name__)


class NoSuchRoute(Refused):
    code = "NOT_FOUND"

    def __init__(self) -> None:
        super().__init__(f"There is nothing at this address; {API}/openapi.json lists what there is.")


class NoSuchMethod(Refused):
    code = "METHOD_NOT_ALLOWED"

    def __init__(self, allowed: str) -> None:
        super().__init__(f"This address takes {allowed} only.")


def encoded(error: CofferError) -> tuple[int, bytes]:
    """Return the status and JSON body that tell a client of `error`."""
    told = {"code": error.code, "message": error.message, "details": dict(error.details)}
    return STATUS[error.code], json.dumps({"error": told}).encode()


def handle_errors(app: QuartTrio, new_incident: Callable[[], str]) -> None:
    """Answer every error of `app` with the contract's body, and log those that nobody foresaw."""

    async def refused(error: CofferError) -> ResponseReturnValue:
        status, body = encoded(error)
        return Response(body, status, content_type="application/json")

    async def unrouted(error: HTTPException) -> ResponseReturnValue:
        from quart import request

        if isinstance(error, NotFound):
            return await refused(_missing(request.path))
        if isinstance(error, MethodNotAllowed):
            allowed = ", ".join(sorted(error.valid_methods or ()))
            status, body = encoded(NoSuchMethod(allowed))
            return Response(body, status, {"Allow": allowed}, content_type="application/json")
        return await refused(ConfigInvalid("request", "can't be understood"))

    async def unforeseen(error: Exception) -> ResponseReturnValue:
        incident = new_incident()
        log.error("%s\n%s", incident, "".join(_trace(error)))
        return await refused(Internal(incident))

    app.register_error_handler(CofferError, refused)
    app.register_error_handler(HTTPException, unrouted)
    app.register_error_handler(Exception, unforeseen)


def _missing(path: str) -> CofferError:
    """Say what isn't there: a name or id with a slash in it reaches no route, and is still a name or id."""
    head, _, rest = path.partition(f"{API}/memory_stores/")
    if head or not path.startswith(f"{API}/memory_stores/"):
        return NoSuchRoute()
    name, _, rest = rest.partition("/")
    try:
        store_named(name)
    except StoreNotFound as unknown:
        return unknown
    lane, _, fact = rest.partition("/")
    return MemoryNotFound(f"Fact {fact!r}", name) if lane == "facts" else NoSuchRoute()


def _trace(error: BaseException) -> Iterator[str]:
    """Yield where `error` and its causes come from, not their messages, which may quote a memory."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        yield from _trace(cause)
        yield "which led to:\n"
    yield from traceback.format_tb(error.__traceback__)
    number = f" (errno {error.errno})" if isinstance(error, OSError) else ""
    yield f"{type(error).__module__}.{type(error).__qualname__}{number}\n"
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _trace(inner)
