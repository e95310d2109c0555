"""What the REST application answers when something goes wrong, and what it leaves in the log."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator

from quart import Response, request
from quart.typing import ResponseReturnValue
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from coffer.domain.errors import CofferError, ConfigInvalid, Internal, MemoryNotFound, StoreNotFound
from coffer.domain.stores import store_named
from coffer.surfaces.rest.errors import API, NoSuchMethod, NoSuchRoute, encoded

log = logging.getLogger(__name__)


def handle_errors(app: QuartTrio, new_incident: Callable[[], str]) -> None:
    """Answer every error of `app` with the contract's body, and log those that nobody foresaw."""

    async def refused(error: CofferError) -> ResponseReturnValue:
        status, body = encoded(error)
        return Response(body, status, content_type="application/json")

    async def unrouted(error: HTTPException) -> ResponseReturnValue:
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
    below = f"{API}/memory_stores/"
    if not path.startswith(below):
        return NoSuchRoute()
    name, _, rest = path.removeprefix(below).partition("/")
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
