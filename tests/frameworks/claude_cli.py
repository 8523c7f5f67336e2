"""The program that the Claude Agent SDK drives, as far as memory can tell: its JSON protocol, its hooks, its transcript.

It keeps what it must from the real one: what a hook adds to a prompt enters the transcript and is sent again with each later
request; a run that fails or is cut off has no `Stop`.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, Transport

from .answers import Answers
from .driver import FAIL, HANG, Call

__all__ = ["ScriptedCli", "system_prompt", "transcript_text"]


class ScriptedCli(Transport):
    """One process of it, for one session. `transcript` outlives it: the next one with the same file resumes the session."""

    def __init__(self, options: ClaudeAgentOptions, transcript: Path, answers: Answers) -> None:
        self._options = options
        self._transcript = transcript
        self._answers = answers
        self._hooks: dict[str, list[str]] = {}
        self._outgoing: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._awaited: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._turns: set[asyncio.Task[None]] = set()
        self._greeted: set[str] = set()

    async def connect(self) -> None:
        self._transcript.touch()

    async def write(self, data: str) -> None:
        message = json.loads(data)
        match message["type"]:
            case "control_response":
                response = message["response"]
                self._awaited.pop(response["request_id"]).set_result(response)
            case "control_request":
                for event, matchers in (message["request"].get("hooks") or {}).items():
                    self._hooks[event] = [one for matcher in matchers for one in matcher["hookCallbackIds"]]
                response = {"subtype": "success", "request_id": message["request_id"], "response": {}}
                self._outgoing.put_nowait({"type": "control_response", "response": response})
            case "user":
                task = asyncio.create_task(self._turn(message["message"]["content"]))
                self._turns.add(task)
                task.add_done_callback(self._turns.discard)

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self._outgoing.get()) is not None:
            yield message

    async def close(self) -> None:
        for task in list(self._turns):
            task.cancel()
        await asyncio.gather(*self._turns, return_exceptions=True)
        self._outgoing.put_nowait(None)

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """A client that is interactive ends with `close`."""

    async def fire(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """Run the hooks of an event and return what they answer."""
        given = {"session_id": self._transcript.stem, "transcript_path": str(self._transcript), "cwd": ".", **fields}
        return [
            await self._ask(
                {"subtype": "hook_callback", "callback_id": one, "input": {"hook_event_name": event, **given}}
            )
            for one in self._hooks.get(event, [])
        ]

    async def _turn(self, prompt: str) -> None:
        try:
            failed = await self._answered(prompt)
        except Exception as error:  # noqa: BLE001 - what waits for a result must get one
            failed = repr(error)
        result = {"duration_ms": 1, "duration_api_ms": 1, "num_turns": 1, "session_id": self._transcript.stem}
        self._outgoing.put_nowait(
            {"type": "result", "subtype": "success", "is_error": bool(failed), "result": failed, **result}
        )

    async def _answered(self, prompt: str) -> str:
        added = await self.fire("UserPromptSubmit", prompt=prompt, prompt_id=uuid.uuid4().hex)
        self._keep("user", prompt)
        for answer in added:
            if "hookSpecificOutput" in answer:
                self._keep("attachment", answer["hookSpecificOutput"]["additionalContext"])
        while True:
            reply = self._answers.next(f"{system_prompt(self._options)}\n{transcript_text(self._transcript)}")
            if reply is FAIL:
                return "the provider refuses"
            if reply is HANG:
                await asyncio.Event().wait()
            if isinstance(reply, Call):
                self._keep("tool", await self._called(reply))
                continue
            self._keep("assistant", str(reply))
            spoken = {"role": "assistant", "model": "scripted", "content": [{"type": "text", "text": reply}]}
            self._outgoing.put_nowait({"type": "assistant", "message": spoken, "parent_tool_use_id": None})
            await self.fire("Stop", stop_hook_active=False, last_assistant_message=reply)
            return ""

    async def _called(self, call: Call) -> str:
        """Call a tool of a server in the SDK's process, if it is allowed."""
        name = next(name for name in self._options.allowed_tools if name.endswith(f"__{call.tool}"))
        server = name.split("__")[1]
        if server not in self._greeted:
            self._greeted.add(server)
            client = {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "cli", "version": "1"},
            }
            await self._rpc(server, {"id": 0, "method": "initialize", "params": client})
            await self._rpc(server, {"method": "notifications/initialized"})
        params = {"name": call.tool, "arguments": dict(call.arguments)}
        answer = await self._rpc(
            server, {"id": len(self._transcript.read_text()), "method": "tools/call", "params": params}
        )
        return str(answer["result"]["content"][0]["text"])

    async def _rpc(self, server: str, message: Mapping[str, object]) -> dict[str, Any]:
        request = {"subtype": "mcp_message", "server_name": server, "message": {"jsonrpc": "2.0", **message}}
        answer: dict[str, Any] = (await self._ask(request))["mcp_response"]
        return answer

    async def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        name = uuid.uuid4().hex
        self._awaited[name] = asyncio.get_running_loop().create_future()
        self._outgoing.put_nowait({"type": "control_request", "request_id": name, "request": request})
        response = await self._awaited[name]
        assert response["subtype"] == "success", response
        answer: dict[str, Any] = response["response"]
        return answer

    def _keep(self, role: str, text: str) -> None:
        with self._transcript.open("a") as file:
            file.write(json.dumps({"role": role, "text": text}, ensure_ascii=False) + "\n")


def transcript_text(transcript: Path, *roles: str) -> str:
    """Return the texts of a transcript in order, of all roles or of these."""
    lines = (json.loads(line) for line in transcript.read_text().splitlines())
    return "\n".join(line["text"] for line in lines if not roles or line["role"] in roles)


def system_prompt(options: ClaudeAgentOptions) -> str:
    """Return the system prompt, whichever form it has."""
    prompt: Any = options.system_prompt
    if isinstance(prompt, dict):
        prompt = prompt.get("append") or prompt.get("prompt")
    return str(prompt or "")
