"""The MCP server: lists the built-in tools and answers calls, with errors that a model can read."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from typing import Any

import trio
from jsonschema import Draft202012Validator
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from coffer.domain.activity import Invocation
from coffer.domain.errors import CofferError, Internal
from coffer.domain.ports import Ports
from coffer.surfaces.mcp.arguments import checked
from coffer.surfaces.mcp.caller import Context, caller_of, folder_of
from coffer.surfaces.mcp.tools import INSTRUCTIONS, TOOLS, Answer, Tool
from lanes.names import single_line

log = logging.getLogger(__name__)

# Control characters beyond those that JSON itself escapes, line and paragraph separators, and characters
# that hide text or reverse its direction.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def build_server(ports: Ports, version: str) -> Server[Any]:
    """Return the server for any number of connections, of both protocol eras."""
    tools = {tool.name: tool for tool in TOOLS}
    validators = {tool.name: Draft202012Validator(tool.input_schema) for tool in TOOLS}
    listed = types.ListToolsResult(tools=[_told(tool) for tool in TOOLS])

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]!r}")
        begun, caller = ports.clock.elapsed(), caller_of(context)
        code: str | None = "CANCELLED"
        try:
            given = checked(validators[tool.name], params.arguments)
            if given.get("scope") != "global":
                caller = replace(caller, folder=await folder_of(context))
            # An agent that stops waiting doesn't undo a write, so the write's records are made as well.
            with trio.CancelScope(shield=tool.writes):
                result, code = _result(await tool.run(ports, caller, given)), None
        except CofferError as error:
            result, code = _error(error), error.code
        except Exception as fault:
            incident = ports.clock.new_id()
            log.error("%s in %s", incident, tool.name, exc_info=fault)
            result, code = _error(Internal(incident)), Internal.code
        finally:
            ports.state.invoked(
                Invocation(
                    time=ports.clock.now(),
                    tool=tool.name,
                    agent=caller.agent,
                    session=caller.session,
                    duration_ms=round((ports.clock.elapsed() - begun) * 1000, 1),
                    outcome="error" if code else "ok",
                    error_code=code,
                )
            )
        return result

    server: Server[Any] = Server(
        "coffer",
        version=version,
        title="Coffer",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=lambda name: tools[name].input_schema if name in tools else None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # tracing, which nothing here listens to
    return server


def _told(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=False,  # what is replaced stays in the archive or in git history
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _result(answer: Answer) -> types.CallToolResult:
    text, structured = _as_json(answer)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=structured
    )


def _error(error: CofferError) -> types.CallToolResult:
    told = {"code": error.code, "message": error.message, "details": dict(error.details)}
    _, structured = _as_json({"error": told})
    text = single_line(f"{error.code}: {structured['error']['message']}")
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=structured, is_error=True
    )


def _as_json(answer: Answer) -> tuple[str, Answer]:
    """Return the answer as text for a model and as what that text says.

    A path may hold bytes that are no text; they mustn't keep the answer from the agent.
    """
    data = json.dumps(answer, ensure_ascii=False, default=str).encode("utf-8", "replace")
    text = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode())
    return text, json.loads(data)
