"""The Claude Agent SDK: a client for each message, over a program of ours that keeps the session's transcript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    tool,
)

from memstrata.client import SqliteWatermarkStore, TurnIds
from memstrata.integrations.claude_agent import ClaudeMemory

from .answers import Answers
from .bench import Bench
from .claude_cli import ScriptedCli, transcript_text
from .driver import MONDAY, Answer, Thread, look_up

__all__ = ["ClaudeDriver"]


@tool("look_up", "Return the weather of a city.", {"city": str})
async def _look_up(given: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": look_up(given["city"])}]}


class ClaudeDriver:
    lacks: ClassVar[Mapping[str, str]] = {
        "interrupts": "a run waits for an approval inside its process; one that ended there goes on with a new prompt",
        "message ids": "the program names prompts itself, so that the same words are another prompt",
        "one recall": "the system prompt is set with the options, before there is a question to ask memory with",
        "clean requests": "what a hook adds to a prompt is sent again with every later request of the session",
    }

    def __init__(self, bench: Bench) -> None:
        self.answers = Answers()
        self._bench = bench
        self._open()

    @property
    def requests(self) -> list[str]:
        return self.answers.requests

    async def say(self, words: str, *answers: Answer, thread: Thread = MONDAY, message_id: str | None = None) -> str:
        options = await self.options(thread)
        cli = ScriptedCli(options, self._bench.folder / f"{thread.session}.jsonl", self.answers)
        last = ""
        with self.answers.given(words, answers):
            async with ClaudeSDKClient(options, transport=cli) as claude:
                await claude.query(words)
                async for message in claude.receive_response():
                    if isinstance(message, AssistantMessage):
                        last = "".join(block.text for block in message.content if isinstance(block, TextBlock))
                    if isinstance(message, ResultMessage) and message.is_error:
                        raise RuntimeError(message.result)
        return last

    async def options(self, thread: Thread = MONDAY) -> ClaudeAgentOptions:
        server = create_sdk_mcp_server("mine", tools=[_look_up])
        own = ClaudeAgentOptions(
            system_prompt="Be kind.", mcp_servers={"mine": server}, allowed_tools=["mcp__mine__look_up"]
        )
        return await self.memory.options(own, ids=TurnIds(user=thread.user))

    async def resume(self, *answers: Answer, thread: Thread = MONDAY) -> str:
        raise NotImplementedError(self.lacks["interrupts"])

    async def history(self, thread: Thread = MONDAY) -> str:
        """Return what was said. Beside it stands what hooks added, by the program's own doing."""
        return self.transcript(thread, "user", "assistant")

    async def restart(self) -> None:
        self._open()

    async def drain(self) -> int:
        return await self.memory.drain()

    async def aclose(self) -> None:
        await self.memory.aclose()

    def transcript(self, thread: Thread = MONDAY, *roles: str) -> str:
        """Return the texts of a session's transcript."""
        file = self._bench.folder / f"{thread.session}.jsonl"
        return transcript_text(file, *roles) if file.exists() else ""

    def _open(self) -> None:
        self.memory = ClaudeMemory(self._bench.client(), store=SqliteWatermarkStore(self._bench.folder / "turns.db"))
