"""The REST application: every route of `/api/v1` on the ports it is given.

It has no guard of its own; each door wraps it, together with what else it serves, in a `guard.Guard`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from quart import Response, request
from quart_trio import QuartTrio

from coffer.domain.ports import Ports
from coffer.surfaces.rest import (
    activity,
    agents,
    daemon,
    facts,
    history,
    hooks,
    lanes,
    merging,
    past,
    recall,
    setup,
    stores,
    sync,
)
from coffer.surfaces.rest.error_handlers import handle_errors
from coffer.surfaces.rest.errors import API
from coffer.surfaces.rest.json_body import render
from coffer.surfaces.rest.openapi import described
from coffer.surfaces.rest.route import Answer, DaemonFacts, Reader, Route

__all__ = ["DaemonFacts", "ROUTES", "build_app"]

_DESCRIBED = (
    *stores.ROUTES,
    *merging.ROUTES,
    *facts.ROUTES,
    *recall.ROUTES,
    *history.ROUTES,
    *past.ROUTES,
    *lanes.ROUTES,
    *agents.ROUTES,
    *setup.ROUTES,
    *hooks.ROUTES,
    *sync.ROUTES,
    *activity.ROUTES,
    *daemon.ROUTES,
)
ROUTES = (*_DESCRIBED, described(_DESCRIBED))


def build_app(ports: Ports, facts_of_daemon: DaemonFacts) -> QuartTrio:
    """Return the application; it does nothing until it is served."""
    app = QuartTrio("coffer", static_folder=None, template_folder=None)
    # An address is what it says: no redirect to one that is spelt a little differently.
    app.url_map.merge_slashes = False
    handle_errors(app, ports.clock.new_id)
    for route in ROUTES:
        app.add_url_rule(
            API + route.path.replace("{", "<").replace("}", ">"),
            f"{route.method} {route.path}",
            _view(route, ports, facts_of_daemon),
            methods=[route.method],
            provide_automatic_options=False,
        )
    return app


def _view(route: Route, ports: Ports, facts_of_daemon: DaemonFacts) -> Callable[..., Awaitable[Response]]:
    reader = Reader(route)

    async def view(**path: str) -> Response:
        body = await request.get_data(True, False, False)
        asked = reader.read(ports, facts_of_daemon, path, request.query_string, request.headers.getlist, body)
        return _response(await route.handler(asked))

    return view


def _response(answer: Answer) -> Response:
    if answer.body is None:
        response = Response(b"", answer.status, dict(answer.headers))
        del response.headers["Content-Type"]
        return response
    body = answer.body if isinstance(answer.body, bytes) else render(answer.body)
    return Response(body, answer.status, dict(answer.headers), content_type="application/json")
