"""Recall for an agent's run hooks: what the next request carries of memory, within 1.5 seconds, or nothing and why.

    recaller = AsyncRecaller(client)
    recalled = await recaller.recall(messages)                       # once, when a run starts
    request = [{"role": "system", "content": recalled.in_system(prompt)}, *recalled.in_messages(messages)]

What comes back goes into the request alone, never into the history: all model calls of the run use the same blocks, and
turn capture has nothing to take out again. It fails open. Source: `reference/hub-sdk-plugins.md` §E.4.
"""

from __future__ import annotations

import logging
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memstrata.client._async import AsyncMemoryClient
from memstrata.client._calls import Call, Calls
from memstrata.client._results import Recall
from memstrata.client._splitting import shortened
from memstrata.client._sync import MemoryClient
from memstrata.client.turn.cleaning import clean
from memstrata.client.turn.formats import Views, view_plain
from memstrata.client.turn.messages import MessageView
from memstrata.client.turn.recorder import TurnIds
from memstrata.client.turn.watermark import is_genuine_user

__all__ = ["AsyncRecaller", "Recalled", "Recaller"]

_log = logging.getLogger(__name__)

MAX_QUERY = 2_000  # characters; the server takes 2,048
LIMIT = 8
TIMEOUT_SECONDS = 1.5
MAX_SESSIONS = 10_000
_SERVER_SHARE = 0.85  # of the time; the rest is for the way there and back
_UNASKED = "-"  # the server wants a query, also where it looks nothing up
_STABLE = ("persona", "scenes")
_PLACEHOLDERS = re.compile(r"\[(?:image|audio|video|file|code)\]")


@dataclass(frozen=True, slots=True)
class Recalled:
    """What one request carries: memories for its newest user message, the rest for the end of its system prompt.

    `reason` says why it is less than all there is, empty if it is not. `found` is the answer behind it, if there was one.
    """

    prepend_context: str = ""
    append_system_context: str = ""
    reason: str = ""
    found: Recall | None = None

    def in_system(self, prompt: str = "") -> str:
        """Return a system prompt with the stable block at its end."""
        return "\n\n".join(part for part in (prompt, self.append_system_context) if part)

    def in_messages(self, messages: Sequence[Any], *, view: Views = view_plain) -> list[Any]:
        """Return the messages of a request with the memories in front of the newest user message, which is a copy.

        Messages are dictionaries, `(role, content)` or Pydantic models; a newest user message that is none of them stays.
        """
        injected = list(messages)
        if self.prepend_context:
            for at in range(len(injected) - 1, -1, -1):
                if any(is_genuine_user(seen) for seen in view([injected[at]])):
                    injected[at] = _prefixed(injected[at], self.prepend_context)
                    break
        return injected


class _Recalling:
    """What is asked for, and what becomes of the answer. No I/O."""

    def __init__(self, view: Views, limit: int, timeout: float, snapshot: bool) -> None:
        self._view = view
        self._limit = limit
        self._timeout = timeout
        self._snapshot = snapshot
        self._frozen: OrderedDict[tuple[str, ...], str] = OrderedDict()

    def _plan(self, scope: Calls, messages: Iterable[object]) -> tuple[str, Call[Recall] | None]:
        """Return what the user said, cut to what a query may be, and what to ask; None where nothing is wanted."""
        query = _query(self._view(messages))
        frozen = self._frozen.get(_session(scope))
        wanted = [*(("memories",) if query else ()), *(_STABLE if frozen is None else ())]
        budget = max(1, int(1_000 * self._timeout * _SERVER_SHARE))
        call = scope.recall(query or _UNASKED, self._limit, budget, None, wanted)
        return query, call if wanted else None

    def _taken(self, scope: Calls, query: str, found: Recall | None) -> Recalled:
        degraded = () if found is None else found.degraded
        stable = self._frozen.get(_session(scope))
        if stable is None:
            stable = "" if found is None else found.append_system_context
            if self._snapshot and scope.session and not any(part.startswith(_STABLE) for part in degraded):
                self._freeze(scope, stable)
        reasons = (*degraded, *(() if query else ("no user text to ask with",)))
        return Recalled("" if found is None else found.prepend_context, stable, "; ".join(reasons), found)

    def _freeze(self, scope: Calls, block: str) -> None:
        self._frozen[_session(scope)] = block
        if len(self._frozen) > MAX_SESSIONS:
            self._frozen.popitem(last=False)

    def _failed(self, scope: Calls | None, error: Exception) -> Recalled:
        _log.warning("recall failed: %s; the agent goes on without memory", type(error).__name__)
        frozen = None if scope is None else self._frozen.get(_session(scope))
        return Recalled(append_system_context=frozen or "", reason=f"recall failed: {type(error).__name__}")


