"""Answers in OpenAI Chat Completions, and what compatible servers do differently. Only the first choice counts.

The end is a finish reason, since some servers send no `[DONE]`. A refusal is what was said, and its stop is "refusal".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memstrata.proxy.wire.replies.loose import at, count, items, text
from memstrata.proxy.wire.replies.reader import Reader, joined
from memstrata.proxy.wire.request import Reply, ToolCall, Usage

__all__ = ["ChatReader"]


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    parts: list[str] = field(default_factory=list)


class ChatReader(Reader):
    """Reads one answer."""

    def __init__(self) -> None:
        super().__init__()
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._calls: dict[int, _Call] = {}

    def reply(self) -> Reply:
        refusal = "".join(self._refusal)
        return Reply(
            text=joined(("".join(self._text), refusal)),
            stop="refusal" if refusal and self._stop == "stop" else self._stop,
            tool_calls=tuple(
                ToolCall(call.id, call.name, "".join(call.parts) or "{}") for _, call in sorted(self._calls.items())
            ),
            usage=self._usage,
            complete=self._complete,
            message_id=self._ident,
            thinking=self._thinking,
        )

    def _event(self, event: Mapping[str, object]) -> None:
        self._take(event, "delta")

    def _answer(self, answer: Mapping[str, object]) -> None:
        self._take(answer, "message")

    def _take(self, event: Mapping[str, object], said_in: str) -> None:
        if event.get("error"):
            self._stop = "error"
            return
        self._ident = self._ident or text(event, "id")
        self._take_usage(event.get("usage"))
        for choice in items(event, "choices"):
            if count(choice, "index") == 0:
                self._take_said(at(choice, said_in))
                if finish := text(choice, "finish_reason"):
                    self._stop, self._complete = finish, True

    def _take_said(self, said: object) -> None:
        content = at(said, "content")
        self._text.append(text(said, "content") or "".join(text(part, "text") for part in items(content)))
        self._refusal.append(text(said, "refusal"))
        self._thinking = self._thinking or bool(text(said, "reasoning_content") or text(said, "reasoning"))
        for place, call in enumerate(items(said, "tool_calls")):
            self._take_call(count(call, "index") if isinstance(at(call, "index"), int) else place, call)
        if isinstance(legacy := at(said, "function_call"), dict):
            self._take_call(0, {"function": legacy})

    def _take_call(self, index: int, call: object) -> None:
        known = self._calls.setdefault(index, _Call())
        known.id = known.id or text(call, "id")
        kind = "custom" if isinstance(at(call, "custom"), dict) else "function"
        known.name = known.name or text(call, kind, "name")
        known.parts.append(text(call, kind, "arguments") or text(call, kind, "input"))

    def _take_usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        read = (
            count(usage, "prompt_tokens_details", "cached_tokens")
            or count(usage, "prompt_cache_hit_tokens")
            or count(usage, "cached_tokens")
        )
        written = count(usage, "prompt_tokens_details", "cache_write_tokens")
        asked = max(0, count(usage, "prompt_tokens") - read - written)
        self._usage = Usage(asked, count(usage, "completion_tokens"), read, written)
