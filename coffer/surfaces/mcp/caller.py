"""Who calls, and from which folder: told anew by each request, never kept by the daemon."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from mcp import types
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

from coffer.domain.errors import ConfigInvalid
from coffer.domain.facts import Caller
from lanes.names import single_line

SESSION_HEADER = "mcp-session-id"

_LONGEST_NAME = 64
_ROOTS_SECONDS = 5.0

Context = ServerRequestContext[Any, Any]


def caller_of(context: Context) -> Caller:
    """Return the agent and session behind a request, without its folder.

    The agent is what the shim says in `_meta`, else the header, else what the client calls itself.
    """
    client = context.session.client_params
    agent = _meta(context, "coffer/agent") or unquote(_header(context, "x-coffer-agent"))
    if not agent and client is not None:
        agent = client.client_info.name
    return Caller("agent", _name(agent), _name(_header(context, SESSION_HEADER)))


async def folder_of(context: Context) -> str | None:
    """Return the folder that the agent works in, None when it is nowhere told.

    A client of the handshake era that offers roots is asked for them; the modern one can't be asked.
    Raises ConfigInvalid for a folder that isn't absolute, which would mean another one to the daemon.
    """
    folder = _meta(context, "coffer/cwd") or unquote(
        _header(context, "x-coffer-cwd"), errors="surrogateescape"
    )
    if not folder:
        return await _first_root(context)
    if not os.path.isabs(folder):
        raise ConfigInvalid("coffer/cwd", f"{folder[:100]!r} isn't an absolute path")
    return folder


def _meta(context: Context, key: str) -> str:
    meta = (context.params or {}).get("_meta")
    value = meta.get(key) if isinstance(meta, Mapping) else None
    return value if isinstance(value, str) else ""


def _header(context: Context, name: str) -> str:
    return str(context.request.headers.get(name, "")) if context.request is not None else ""


def _name(text: str) -> str | None:
    """Return a name that fits in a log line, a commit and a file header."""
    return single_line(text)[:_LONGEST_NAME].strip() or None


async def _first_root(context: Context) -> str | None:
    offered = context.session.client_capabilities
    if offered is None or offered.roots is None or not context.session.can_send_request:
        return None
    try:
        answer = await context.session.send_request(
            types.ListRootsRequest(),
            types.ListRootsResult,
            request_read_timeout_seconds=_ROOTS_SECONDS,
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
    except (MCPError, ValueError):
        return None  # it offers roots and doesn't give them
    return next(
        (unquote(root.uri.path, errors="surrogateescape") for root in answer.roots if root.uri.path), None
    )
