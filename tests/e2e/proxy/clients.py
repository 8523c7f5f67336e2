"""How each client writes its requests: shapes recorded as facts in `reference/proxy.md` §3.1, §4.5, §8.2 and Appendix A.

A `Shape` writes messages, a `Talk` is one conversation that keeps its history and sends all of it with every request, as the
clients do. What the runtime of a client puts around a person's words is in the shape, so that a turn that is not clean shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memstrata.proxy.wire.request import Reply as Answer
from memstrata.proxy.wire.request import ToolCall, WireName
from memstrata.proxy.wire.wires import WIRES

from .world import Proxies, Reply

__all__ = ["SHAPES", "Message", "Shape", "Talk", "bare", "messages_of", "without_marks"]

Message = dict[str, Any]
REMINDER = "<system-reminder>\nThe todo list is empty. Do not mention this.\n</system-reminder>"
OURS = 'source="memstrata"'


@dataclass(frozen=True)
class Shape:
    """`around` is what the client makes of a person's words: a text, or texts of several blocks. `first` goes before them."""

    name: str
    wire: WireName
    path: str
    session_header: str
    question_tool: str = ""
    around: Callable[[str], str | list[str]] = lambda text: text
    first: tuple[Message, ...] = ()
    system: Any = None
    tools: tuple[str, ...] = ("Bash", "Read")
    more: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    marks: bool = False

    def body(self, messages: Sequence[Message], *, stream: bool = True, asks: bool = True) -> dict[str, Any]:
        """Return a request of the conversation."""
        names = (*self.tools, self.question_tool) if self.question_tool and asks else self.tools
        listed = [*self.first, *messages]
        tools: list[Any]
        own: dict[str, Any]
        match self.wire:
            case "anthropic":
                tools = [{"name": one, "input_schema": {"type": "object"}} for one in names]
                own = {"max_tokens": 32_000, "system": self.system, "messages": listed}
            case "chat":
                tools = [{"type": "function", "function": {"name": one, "parameters": {}}} for one in names]
                own = {"messages": [{"role": "system", "content": self.system}, *listed]}
            case "responses":
                tools = [{"type": "function", "name": one, "parameters": {}, "strict": False} for one in names]
                own = {"instructions": self.system, "input": listed, "store": False, "include": []}
        body = {"model": "model-1", **own, "tools": tools, "stream": stream, **self.more}
        return _marked(body) if self.marks else body

    def asked(self, text: str) -> Message:
        """Return a person's message."""
        around = self.around(text)
        if self.wire == "responses":
            texts = [around] if isinstance(around, str) else around
            return {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": one} for one in texts],
            }
        if isinstance(around, list):
            return {"role": "user", "content": [{"type": "text", "text": one} for one in around]}
        return {"role": "user", "content": around}

    def answered(self, text: str, calls: Sequence[ToolCall] = (), *, thinking: bool = False) -> list[Message]:
        """Return the model's answer as the client sends it back."""
        match self.wire:
            case "anthropic":
                blocks: list[Message] = []
                if thinking:
                    blocks.append({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk" * 12})
                if text:
                    blocks.append({"type": "text", "text": text})
                for call in calls:
                    read = json.loads(call.arguments or "{}")
                    blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": read})
                return [{"role": "assistant", "content": blocks}]
            case "chat":
                message: Message = {"role": "assistant", "content": text or None}
                if self.name == "dsh":
                    message["reasoning_content"] = "hm"
                if calls:
                    message["tool_calls"] = [
                        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                        for one in calls
                    ]
                return [message]
            case "responses":
                items: list[Message] = []
                if thinking:
                    items.append({"type": "reasoning", "summary": [], "encrypted_content": "Z0FB" * 20})
                if text:
                    part = {"type": "output_text", "text": text}
                    items.append({"type": "message", "role": "assistant", "content": [part]})
                items += [
                    {"type": "function_call", "call_id": one.id, "name": one.name, "arguments": one.arguments}
                    for one in calls
                ]
                return items

    def result(self, call_id: str, text: str) -> Message:
        """Return what a tool gave."""
        match self.wire:
            case "anthropic":
                block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
                return {"role": "user", "content": [block, {"type": "text", "text": REMINDER}]}
            case "chat":
                return {"role": "tool", "tool_call_id": call_id, "content": text}
            case "responses":
                return {"type": "function_call_output", "call_id": call_id, "output": text}


@dataclass
class Talk:
    """One conversation of a client through proxies."""

    shape: Shape
    session: str = "session-1"
    credentials: Mapping[str, str] = field(default_factory=lambda: {"authorization": "Bearer sk-of-the-provider"})
    asks: bool = True
    messages: list[Message] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    last: Answer | None = None

    def ask(self, text: str) -> None:
        self.messages.append(self.shape.asked(text))

    async def send(self, proxies: Proxies, *, stream: bool = True, **headers: str) -> Reply:
        """Send the conversation as it stands, and take what comes back into the history."""
        reply = await self.send_once(proxies, self.messages, stream=stream, **headers)
        if reply.status == 200:
            reader = WIRES[self.shape.wire].replies()
            if reply.headers["content-type"].startswith("text/event-stream"):
                reader.feed(reply.body)
            else:
                reader.whole(reply.body)
            self.last = reader.reply()
            assert self.last is not None
            assert self.last.complete
            thinking = self.last.thinking
            self.messages += self.shape.answered(self.last.text, self.last.tool_calls, thinking=thinking)
        return reply

    async def send_once(
        self, proxies: Proxies, messages: Sequence[Message], *, stream: bool = True, **headers: str
    ) -> Reply:
        """Send messages and leave the history as it is."""
        body = json.dumps(self.shape.body(messages, stream=stream, asks=self.asks), ensure_ascii=False).encode()
        self.bodies.append(body)
        return await proxies.post(self.shape.path, body, self.named(**headers))

    def named(self, **headers: str) -> dict[str, str]:
        own = {self.shape.session_header: self.session} if self.shape.session_header else {}
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        return {"content-type": "application/json", **own, **self.shape.headers, **self.credentials, **more}

    def run_tools(self, text: str = "ok") -> None:
        """Give every call of the last answer its result."""
        assert self.last is not None
        assert self.last.tool_calls
        self.messages += [self.shape.result(call.id, text) for call in self.last.tool_calls]


def messages_of(body: bytes) -> list[Message]:
    """Return the messages or items of a request."""
    read = json.loads(body)
    found: list[Message] = read["messages"] if "messages" in read else read["input"]
    return found


def without_marks(value: Any) -> Any:
    """Return a value without cache marks, which a client moves as it likes."""
    if isinstance(value, dict):
        return {name: without_marks(one) for name, one in value.items() if name != "cache_control"}
    return [without_marks(one) for one in value] if isinstance(value, list) else value


def bare(value: Any) -> Any:
    """Return a request's body without what is ours, a string for a list that has only one plain text left."""
    if isinstance(value, list):
        left = [bare(one) for one in value if not _is_ours(one)]
        if len(left) == 1 and isinstance(left[0], dict) and left[0].keys() == {"type", "text"}:
            return left[0]["text"]
        return left
    return {name: bare(one) for name, one in value.items()} if isinstance(value, dict) else value


def _is_ours(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    content = value.get("text", value.get("content"))
    if isinstance(content, list):
        return bool(content) and all(_is_ours(one) for one in content)
    return isinstance(content, str) and OURS in content


def _marked(body: dict[str, Any]) -> dict[str, Any]:
    """Put the marks where Claude Code has them: on its last system block and on the newest message."""
    read: dict[str, Any] = json.loads(json.dumps(body))
    mark = {"type": "ephemeral"}
    read["system"][-1]["cache_control"] = mark
    last = read["messages"][-1]
    if isinstance(last["content"], str):
        last["content"] = [{"type": "text", "text": last["content"]}]
    last["content"][-1]["cache_control"] = mark
    return read


CLAUDE_CODE = Shape(
    "claude-code",
    "anthropic",
    "/claude-code/default/v1/messages?beta=true",
    "x-claude-code-session-id",
    "AskUserQuestion",
    around=lambda text: [REMINDER, text],
    system=[
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.273"},
        {"type": "text", "text": "You are an agent that works on software."},
        {"type": "text", "text": "# Tone\nBe brief."},
    ],
    more={"thinking": {"type": "adaptive"}, "metadata": {"user_id": '{"device_id":"d","session_id":"other"}'}},
    headers={"anthropic-version": "2023-06-01", "anthropic-beta": "claude-code-20250219"},
    marks=True,
)
_CODEX_FIRST = (
    {
        "type": "message",
        "role": "developer",
        "content": [
            {"type": "input_text", "text": "<permissions instructions>\nread only\n</permissions instructions>"}
        ],
    },
    {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_text",
                "text": "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nuse tabs\n</INSTRUCTIONS>",
            },
            {"type": "input_text", "text": "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"},
        ],
    },
)
CODEX = Shape(
    "codex",
    "responses",
    "/codex/default/v1/responses",
    "session-id",
    "request_user_input",
    first=_CODEX_FIRST,
    system="You are a coding agent.",
    tools=("shell", "apply_patch"),
    more={"prompt_cache_key": "session-1", "reasoning": {"effort": "medium"}, "parallel_tool_calls": False},
    headers={"originator": "codex_cli_rs"},
)


def _buddy(text: str) -> str:
    return (
        "<user_info>\nOS: linux\n</user_info>\n<additional_data>\nopen: a.py\n</additional_data>\n"
        f"<user_query>\n{text}\n</user_query>"
    )


CODEBUDDY = Shape(
    "codebuddy",
    "chat",
    "/codebuddy/default/v1/chat/completions",
    "x-conversation-id",
    "ask_followup_question",
    around=_buddy,
    system="You pair with a developer.",
    tools=tuple(f"tool_{at}" for at in range(26)),
    more={"stream_options": {"include_usage": True}},
)
WORKBUDDY = Shape(
    "workbuddy",
    "chat",
    "/workbuddy/default/v1/chat/completions",
    "x-conversation-id",
    "AskUserQuestion",
    around=lambda text: f"<system_reminder>\nToday is Monday.\n</system_reminder>\n{text}",
    system="You help in an office.",
)
WORKBUDDY_RESPONSES = Shape(
    "workbuddy-responses",
    "responses",
    "/workbuddy/default/responses",
    "",
    "request_user_input",
    first=_CODEX_FIRST,
    system="You help in an office.",
    more={"client_metadata": {"session_id": "session-1", "thread_source": "user"}},
)
DSH = Shape(
    "dsh",
    "chat",
    "/dsh/default/chat/completions",
    "x-deepseek-harness-session-id",
    "ask_user_question",
    around=lambda text: f"{text}\n\n{REMINDER}",
    system="You are a harness.",
    more={"thinking": {"type": "enabled"}},
)
OPENCLAW = Shape(
    "openclaw", "chat", "/openclaw/default/v1/chat/completions", "x-conversation-id", system="You are a claw."
)
HERMES = Shape(
    "hermes", "chat", "/hermes/default/v1/chat/completions", "x-conversation-id", system="You carry messages."
)
CURSOR = Shape(
    "cursor",
    "chat",
    "/cursor/default/v1/chat/completions",
    "",
    around=lambda text: (
        f"<additional_data>\n<current_file>\na.py\n</current_file>\n</additional_data>\n\n<user_query>\n{text}\n</user_query>"
    ),
    system="You live in an editor.",
)

SHAPES = {
    one.name: one
    for one in (CLAUDE_CODE, CODEX, CODEBUDDY, WORKBUDDY, WORKBUDDY_RESPONSES, DSH, OPENCLAW, HERMES, CURSOR)
}
