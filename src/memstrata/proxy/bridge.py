"""The bridge: what the model may look up by itself, with a token that names its session and nothing else.

It reads and never writes. Whose memory it reads follows from the token alone; whatever ids a request brings are not looked
at. A session that is unknown, foreign, unbound or switched off gets one and the same answer. An answer is small, because
the model pays for it. Source: `reference/proxy.md` §7.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import msgspec

from memstrata.client import InvalidRequest, MemstrataClientError
from memstrata.clock import Clock
from memstrata.errors import MemstrataError
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.place import Place
from memstrata.proxy.tokens import read_token
from memstrata.records.proxy import Bound, ProxySession
from memstrata.store.protocol import Store
from memstrata.text.graphemes import cut
from memstrata.text.markers import escape

__all__ = ["PREFIX", "Bridge", "BridgeAnswer", "BridgeRules"]

_log = logging.getLogger(__name__)

PREFIX = "/memory-bridge/v3/"
_MOST_LIMIT = 50
_USUAL_LIMIT = 5
_MOST_QUERY = 2_048
_MOST_BODY = 16_384
_MOST_COUNTED = 10_000
_ITEM_CHARACTERS = 800


@dataclass(frozen=True, slots=True)
class BridgeRules:
    """`searches` per turn of a session; `characters` of one answer."""

    searches: int = 3
    characters: int = 8_000


@dataclass(frozen=True, slots=True)
class BridgeAnswer:
    """An HTTP status and the JSON that goes with it."""

    status: int
    body: bytes


class _Refusal(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


Arguments = Mapping[str, Any]
Operation = Callable[["Bridge", Place, Arguments], Awaitable[object]]


class Bridge:
    """Answers the bridge's requests. Never raises for what a request brings."""

    def __init__(self, store: Store, core: MemoryCore, secret: bytes, rules: BridgeRules, clock: Clock) -> None:
        self._store = store
        self._core = core
        self._secret = secret
        self._rules = rules
        self._clock = clock
        self._spent: OrderedDict[tuple[ProxySession, str], int] = OrderedDict()
        self.searches = rules.searches
        self.counts: dict[str, int] = {"answered": 0, "refused": 0, "failed": 0}

    async def answer(
        self, method: str, path: str, query: bytes, headers: Mapping[str, str], body: bytes
    ) -> BridgeAnswer:
        """Return the answer to a request below `PREFIX`. `headers` have lower-case names."""
        try:
            operation = _operation(path)
            _check_form(method, headers, body)
            session, bound = await self._session(headers)
            arguments = _arguments(method, query, body)
            if path.endswith("/search") and not await self._spend(session):
                left = f"{self._rules.searches} searches are all for one turn; answer with what is there"
                raise _Refusal(429, 42_901, left)
            data = await operation(self, Place.of(session, bound), arguments)
        except _Refusal as refusal:
            self.counts["refused"] += 1
            return _answer(refusal.status, refusal.code, str(refusal), None)
        except InvalidRequest:
            self.counts["refused"] += 1
            return _answer(400, 40_001, "the core does not take these arguments", None)
        except (MemstrataClientError, MemstrataError) as error:
            self.counts["failed"] += 1
            _log.warning("the bridge could not answer: %s", type(error).__name__)
            return _answer(502, 50_301, "memory cannot be asked now; go on without it", None)
        self.counts["answered"] += 1
        return _answer(200, 0, "ok", data)

    async def opened(self, token: str) -> Place | None:
        """Return what a token opens now: None for one that is forged, over, foreign, or of a session that is off."""
        found = await self._opened(token)
        return None if found is None else Place.of(*found)

    async def spend(self, token: str) -> bool:
        """Take one of the turn's searches; False where none is left, or the token opens nothing any more."""
        found = await self._opened(token)
        return found is not None and await self._spend(found[0])

    async def _opened(self, text: str) -> tuple[ProxySession, Bound] | None:
        token = read_token(text, self._secret, self._clock.now()) if text else None
        if token is None:
            return None
        session = ProxySession(token.instance, token.user, token.client, token.session)
        bound = await self._store.read(lambda r: r.proxy.bindings.read(session))
        may = bound is not None and bound.outcome == "bound" and not bound.recall_off
        return (session, bound) if bound is not None and may else None

    async def _session(self, headers: Mapping[str, str]) -> tuple[ProxySession, Bound]:
        given = headers.get("authorization", "")
        text = given[7:] if given[:7].lower() == "bearer " else headers.get("x-memstrata-token", "")
        found = await self._opened(text)
        if found is None:
            raise _Refusal(401, 40_101, "this token opens no session")
        return found

    async def _spend(self, session: ProxySession) -> bool:
        turn = await self._store.read(lambda r: r.proxy.turns.current(session))
        key = (session, "" if turn is None else turn.turn_id)
        spent = self._spent.get(key, 0)
        if spent >= self._rules.searches:
            return False
        self._spent[key] = spent + 1
        self._spent.move_to_end(key)
        if len(self._spent) > _MOST_COUNTED:
            self._spent.popitem(last=False)
        return True

    async def search_memories(self, place: Place, given: Arguments) -> object:
        found = await self._core.memories(place, _query(given), _limit(given))
        return self._items({"id": one.id, "type": one.type, "content": _text(one.content)} for one in found)

    async def search_messages(self, place: Place, given: Arguments) -> object:
        found = await self._core.messages(place, _query(given), _limit(given))
        return self._items(
            {"session_id": one.session_id, "role": one.role, "content": _text(one.content)} for one in found
        )

    async def list_memories(self, place: Place, given: Arguments) -> object:
        found = await self._core.list_memories(place, _limit(given), _number(given, "offset", 0))
        return self._items({"id": one.id, "type": one.type, "content": _text(one.content)} for one in found)

    async def list_messages(self, place: Place, given: Arguments) -> object:
        session = given.get("session_id")
        found = await self._core.list_messages(
            place, session if isinstance(session, str) and session else None, _limit(given), _number(given, "offset", 0)
        )
        return self._items(
            {"session_id": one.session_id, "role": one.role, "content": _text(one.content)} for one in found
        )

    async def list_scenes(self, place: Place, _: Arguments) -> object:
        found = await self._core.scenes(place)
        return self._items({"path": escape(one.path), "summary": _text(one.summary), "heat": one.heat} for one in found)

    async def read_scene(self, place: Place, given: Arguments) -> object:
        path = given.get("path", given.get("q"))
        if not isinstance(path, str) or not path:
            raise _Refusal(400, 40_001, "path is needed")
        found = await self._core.scene(place, path[:_MOST_QUERY])
        content = "" if found is None else cut(escape(found.content), self._rules.characters, "…")
        return {"path": path[:_MOST_QUERY], "content": content, "exists": found is not None}

    def _items(self, rows: Iterable[object]) -> Mapping[str, object]:
        """Return as many rows as an answer may hold, and whether that is all."""
        kept: list[object] = []
        left = self._rules.characters
        truncated = False
        for row in rows:
            left -= len(msgspec.json.encode(row))
            if left < 0:
                truncated = True
                break
            kept.append(row)
        return {"items": kept, "truncated": truncated}


