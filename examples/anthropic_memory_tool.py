"""Claude's memory tool on a Memstrata server: what is noted in one conversation is read in the next.

Run `memstrata serve`, then this. The model here is a script, so no key is needed; with the `anthropic` package,
`anthropic.beta.messages.create` takes its place and the rest stays.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memstrata.client import AsyncMemoryClient, AsyncMemoryTool

Input = dict[str, object]


@dataclass(frozen=True)
class ToolUse:
    """A block of a reply."""

    id: str
    input: Input
    name: str = "memory"
    type: str = "tool_use"


def scripted(*commands: Input) -> Iterator[ToolUse]:
    """Stand in for the model: one command after another."""
    return (ToolUse(f"toolu_{number}", command) for number, command in enumerate(commands))


async def conversation(tool: AsyncMemoryTool, model: Iterator[ToolUse]) -> list[dict[str, Any]]:
    """Answer each tool use, as a loop over the API would."""
    return [await tool.result(use) for use in model]


async def main(url: str) -> None:
    """Note something, and look it up."""
    async with AsyncMemoryClient(url, team="home", agent="helper", user="lin") as client:
        tool = AsyncMemoryTool(client)
        note: Input = {"command": "create", "path": "/memories/allergies.md", "file_text": "# 过敏\n花生\n"}
        look: Input = {"command": "view", "path": "/memories"}
        read: Input = {"command": "view", "path": "/memories/allergies.md"}
        for answer in await conversation(tool, scripted(look, note)) + await conversation(tool, scripted(look, read)):
            print(answer["content"])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["http://127.0.0.1:8420"]))
