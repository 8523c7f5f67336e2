"""Which answer belongs to a question: however many requests a turn takes, it is written once, with its final answer.

A step that ends with tools for the client to run, or before its end, is no answer yet; its text is kept for a turn that
never ends otherwise. The next question, or a long silence (`proxy.turn_idle_seconds`), end a turn with what there is. A turn
of which the provider accepted no request leaves nothing behind then. A refusal itself changes nothing: the next try of the
question may be under way already, and its answer needs the turn. Source: `reference/proxy.md` §8.6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memstrata.clock import Clock
from memstrata.proxy.wire.request import ProxyRequest, Reply
from memstrata.records.proxy import ProxySession
from memstrata.store.protocol import Store

__all__ = ["Step", "Turns", "step_of"]

_UNFINISHED = frozenset(
    {
        "pause_turn",  # the provider's own tools run on; the client sends this answer again to have it continued
        "tool_use",
        "tool_calls",
        "function_call",
        "max_tokens",
        "length",
        "max_output_tokens",
        "model_context_window_exceeded",
        "incomplete",
        "failed",
        "cancelled",
        "error",
    }
)


@dataclass(frozen=True, slots=True)
class Step:
    """What one answer adds to a turn: its text so far, and whether that is the final answer."""

    answer: str
    final: bool


def step_of(request: ProxyRequest, reply: Reply) -> Step:
    """Return what an answer adds. A refusal is final, like every stop that is not known to be something else.

    Where the request ends with an answer that is to be continued, the text begins with that.
    """
    answer = _continued(request, reply.text)
    return Step(answer, reply.complete and not reply.tool_calls and reply.stop not in _UNFINISHED)


class Turns:
    """Writes steps to the store. `ready` is called when a turn waits to be sent. Methods raise the store's errors."""

    def __init__(self, store: Store, clock: Clock, ready: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._ready = ready

    async def answered(self, session: ProxySession, turn: str, request: ProxyRequest, reply: Reply) -> bool:
        """Take an answer that the provider gave with a status of success, whole or as far as it came.

        Returns whether it ended the turn; a retry of a step that ended it before changes nothing.
        """
        step, now = step_of(request, reply), self._clock.now()
        if not step.final:
            await self._store.write(lambda r: r.proxy.turns.progress(session, turn, step.answer, now))
            return False
        ended = await self._store.write(lambda r: r.proxy.turns.close(session, turn, step.answer, now, complete=True))
        if ended:
            self._ready()
        return ended


def _continued(request: ProxyRequest, text: str) -> str:
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "assistant":
        return text
    before = "\n\n".join(block.text for block in last.blocks if block.kind == "text" and block.text)
    if not before or not text:
        return before + text
    goes_on = last.blocks[-1].kind == "text"  # the client began a sentence; else tools stand between
    return before + text if goes_on else f"{before}\n\n{text}"
