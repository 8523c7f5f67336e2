"""What each tool does, over a client of the HTTP API. Answers are texts of bounded length.

Arguments come from a model and what memory returns was written by others: the first are checked one by one, the second
is escaped and fenced by the words that say what it is. Source: DESIGN §5 (tools), §7 (MCP).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from memstrata.client import AsyncMemoryClient, Forbidden, NotFound
from memstrata.client._splitting import shortened
from memstrata.client._tool_calls import MAX_QUERY, Unusable, ask
from memstrata.client.turn.markers import escape
from memstrata.mcp.confirmation import Confirmations, Owner, Selection
from memstrata.mcp.session_grant import SessionGrant
from memstrata.mcp.tools import LOOKUPS, MAX_IDS, MAX_STATEMENT
from memstrata.mcp.words import McpWords

__all__ = ["MAX_CHARACTERS", "TIMEOUT_SECONDS", "Caller", "ToolCalls"]

MAX_CHARACTERS = 8_000  # of one answer; persona and notes of full length fit
TIMEOUT_SECONDS = 10.0

_SEARCHES = ("memory_search", "conversation_search")
_FOUND_TO_FORGET = 5
_STATEMENT = "remember-"
_SHOWN = 160
_MAX_ID = 512
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a client for their scope, and that scope by name. With a `grant` they may look up and nothing else."""

    client: AsyncMemoryClient
    owner: Owner
    grant: SessionGrant | None = None


