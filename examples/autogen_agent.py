"""An AutoGen agent that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[autogen]" && python examples/autogen_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)

from memstrata.client import AsyncMemoryClient, TurnIds
from memstrata.integrations.autogen import MemoryAgent


class ScriptedModel(ChatCompletionClient):
    """Knows what the request says, and nothing else."""

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        asked = str(messages[-1].content)
        if "Remember" in asked.splitlines()[-1]:
            answer = "I will."
        else:
            answer = "No: you are allergic to walnuts." if "allergic to walnuts" in asked else "I do not know."
        return CreateResult(finish_reason="stop", content=answer, usage=self.actual_usage(), cached=False)

    async def create_stream(self, messages: Sequence[LLMMessage], **_: Any) -> AsyncGenerator[CreateResult, None]:
        yield await self.create(messages)

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[LLMMessage], **_: Any) -> int:
        return 1_000_000

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=False,
            structured_output=False,
            family=ModelFamily.UNKNOWN,
        )


async def main() -> None:
    client = AsyncMemoryClient(
        os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
        team=os.environ.get("MEMSTRATA_TEAM", "examples"),
        agent="helper",
        user="maya",
    )
    async with client:
        for session, words in [
            ("monday", "Remember that I am allergic to walnuts."),
            ("tuesday", "May I eat walnut cake?"),
        ]:
            agent = MemoryAgent("helper", ScriptedModel(), memory_client=client, ids=TurnIds(session=session))
            result = await agent.run(task=words)
            print(f"{session}: {words}\n  → {result.messages[-1].to_text()}")
            await agent.close()
            await client.flush(session=session)  # what happens by itself after a while, now


asyncio.run(main())
