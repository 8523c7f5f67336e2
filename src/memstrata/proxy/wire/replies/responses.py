"""Answers in OpenAI Responses. Items count as they are finished; the last event repeats them all and has the last word.

`stop` is the response's status, or for an incomplete one the reason why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memstrata.proxy.wire.replies.loose import at, count, items, text
from memstrata.proxy.wire.replies.reader import Reader, joined
from memstrata.proxy.wire.request import Reply, ToolCall, Usage

__all__ = ["CLIENT_CALLS", "ResponsesReader"]

CLIENT_CALLS = frozenset({
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "mcp_approval_request",
})  # fmt: skip
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})


class ResponsesReader(Reader):
    """Reads one answer."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, object] = {}
        self._running: dict[tuple[int, int], list[str]] = {}

    def reply(self) -> Reply:
        done = [item for _, item in sorted(self._items.items())]
        refused = any(text(part, "type") == "refusal" for item in done for part in items(item, "content"))
        calls = (item for item in done if text(item, "type") in CLIENT_CALLS)
        return Reply(
            text=joined(self._texts()),
            stop="refusal" if refused and self._stop == "completed" else self._stop,
            tool_calls=tuple(
                ToolCall(
                    text(call, "call_id") or text(call, "id"),
                    text(call, "name") or text(call, "type"),
                    text(call, "arguments") or text(call, "input") or "{}",
                )
                for call in calls
            ),
            usage=self._usage,
            complete=self._complete,
            message_id=self._ident,
            thinking=self._thinking,
        )

    def _event(self, event: Mapping[str, object]) -> None:
        kind = text(event, "type")
        place = count(event, "output_index")
        if kind == "response.created":
            self._ident = text(event, "response", "id")
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            self._running.setdefault((place, count(event, "content_index")), []).append(text(event, "delta"))
        elif kind == "response.output_item.added":
            self._note_thinking(event.get("item"))
        elif kind == "response.output_item.done":
            self._take_item(place, event.get("item"))
        elif kind in _ENDS:
            self._end(event.get("response"))
        elif kind == "error":
            self._stop = "error"

    def _answer(self, answer: Mapping[str, object]) -> None:
        if answer.get("error") and not answer.get("status"):
            self._stop = "error"
        else:
            self._end(answer)

    def _end(self, response: object) -> None:
        status = text(response, "status")
        self._ident = text(response, "id") or self._ident
        self._stop = text(response, "incomplete_details", "reason") or status
        self._complete = status not in ("", "queued", "in_progress")
        for index, item in enumerate(items(response, "output")):
            self._take_item(index, item)
        usage = at(response, "usage")
        read = count(usage, "input_tokens_details", "cached_tokens")
        written = count(usage, "input_tokens_details", "cache_write_tokens")
        asked = max(0, count(usage, "input_tokens") - read - written)
        self._usage = Usage(asked, count(usage, "output_tokens"), read, written)

    def _take_item(self, index: int, item: object) -> None:
        self._items[index] = item
        self._note_thinking(item)

    def _note_thinking(self, item: object) -> None:
        self._thinking = self._thinking or text(item, "type") == "reasoning"

    def _texts(self) -> Iterator[str]:
        """Yield the texts of finished messages, and of others what has come so far; in order."""
        for index in sorted({*self._items, *(place for place, _ in self._running)}):
            if index in self._items:
                parts = items(self._items[index], "content") if _is_message(self._items[index]) else ()
                yield from (text(part, "text") or text(part, "refusal") for part in parts)
            else:
                running = sorted((part, deltas) for (place, part), deltas in self._running.items() if place == index)
                yield from ("".join(deltas) for _, deltas in running)


def _is_message(item: object) -> bool:
    return text(item, "type") == "message"
