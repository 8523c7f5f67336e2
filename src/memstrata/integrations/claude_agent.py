"""Memory for the Claude Agent SDK: options with hooks and tools for a client that keeps its own transcript.

    memory = ClaudeMemory(client)
    async with ClaudeSDKClient(await memory.options(ClaudeAgentOptions(model="..."))) as claude:
        await claude.query("where do I live?")

What a hook adds to a prompt enters the transcript, so what a user said is taken from the hook's input, never from there.
Sub-agents have hooks of their own, which are left alone. Persona and scenes go into the system prompt, once for each client.
Source: `reference/hub-sdk-plugins.md` §E.8.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, SdkMcpTool, create_sdk_mcp_server

from memstrata.client import Recalled, TurnIds
from memstrata.integrations.lone_turn import Spoken, asked, said
from memstrata.integrations.run_memory import AgentMemory, RunMemory

__all__ = ["ClaudeMemory"]

_log = logging.getLogger(__name__)

SERVER = "memstrata"


class ClaudeMemory(AgentMemory):
    """Memory for any number of clients of the SDK. Each needs options of its own."""

    async def options(
        self, options: ClaudeAgentOptions | None = None, *, ids: TurnIds | None = None, tools: bool = True
    ) -> ClaudeAgentOptions:
        """Return a copy of the options with memory, for one client.

        Without a session in `ids`, the client's own session is the one that turns go to. `tools` adds an MCP server and
        allows its three tools. Raises ValueError where `mcp_servers` is a file, to which no server can be added.
        """
        options = options or ClaudeAgentOptions()
        ids = ids or TurnIds()
        conversation = _Conversation(self, ids)
        hooks = {event: list(matchers) for event, matchers in (options.hooks or {}).items()}
        hooks.setdefault("UserPromptSubmit", []).append(HookMatcher(hooks=[conversation.prompted]))
        hooks.setdefault("Stop", []).append(HookMatcher(hooks=[conversation.stopped]))
        stable = await self.open(replace(ids, nested=True)).carried("", [], _stable)
        options = replace(options, hooks=hooks, system_prompt=_with_block(options.system_prompt, stable))
        return self._with_tools(options, conversation) if tools else options

    def _with_tools(self, options: ClaudeAgentOptions, conversation: _Conversation) -> ClaudeAgentOptions:
        if not isinstance(options.mcp_servers, dict):
            raise ValueError("mcp_servers is a file: pass tools=False, or servers as a dictionary")
        tools: list[SdkMcpTool[Any]] = [
            SdkMcpTool(one.name, one.description, dict(one.parameters), partial(conversation.called, one.name))
            for one in self.specs
        ]
        server = create_sdk_mcp_server(SERVER, tools=tools)
        return replace(
            options,
            mcp_servers={**options.mcp_servers, SERVER: server},
            allowed_tools=[*options.allowed_tools, *(f"mcp__{SERVER}__{one.name}" for one in self.specs)],
        )


class _Conversation:
    """The turn that one client is in. A client has one at a time."""

    def __init__(self, memory: AgentMemory, ids: TurnIds) -> None:
        self._memory = memory
        self._ids = ids
        self._run: RunMemory | None = None
        self._said: Sequence[Spoken] = ()

    async def prompted(self, given: Any, _: str | None, __: Any) -> dict[str, Any]:
        """Open a turn with what the user wrote, and return what memory adds to it."""
        prompt, session = given.get("prompt"), given.get("session_id")
        if not isinstance(prompt, str) or given.get("agent_id"):
            return {}
        if not self._ids.session and not isinstance(session, str):
            _log.warning("a prompt names no session; it goes without memory")
            return {}
        prompt_id = given.get("prompt_id")
        self._said = asked(said("user", prompt, prompt_id if isinstance(prompt_id, str) else None))
        self._run = self._memory.open(replace(self._ids, session=self._ids.session or session))
        block = await self._run.carried("", self._said, _dynamic)
        added = {"hookEventName": "UserPromptSubmit", "additionalContext": block}
        return {"hookSpecificOutput": added} if block else {}

    async def stopped(self, given: Any, _: str | None, __: Any) -> dict[str, Any]:
        """Hand over the turn. A stop that follows another one of the same turn finds none."""
        run, turn = self._run, self._said
        reply = given.get("last_assistant_message")
        if run is None or given.get("agent_id"):
            return {}
        self._run = None
        if isinstance(reply, str) and reply:
            turn = [*turn, said("assistant", reply)]
        await run.ended(lambda: turn)
        return {}

    async def called(self, name: str, arguments: Any) -> dict[str, Any]:
        """Run a memory tool within the turn's budget."""
        text = await (self._run or self._memory).call_tool(name, arguments)
        return {"content": [{"type": "text", "text": text}]}


def _stable(_: str, recalled: Recalled) -> str:
    return recalled.append_system_context


def _dynamic(_: str, recalled: Recalled) -> str:
    return recalled.prepend_context


def _with_block(prompt: Any, block: str) -> Any:
    """Return a system prompt with a block at its end, in the form that it has."""
    if not block:
        return prompt
    if prompt is None or isinstance(prompt, str):
        return "\n\n".join(part for part in (prompt, block) if part)
    key = {"preset": "append", "custom": "prompt"}.get(prompt.get("type"))
    if key is None:
        _log.warning("a system prompt from a file stays without persona and scenes")
        return prompt
    return {**prompt, key: _with_block(prompt.get(key), block)}