class ToolCalls:
    """The tools of one server, for whoever calls. `now` is a monotonic clock in seconds."""

    def __init__(self, words: McpWords, now: Callable[[], float]) -> None:
        self._words = words
        self._now = now
        self._waiting = Confirmations()

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, object]) -> str:
        """Return the answer of a tool. Raises Unusable with a text for the model, or MemstrataClientError."""
        client = caller.client.with_timeout(TIMEOUT_SECONDS)
        if caller.grant is not None:
            if name not in LOOKUPS:
                raise Unusable(self._words.no_such_tool)
            if name in _SEARCHES and not await caller.grant.spend():
                raise Unusable(self._words.shared.spent.format(caller.grant.searches))
        if name in LOOKUPS:
            return await client._send(ask(name, arguments, client._calls, self._words.shared, MAX_CHARACTERS))
        match name:
            case "recall":
                return await self._recall(client, arguments)
            case "remember":
                return await self._remember(client, arguments)
            case "forget":
                return await self._forget(client, caller.owner, arguments)
            case _:
                raise Unusable(self._words.no_such_tool)

    async def _recall(self, client: AsyncMemoryClient, arguments: Mapping[str, object]) -> str:
        query = self._text(arguments, "query", self._words.shared.no_query)
        found = await client.recall(shortened(query, MAX_QUERY))
        blocks = [block for block in (found.prepend_context, found.append_system_context) if block.strip()]
        return shortened("\n\n".join(blocks), MAX_CHARACTERS, self._words.shared.cut) or self._words.shared.nothing

    async def _remember(self, client: AsyncMemoryClient, arguments: Mapping[str, object]) -> str:
        """Store a statement as what the user said, in a session of its own, marked as a wish to have it kept.

        The key is of the text: the same statement again stores nothing, unless no memory is left of the first time.
        """
        words = self._words
        text = unicodedata.normalize("NFC", self._text(arguments, "text", words.no_text))
        if len(text) > MAX_STATEMENT:
            raise Unusable(words.too_long.format(MAX_STATEMENT))
        key = _STATEMENT + hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
        said = [("user", _explicit(text))]
        receipt = await client.add(said, session=key, idempotency_key=key)
        if receipt.replayed and await _is_forgotten(client, key):
            receipt = await client.add(said, session=key)
        return words.remembered_before if receipt.replayed else words.remembered

    async def _forget(self, client: AsyncMemoryClient, owner: Owner, arguments: Mapping[str, object]) -> str:
        given = {name: value for name, value in arguments.items() if value is not None}
        match given:
            case {"token": str(token)} if len(given) == 1:
                return await self._confirmed(client, owner, token)
            case {"query": str()} if len(given) == 1:
                query = self._text(given, "query", self._words.shared.no_query)
                found = await client.search(shortened(query, MAX_QUERY), limit=_FOUND_TO_FORGET)
                lines = [f"- {one.id}: {_shown(one.content)}" for one in found.items]
                return await self._offered(client, owner, Selection(tuple(one.id for one in found.items)), lines)
            case {"memory_ids": object() as ids} if len(given) == 1:
                return await self._offered(client, owner, Selection(memory_ids=self._ids(ids, "memory_ids")), ())
            case {"session_ids": object() as ids} if len(given) == 1:
                return await self._offered(client, owner, Selection(session_ids=self._ids(ids, "session_ids")), ())
            case _:
                raise Unusable(self._words.one_selection)

    async def _offered(
        self, client: AsyncMemoryClient, owner: Owner, selection: Selection, lines: Sequence[str]
    ) -> str:
        """Say what would go, and how to have it so. Nothing is changed."""
        words = self._words
        if not (selection.memory_ids or selection.session_ids):
            return words.nothing_to_forget
        selection = await _with_statements(client, selection)
        going = await client.forgettable(
            memory_ids=selection.memory_ids or None, session_ids=selection.session_ids or None
        )
        if not any(going.counts.values()):
            return words.nothing_to_forget
        shown = lines or [f"- {escape(one)}" for one in (*going.memory_ids, *going.scene_paths)][:MAX_IDS]
        token = self._waiting.issue(owner, selection, self._now())
        body = "\n".join([words.shared.intro, words.would_go.format(_counts(going.counts)), *shown])
        confirm = words.confirm.format(token)
        return shortened(body, MAX_CHARACTERS - len(confirm) - 1, words.shared.cut) + "\n" + confirm

    async def _confirmed(self, client: AsyncMemoryClient, owner: Owner, token: str) -> str:
        words = self._words
        selection = self._waiting.redeem(token.strip(), owner, self._now())
        if selection is None:
            raise Unusable(words.void)
        receipt = await client.forget(
            memory_ids=selection.memory_ids or None, session_ids=selection.session_ids or None, confirm=True
        )
        text = words.forgotten.format(_counts(receipt.counts), receipt.id)
        return text if receipt.complete else f"{text} {words.incomplete}"

    def _text(self, arguments: Mapping[str, object], name: str, missing: str) -> str:
        text = arguments.get(name)
        if not isinstance(text, str) or not text.strip():
            raise Unusable(missing)
        return text.strip()

    def _ids(self, value: object, name: str) -> tuple[str, ...]:
        refusal = Unusable(self._words.too_many.format(name, MAX_IDS))
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_IDS:
            raise refusal
        ids = tuple(one.strip() for one in value if isinstance(one, str) and 0 < len(one.strip()) <= _MAX_ID)
        if len(ids) != len(value):
            raise refusal
        return ids


async def _is_forgotten(client: AsyncMemoryClient, session: str) -> bool:
    """Whether a session has been distilled and no memory stands on it alone: then what was said there is to be said anew.

    A memory may have been forgotten and its message kept, so that the message's receipt says nothing of it.
    """
    if (await client.status(session=session)).layers["l1"].pending:
        return False
    return not (await client.forgettable(session_ids=[session])).counts.get("memories", 0)


async def _with_statements(client: AsyncMemoryClient, selection: Selection) -> Selection:
    """Add the sessions of `remember` that the memories come from: each holds the statement and nothing else.

    Left there, a statement would still be found word for word.
    """
    sessions = dict.fromkeys(selection.session_ids)
    for memory_id in selection.memory_ids:
        try:
            evidence = await client.trace(memory_id)
        except (NotFound, Forbidden):
            continue  # what is not this scope's, the server leaves out of the selection too
        sessions |= dict.fromkeys(one.session_id for one in evidence.messages if one.session_id.startswith(_STATEMENT))
    return replace(selection, session_ids=tuple(sessions))


def _explicit(text: str) -> str:
    """A statement in the form in which people ask to have one kept, in the statement's own language."""
    return f"请记住：{text}" if _HAN.search(text) else f"Remember: {text}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items() if number) or "0"


def _shown(content: str) -> str:
    return shortened(escape(" ".join(content.split())), _SHOWN, "…")