_OPERATIONS: Mapping[str, Operation] = {
    "atomic/search": Bridge.search_memories,
    "atomic/query": Bridge.list_memories,
    "conversation/search": Bridge.search_messages,
    "conversation/query": Bridge.list_messages,
    "scenario/ls": Bridge.list_scenes,
    "scenario/read": Bridge.read_scene,
}


def _operation(path: str) -> Operation:
    inner = path.removeprefix(PREFIX) if path.startswith(PREFIX) else ""
    if inner.count("/") != 1:
        raise _Refusal(404, 40_401, "there is no such path on the bridge")
    found = _OPERATIONS.get(inner)
    if found is None:
        raise _Refusal(403, 40_301, "the bridge is for looking things up")
    return found


def _check_form(method: str, headers: Mapping[str, str], body: bytes) -> None:
    if method not in ("GET", "POST"):
        raise _Refusal(405, 40_501, "GET with ?q=, or POST with JSON")
    if method == "POST" and body and not headers.get("content-type", "").lower().startswith("application/json"):
        raise _Refusal(415, 41_501, "content-type must be application/json")
    if len(body) > _MOST_BODY:
        raise _Refusal(413, 41_301, "the body is too large")


def _arguments(method: str, query: bytes, body: bytes) -> Arguments:
    if method == "GET":
        try:
            read = parse_qs(query.decode(), max_num_fields=20)
        except ValueError as error:
            raise _Refusal(400, 40_001, "the query cannot be read") from error
        return {name: values[-1] for name, values in read.items()}
    try:
        given = msgspec.json.decode(body) if body else {}
    except msgspec.MsgspecError as error:
        raise _Refusal(400, 40_001, "the body is not JSON") from error
    if not isinstance(given, dict):
        raise _Refusal(400, 40_001, "the body must be an object")
    return given


def _query(given: Arguments) -> str:
    query = given.get("query", given.get("q"))
    if not isinstance(query, str) or not query.strip():
        raise _Refusal(400, 40_001, "query is needed")
    return query[:_MOST_QUERY]


def _limit(given: Arguments) -> int:
    return max(1, min(_number(given, "limit", _USUAL_LIMIT), _MOST_LIMIT))


def _number(given: Arguments, name: str, usual: int) -> int:
    value = given.get(name, usual)
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else -1
    except ValueError:
        number = -1
    if number < 0:
        raise _Refusal(400, 40_001, f"{name} must be a whole number")
    return min(number, 1_000_000)


def _text(content: str) -> str:
    return cut(escape(content), _ITEM_CHARACTERS, "…")


def _answer(status: int, code: int, message: str, data: object) -> BridgeAnswer:
    body = {"code": code, "message": message, "data": data}
    return BridgeAnswer(status, msgspec.json.encode(body))
