"""What each route accepts: types and limits. Unknown keys are dropped, `null` counts as absent.

Source: wire contract §1.6, §3, §4.1. Lengths count code points.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from memstrata.capture import MAX_CHARACTERS, MAX_KEY, MAX_MESSAGE_ID, MAX_MESSAGES
from memstrata.errors import InvalidRequest
from memstrata.recall import Leg
from memstrata.records import Role
from memstrata.search import MAX_NEIGHBOURS
from memstrata.server.envelope import UnreadableBody

__all__ = [
    "ClearRequest",
    "ConversationAdd",
    "ConversationCount",
    "ConversationDelete",
    "ConversationQuery",
    "ConversationSearch",
    "CoreRestore",
    "CoreWrite",
    "FlushRequest",
    "IncomingMessage",
    "MemoryCount",
    "MemoryDelete",
    "MemoryNamed",
    "MemoryQuery",
    "MemorySearch",
    "MemoryUpdate",
    "RecallRequest",
    "Request",
    "SceneList",
    "ScenePath",
    "SceneRestore",
    "SceneWrite",
    "SpendingRequest",
    "TraceRequest",
    "decode",
    "decode_query",
    "version_number",
]

Content = Annotated[str, Meta(max_length=MAX_CHARACTERS)]
Query = Annotated[str, Meta(min_length=1, max_length=2_048)]
Limit = Annotated[int, Meta(ge=1, le=100)]
Offset = Annotated[int, Meta(ge=0, le=2**53 - 1)]
MAX_FIELDS = 32  # of a query string; no route has as many
MemoryId = Annotated[str, Meta(min_length=1, max_length=512)]
Version = Annotated[int, Meta(ge=0, le=2**53 - 1)] | Annotated[str, Meta(pattern=r"^v[0-9]{1,15}\Z")]


class Request(msgspec.Struct, kw_only=True, frozen=True):
    """The ids that every body may carry. They are checked with the headers, see `memstrata.server.caller`."""

    team_id: Any = None
    agent_id: Any = None
    user_id: Any = None
    session_id: Any = None
    task_id: Any = None


class IncomingMessage(msgspec.Struct, kw_only=True, frozen=True):
    """One message as the client tells it. `id` makes a repeated write harmless."""

    role: Role
    content: Annotated[str, Meta(min_length=1, max_length=MAX_CHARACTERS)]
    timestamp: str | None = None
    recorded_at: str | None = None
    id: Annotated[str, Meta(min_length=1, max_length=MAX_MESSAGE_ID)] | None = None


class ConversationAdd(Request, kw_only=True, frozen=True):
    """`/conversation/add`."""

    messages: Annotated[list[IncomingMessage], Meta(min_length=1, max_length=MAX_MESSAGES)]
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY)] | None = None


class ConversationQuery(Request, kw_only=True, frozen=True):
    """`/conversation/query`."""

    limit: Limit | None = None
    offset: Offset | None = None
    time_start: str | None = None
    time_end: str | None = None


class ConversationSearch(Request, kw_only=True, frozen=True):
    """`/conversation/search`. `neighbours` is how many messages of its session to show on each side of a hit."""

    query: Query
    limit: Limit | None = None
    neighbours: Annotated[int, Meta(ge=0, le=MAX_NEIGHBOURS)] | None = None
    time_start: str | None = None
    time_end: str | None = None


class ConversationDelete(Request, kw_only=True, frozen=True):
    """`/conversation/delete`. `session_id` is an older spelling of a list of one."""

    message_ids: Annotated[list[str], Meta(min_length=1, max_length=5_000)] | None = None
    session_ids: Annotated[list[str], Meta(min_length=1, max_length=100)] | None = None


class ConversationCount(Request, kw_only=True, frozen=True):
    """`/conversation/count`."""

    time_start: str | None = None
    time_end: str | None = None


class MemoryQuery(Request, kw_only=True, frozen=True):
    """`/atomic/query`."""

    type: str | None = None
    limit: Limit | None = None
    offset: Offset | None = None
    time_start: str | None = None
    time_end: str | None = None


class MemorySearch(Request, kw_only=True, frozen=True):
    """`/atomic/search`."""

    query: Query
    limit: Limit | None = None
    type: str | None = None
    time_start: str | None = None
    time_end: str | None = None


class MemoryUpdate(Request, kw_only=True, frozen=True):
    """`/atomic/update`. `background` is the scene's name."""

    id: MemoryId
    content: Content
    background: Content | None = None


class MemoryNamed(Request, kw_only=True, frozen=True):
    """`/atomic/history` and `/atomic/undo`."""

    id: MemoryId


class MemoryDelete(Request, kw_only=True, frozen=True):
    """`/atomic/delete`."""

    ids: Annotated[list[str], Meta(min_length=1, max_length=5_000)]


class MemoryCount(Request, kw_only=True, frozen=True):
    """`/atomic/count`."""

    type: str | None = None
    time_start: str | None = None
    time_end: str | None = None


class SceneList(Request, kw_only=True, frozen=True):
    """`/scenario/ls` and `/scenario/count`."""

    path_prefix: str | None = None


