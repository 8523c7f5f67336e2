"""Answers in Anthropic Messages.

A text with citations comes as several blocks in a row that are one sentence; such blocks are joined without a gap. Only
`tool_use` is the client's to run; `server_tool_use` and `mcp_tool_use` are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from memstrata.proxy.wire.replies.loose import at, count, items, text
from memstrata.proxy.wire.replies.reader import Reader, joined
from memstrata.proxy.wire.request import Reply, ToolCall, Usage

__all__ = ["AnthropicReader"]


@dataclass(slots=True)
class _Block:
    kind: str
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)
    cited: bool = False


class AnthropicReader(Reader):
    """Reads one answer. The end is `message_stop`, or the JSON with a stop reason."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, _Block] = {}

    def reply(self) -> Reply:
        calls = (block for _, block in sorted(self._blocks.items()) if block.kind == "tool_use")
        return Reply(
            text=joined(self._texts()),
            stop=self._stop,
            tool_calls=tuple(ToolCall(call.id, call.name, "".join(call.parts) or "{}") for call in calls),
            usage=self._usage,
            complete=self._complete,
            message_id=self._ident,
            thinking=self._thinking,
        )

    def _event(self, event: Mapping[str, object]) -> None:
        match event.get("type"):
            case "message_start":
                self._ident = text(event, "message", "id")
                self._take_usage(at(event, "message", "usage"))
            case "content_block_start":
                self._open(count(event, "index"), event.get("content_block"))
            case "content_block_delta":
                self._extend(count(event, "index"), event.get("delta"))
            case "message_delta":
                self._stop = text(event, "delta", "stop_reason") or self._stop
                self._take_usage(event.get("usage"))
            case "message_stop":
                self._complete = True
            case "error":
                self._stop = "error"

    def _answer(self, answer: Mapping[str, object]) -> None:
        self._ident = text(answer, "id")
        self._stop = "error" if answer.get("type") == "error" else text(answer, "stop_reason")
        self._complete = answer.get("type") == "message" and bool(self._stop)
        self._take_usage(answer.get("usage"))
        for index, block in enumerate(items(answer, "content")):
            self._open(index, block)

    def _open(self, index: int, value: object) -> None:
        block = _Block(text(value, "type"), text(value, "id"), text(value, "name"))
        if block.kind == "text":
            block.parts.append(text(value, "text"))
            block.cited = any(True for _ in items(value, "citations"))
        elif block.kind == "tool_use" and (given := at(value, "input")):
            block.parts.append(msgspec.json.encode(given).decode())
        self._thinking = self._thinking or block.kind in ("thinking", "redacted_thinking")
        self._blocks[index] = block

    def _extend(self, index: int, delta: object) -> None:
        block = self._blocks.get(index)
        if block is None:
            self.faults += 1
        elif at(delta, "type") == "text_delta":
            block.parts.append(text(delta, "text"))
        elif at(delta, "type") == "input_json_delta":
            block.parts.append(text(delta, "partial_json"))
        elif at(delta, "type") == "citations_delta":
            block.cited = True

    def _texts(self) -> Iterator[str]:
        """Yield the texts; those that follow each other and quote a source are parts of one."""
        running: list[str] = []
        cited = False
        last = -1
        for index, block in sorted(self._blocks.items()):
            if block.kind != "text":
                continue
            if running and not (index == last + 1 and (cited or block.cited)):
                yield "".join(running)
                running = []
            running += block.parts
            cited, last = block.cited, index
        yield "".join(running)

    def _take_usage(self, usage: object) -> None:
        """Take the counts that are there; those of the end replace those of the start."""
        old = self._usage
        if not isinstance(usage, dict):
            return
        self._usage = Usage(
            count(usage, "input_tokens") or old.input,
            count(usage, "output_tokens") or old.output,
            count(usage, "cache_read_input_tokens") or old.cache_read,
            count(usage, "cache_creation_input_tokens") or old.cache_write,
        )
