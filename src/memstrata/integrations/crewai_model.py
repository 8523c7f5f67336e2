"""A model for CrewAI that shows another one what memory recalls: `CrewMemory.llm` makes it.

It stands inside the model, not in a hook, because there the messages are those that an agent keeps. What a run recalls is
found by context, so that one model serves runs in several threads and tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from crewai.llms.base_llm import BaseLLM, call_stop_override
from pydantic import PrivateAttr

from memstrata.client import Recalled

__all__ = ["RecallingLLM", "showing"]

_log = logging.getLogger(__name__)

_recalled: ContextVar[Recalled | None] = ContextVar("memstrata_crewai_recalled", default=None)


@contextmanager
def showing(recalled: Recalled) -> Iterator[None]:
    """Show this to models that are asked within, also in threads and tasks that start there."""
    token = _recalled.set(recalled)
    try:
        yield
    finally:
        _recalled.reset(token)


class RecallingLLM(BaseLLM):
    """A model over another one. What it is asked is a copy; the agent keeps its messages as they were."""

    _inner: BaseLLM = PrivateAttr()

    @classmethod
    def over(cls, llm: BaseLLM) -> RecallingLLM:
        made = cls(model=llm.model, provider=llm.provider, temperature=llm.temperature, stop=list(llm.stop))
        made._inner = llm
        return made

    def call(self, messages: Any, *args: Any, **given: Any) -> Any:
        with call_stop_override(self._inner, self.stop_sequences):
            return self._inner.call(_shown(messages), *args, **given)

    async def acall(self, messages: Any, *args: Any, **given: Any) -> Any:
        with call_stop_override(self._inner, self.stop_sequences):
            return await self._inner.acall(_shown(messages), *args, **given)

    def supports_function_calling(self) -> bool:
        supports = getattr(self._inner, "supports_function_calling", None)
        return bool(supports and supports())

    def supports_stop_words(self) -> bool:
        return bool(self._inner.supports_stop_words())

    def supports_multimodal(self) -> bool:
        return bool(self._inner.supports_multimodal())

    def get_context_window_size(self) -> int:
        return int(self._inner.get_context_window_size())

    def get_token_usage_summary(self) -> Any:
        return self._inner.get_token_usage_summary()


def _shown(messages: Any) -> Any:
    """Return what the model is asked: with the block in front of the task, and the stable one behind the system prompt."""
    recalled = _recalled.get()
    if recalled is None or isinstance(messages, str):
        return messages
    try:
        return _with_block(list(messages), recalled)
    except Exception as error:  # noqa: BLE001 - never into the agent
        _log.warning("memory was left out of a request: %s", type(error).__name__)
        return messages


def _with_block(messages: list[Any], recalled: Recalled) -> list[Any]:
    roles = [message.get("role") for message in messages]
    if recalled.prepend_context and "user" in roles:
        at = roles.index("user")
        messages[at] = recalled.in_messages([messages[at]])[0]
    if recalled.append_system_context:
        if "system" in roles:
            at = roles.index("system")
            messages[at] = {**messages[at], "content": recalled.in_system(messages[at].get("content") or "")}
        else:
            messages.insert(0, {"role": "system", "content": recalled.append_system_context})
    return messages
