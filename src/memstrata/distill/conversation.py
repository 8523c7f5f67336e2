"""A conversation with a model that works at a bench: what was said, what it cost, what was noted on the way."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from memstrata.distill.calls import CallSettings, provenance
from memstrata.distill.workbench import Workbench
from memstrata.llm.errors import CallFailed
from memstrata.llm.protocol import Chat, ChatMessage, ChatRequest, ModelRole, Usage
from memstrata.llm.tools import LoopLimits, run_tools
from memstrata.records import CustomPrompt, Layer, Provenance

__all__ = ["FINAL_WORD", "Conversation"]

FINAL_WORD: Final = "FINISHED"
"""Alone on a line of a reply: its calls complete the work, so no further call of the model is needed."""

_REPAIR_STEPS = 6


class Conversation:
    """What both upper layers do alike: say what there is to do, and once more what is still wrong."""

    def __init__(
        self,
        chat: Chat,
        role: ModelRole,
        layer: Layer,
        system: str,
        custom: CustomPrompt | None,
        settings: CallSettings,
        bench: Workbench,
    ) -> None:
        self._chat = chat
        self._layer = layer
        self._custom = custom
        self._settings = settings
        self._bench = bench
        self._request = ChatRequest(
            role, system, (), max_tokens=settings.max_tokens, timeout_seconds=settings.timeout_seconds
        )
        self._usage = Usage()
        self._model = ""
        self._notes: list[str] = []

    async def say(self, text: str) -> str:
        """Let the model work on what `text` says and return its last words. Raises CallFailed."""
        limits = LoopLimits(steps=_REPAIR_STEPS) if self._request.messages else LoopLimits()
        asked = replace(self._request, messages=(*self._request.messages, ChatMessage("user", text)))
        try:
            end = await run_tools(self._chat, asked, self._bench, limits, final_word=FINAL_WORD)
        except CallFailed as failure:
            self._usage += failure.usage
            raise
        self._request = replace(asked, messages=end.messages)
        self._usage += end.usage
        self._model = end.model
        if end.stop != "answered":
            self.note(f"ended by its limit of {end.stop}")
        return end.text

    def note(self, *notes: str) -> None:
        self._notes += notes

    def made(self) -> Provenance:
        """Return the record of all of it, with what the bench refused."""
        notes = (*self._bench.notes, *self._notes)
        return provenance(self._layer, self._settings, self._custom, self._model, self._usage, notes)