class ScenePath(Request, kw_only=True, frozen=True):
    """`/scenario/read`, `/scenario/rm` and `/scenario/history`."""

    path: str


class SceneWrite(Request, kw_only=True, frozen=True):
    """`/scenario/write`."""

    path: str
    content: str
    summary: str | None = None
    create: bool = False


class SceneRestore(Request, kw_only=True, frozen=True):
    """`/scenario/restore`. `version` as it is shown, "v3", or its number."""

    path: str
    version: Version


class CoreWrite(Request, kw_only=True, frozen=True):
    """`/core/write`."""

    content: str


class CoreRestore(Request, kw_only=True, frozen=True):
    """`/core/restore`."""

    version: Version


class ClearRequest(Request, kw_only=True, frozen=True):
    """`/chat-memory/clear`."""

    memory_ids: Annotated[list[str], Meta(min_length=1, max_length=100)]


class RecallRequest(Request, kw_only=True, frozen=True):
    """`/v3/recall`."""

    query: Query
    limit: Limit | None = None
    budget_ms: Annotated[int, Meta(ge=1, le=60_000)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    include: list[Leg] | None = None


class TraceRequest(Request, kw_only=True, frozen=True):
    """`/v3/trace`: of a memory (`id`, or `memory_id`), a scene (`path`) or the persona, and of that maybe one `line`."""

    id: MemoryId | None = None
    memory_id: MemoryId | None = None
    path: str | None = None
    persona: bool | None = None
    line: Annotated[str, Meta(max_length=2_048)] | None = None


class FlushRequest(Request, kw_only=True, frozen=True):
    """`/v3/pipeline/flush`."""

    wait_seconds: Annotated[float, Meta(ge=0, le=300)] | None = None


class SpendingRequest(Request, kw_only=True, frozen=True):
    """`/v3/pipeline/spending`."""

    days: Annotated[int, Meta(ge=1, le=366)] | None = None


R = TypeVar("R", bound=msgspec.Struct)

# An escaped character, or half of a surrogate pair on its own. Pairs are matched first and left alone.
_ESCAPES = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def decode(decoder: msgspec.json.Decoder[R], body: bytes) -> R:
    """Read a body as the request that `decoder` is for.

    Half of a surrogate pair, which a client leaves when it cuts text between UTF-16 units, is read as U+FFFD: one
    broken character is no reason to lose a turn. Raises UnreadableBody for what is not JSON, InvalidRequest for JSON
    that is not this request.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as error:
        raise _explained(str(error), decoder.type) from None
    except RecursionError:
        raise _not_json() from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        repaired = _ESCAPES.sub(lambda match: rb"\ufffd" if match[1] else match[0], body)
        if repaired == body:
            raise _not_json() from None
    return decode(decoder, repaired)


def version_number(version: int | str) -> int:
    """Read a version in either of its forms, 3 or "v3"."""
    return version if isinstance(version, int) else int(version.removeprefix("v"))


def decode_query(decoder: msgspec.json.Decoder[R], query: bytes) -> R:
    """Read a query string as the request that `decoder` is for; numbers are read from text. Raises InvalidRequest."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise InvalidRequest("the query string cannot be read", field="request") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise InvalidRequest("a key of the query string is given more than once", field="request")
    try:
        request: R = msgspec.convert(fields, decoder.type, strict=False)
    except msgspec.ValidationError as error:
        raise _explained(str(error), decoder.type) from None
    return request


def _not_json() -> UnreadableBody:
    return UnreadableBody(400, "Invalid JSON body")


_MISSING = re.compile(r"Object missing required field `(\w+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_CHOICES = {"role": get_args(Role), "include": get_args(Leg)}


def _explained(text: str, request: Any) -> InvalidRequest:
    """Turn `Expected `int` <= 100 - at `$.a[0].b`` into field `a.0.b` and what is wrong with it."""
    problem, _, place = text.partition(" - at `$")
    steps = [step for step in re.split(r"[.\[\]`]+", place) if step]
    if missing := _MISSING.match(problem):
        return InvalidRequest("required", field=".".join([*steps, missing[1]]))
    if unknown := _UNKNOWN.match(problem):
        return InvalidRequest(f'unrecognized key: "{unknown[1][:64]}"', field=".".join(steps) or "request")
    if problem.startswith("Invalid enum value"):
        allowed = next((_CHOICES[step] for step in reversed(steps) if step in _CHOICES), ())
        allowed = allowed or _choices(get_type_hints(request).get(steps[0]))
        problem = f"expected one of {', '.join(allowed)}"
    return InvalidRequest(problem[:1].lower() + problem[1:].replace("`", ""), field=".".join(steps) or _root(request))


def _choices(kind: Any) -> tuple[str, ...]:
    """The words that a field of this type can be."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(word for part in get_args(kind) for word in _choices(part))


def _root(request: Any) -> str:
    """What the contract calls the whole of a request: one word where unknown keys are refused, another elsewhere."""
    return "request" if request.__struct_config__.forbid_unknown_fields else "(root)"