class Recaller(_Recalling):
    """Recalls for any number of sessions through one client. It never raises into the agent."""

    def __init__(
        self,
        client: MemoryClient,
        *,
        view: Views = view_plain,
        limit: int = LIMIT,
        timeout: float = TIMEOUT_SECONDS,
        snapshot: bool = False,
    ) -> None:
        """`timeout` is in seconds and for all of it.

        With `snapshot`, the stable block of a session stays what it was at its first recall, so that a provider's prompt
        cache holds for as long as the session goes on.
        """
        super().__init__(view, limit, timeout, snapshot)
        self._client = client

    def recall(self, messages: Iterable[object], ids: TurnIds | None = None) -> Recalled:
        """Return what the request that answers these messages should carry."""
        scope = None
        try:
            scope = _scope(self._client._calls, ids)
            query, call = self._plan(scope, messages)
            if call is None:
                return self._taken(scope, query, None)
            found = self._client._send(call, self._timeout)
            return self._taken(scope, query, found)
        except Exception as error:  # noqa: BLE001 - never into the agent
            return self._failed(scope, error)


class AsyncRecaller(_Recalling):
    """`Recaller` with coroutines."""

    def __init__(
        self,
        client: AsyncMemoryClient,
        *,
        view: Views = view_plain,
        limit: int = LIMIT,
        timeout: float = TIMEOUT_SECONDS,
        snapshot: bool = False,
    ) -> None:
        """As `Recaller`."""
        super().__init__(view, limit, timeout, snapshot)
        self._client = client

    async def recall(self, messages: Iterable[object], ids: TurnIds | None = None) -> Recalled:
        """Return what the request that answers these messages should carry."""
        scope = None
        try:
            scope = _scope(self._client._calls, ids)
            query, call = self._plan(scope, messages)
            if call is None:
                return self._taken(scope, query, None)
            found = await self._client._send(call, self._timeout)
            return self._taken(scope, query, found)
        except Exception as error:  # noqa: BLE001 - never into the agent
            return self._failed(scope, error)


def _scope(calls: Calls, ids: TurnIds | None) -> Calls:
    ids = ids or TurnIds()
    return calls.narrowed(ids.team, ids.agent, ids.user, ids.session or ..., ids.task or ...)


def _session(scope: Calls) -> tuple[str, ...]:
    return scope.team, scope.agent, scope.user, scope.session or ""


def _query(messages: Sequence[MessageView]) -> str:
    """Return the newest text that a user really wrote, without what stands for media, cut to what a query may be."""
    newest = next((message for message in reversed(messages) if is_genuine_user(message)), None)
    said = "" if newest is None else _PLACEHOLDERS.sub(" ", clean("user", newest.text)).strip()
    return shortened(said, MAX_QUERY)


def _prefixed(message: Any, block: str) -> Any:
    if isinstance(message, tuple) and len(message) == 2:
        return message[0], _content(message[1], block)
    if isinstance(message, Mapping):
        return {**message, "content": _content(message.get("content"), block)}
    if hasattr(message, "model_copy"):
        return message.model_copy(update={"content": _content(message.content, block)})
    _log.warning("recall cannot write into a %s; the request goes without memories", type(message).__name__)
    return message


def _content(content: object, block: str) -> object:
    """Return a content with a block in front, in the shape that it has: a text, or a list of typed blocks."""
    if not isinstance(content, Sequence) or isinstance(content, str):
        return f"{block}\n\n{content or ''}"
    kinds = (part["type"] for part in content if isinstance(part, Mapping) and isinstance(part.get("text"), str))
    return [{"type": next(kinds, "text"), "text": block}, *content]
