"""The six tools as MCP clients see them: names, schemas, and which of them change something. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from memstrata.client._tool_calls import MAX_HITS
from memstrata.mcp.words import McpWords

__all__ = ["LOOKUPS", "MAX_IDS", "MAX_STATEMENT", "tools"]

LOOKUPS = ("memory_search", "conversation_search", "read_scene")
"""What a session's token opens."""

MAX_STATEMENT = 2_000
MAX_IDS = 50

_READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ADDS = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_DELETES = types.ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)


def tools(words: McpWords) -> list[types.Tool]:
    """Return the tools in one language."""
    shared = words.shared
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_HITS, "description": shared.limit}
    ids = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MAX_IDS}
    return [
        _tool("memory_search", words.memory_search, {"query": _text(shared.query), "limit": limit}, ["query"], _READS),
        _tool(
            "conversation_search",
            words.conversation_search,
            {"query": _text(shared.message_query), "limit": limit},
            ["query"],
            _READS,
        ),
        _tool("read_scene", words.read_scene, {"path": _text(shared.path)}, ["path"], _READS),
        _tool("recall", words.recall, {"query": _text(words.recall_query)}, ["query"], _READS),
        _tool("remember", words.remember, {"text": _text(words.remember_text)}, ["text"], _ADDS),
        _tool(
            "forget",
            words.forget,
            {
                "query": _text(words.forget_query),
                "memory_ids": {**ids, "description": words.forget_memory_ids},
                "session_ids": {**ids, "description": words.forget_session_ids},
                "token": _text(words.forget_confirmed),
            },
            [],
            _DELETES,
        ),
    ]


def _tool(
    name: str, description: str, properties: Mapping[str, Any], required: list[str], annotations: types.ToolAnnotations
) -> types.Tool:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }
    return types.Tool(name=name, description=description, input_schema=schema, annotations=annotations)


def _text(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}
