"""The Claude Agent SDK with memory: on Tuesday it knows what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[claude-agent-sdk]" && python examples/claude_agent_agent.py
The program that the SDK drives is a script here, so neither Claude Code nor a key is needed. With the real one, leave
`transport` out.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, TextBlock, Transport

from memstrata.client import AsyncMemoryClient
from memstrata.integrations.claude_agent import ClaudeMemory


class ScriptedProgram(Transport):
    """Knows what a prompt and its hooks say, and nothing else."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._hooks: dict[str, str] = {}
        self._prompt = ""
        self._outgoing: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None:
        pass

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_request":
            hooks = message["request"].get("hooks") or {}
            self._hooks = {event: matchers[0]["hookCallbackIds"][0] for event, matchers in hooks.items()}
            done = {"subtype": "success", "request_id": message["request_id"], "response": {}}
            self._outgoing.put_nowait({"type": "control_response", "response": done})
        elif message["type"] == "user":
            self._prompt = message["message"]["content"]
            self._fire("UserPromptSubmit", prompt=self._prompt)
        elif message["response"]["request_id"] == "UserPromptSubmit":
            self._answer(str(message["response"]["response"]))
        else:
            result = {"subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1}
            self._outgoing.put_nowait({"type": "result", "session_id": self._session, **result})

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._outgoing.get()) is not None:
            yield message

    async def close(self) -> None:
        self._outgoing.put_nowait(None)

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        pass

    def _answer(self, added: str) -> None:
        if "Remember" in self._prompt:
            answer = "I will."
        else:
            answer = "No: you are allergic to walnuts." if "allergic to walnuts" in added else "I do not know."
        spoken = {"role": "assistant", "model": "scripted", "content": [{"type": "text", "text": answer}]}
        self._outgoing.put_nowait({"type": "assistant", "message": spoken, "parent_tool_use_id": None})
        self._fire("Stop", last_assistant_message=answer)

    def _fire(self, event: str, **fields: str) -> None:
        given = {"hook_event_name": event, "session_id": self._session, **fields}
        request = {"subtype": "hook_callback", "callback_id": self._hooks[event], "input": given}
        self._outgoing.put_nowait({"type": "control_request", "request_id": event, "request": request})


async def main() -> None:
    client = AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    )
    memory = ClaudeMemory(client)
    async with client:
        for session, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            options = await memory.options(ClaudeAgentOptions())
            async with ClaudeSDKClient(options, transport=ScriptedProgram(session)) as claude:
                await claude.query(words)
                async for message in claude.receive_response():
                    if isinstance(message, AssistantMessage) and isinstance(message.content[0], TextBlock):
                        print(f"{session}: {words}\n  → {message.content[0].text}")
            await memory.drain()
            await client.flush(session=session)  # what happens by itself after a while, now
        await memory.aclose()


asyncio.run(main())
