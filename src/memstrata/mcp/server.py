"""The protocol's side: tools and resources behind the handlers of the SDK's low-level server.

That one hands over arguments as they came, so that hostile ones meet our checks and our words, and no schema library's.
A failed tool answers with a text and `is_error`, from which the model can go on; a failed resource is a protocol error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from memstrata.client import Forbidden, MemstrataClientError, Unauthorized
from memstrata.client._tool_calls import Unusable, error_text
from memstrata.mcp.calls import Caller, ToolCalls
from memstrata.mcp.resources import MIME_TYPE, listed, read, templates
from memstrata.mcp.tools import LOOKUPS, tools
from memstrata.mcp.words import McpWords

__all__ = ["CallerOf", "Context", "mcp_server"]

Context: TypeAlias = ServerRequestContext[Any, Any]
CallerOf: TypeAlias = Callable[[Context], Caller]

_log = logging.getLogger(__name__)


def mcp_server(
    caller_of: CallerOf, words: McpWords, version: str, *, now: Callable[[], float] = time.monotonic
) -> Server[Any]:
    """Return a server that asks `caller_of` for each request whose memory it is about."""
    calls = ToolCalls(words, now)

    async def list_tools(context: Context, _: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        looks_up_only = caller_of(context).grant is not None
        return types.ListToolsResult(tools=[one for one in tools(words) if not looks_up_only or one.name in LOOKUPS])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return _answer(await calls.call(caller_of(context), params.name, params.arguments or {}))
        except Unusable as error:
            return _answer(str(error), failed=True)
        except MemstrataClientError as error:
            return _answer(_reported(error, words), failed=True)

    async def list_resources(context: Context, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        caller = caller_of(context)
        try:
            return types.ListResourcesResult(resources=[] if caller.grant else await listed(caller.client, words))
        except MemstrataClientError as error:
            raise MCPError(types.INTERNAL_ERROR, _reported(error, words)) from error

    async def list_templates(
        context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[] if caller_of(context).grant else templates(words)
        )

    async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri, caller = str(params.uri), caller_of(context)
        try:
            text = None if caller.grant else await read(caller.client, uri, words)
        except MemstrataClientError as error:
            raise MCPError(types.INTERNAL_ERROR, _reported(error, words)) from error
        if text is None:
            raise MCPError(types.INVALID_PARAMS, words.no_such_resource)
        content = types.TextResourceContents(uri=uri, text=text, mime_type=MIME_TYPE)
        return types.ReadResourceResult(contents=[content])

    return Server(
        "memstrata",
        version=version,
        instructions=words.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _answer(text: str, *, failed: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)


def _reported(error: MemstrataClientError, words: McpWords) -> str:
    """Say an error in words for a model. The log gets its kind; what was asked stays out of it."""
    _log.warning("a call of an MCP client failed: %s (code %d)", type(error).__name__, error.code)
    if isinstance(error, Forbidden | Unauthorized):
        return words.denied
    return error_text(error, words.shared)
