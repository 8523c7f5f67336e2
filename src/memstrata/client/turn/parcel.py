"""A captured turn on its way to the server, and turns and parcels as texts that a store keeps.

What a store gives back is read as data: a text that is not whole is refused, not half understood.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeGuard

from memstrata.client.turn.batches import Batch, Outgoing
from memstrata.client.turn.watermark import Anchor, Input, Turn

__all__ = ["Address", "Parcel", "decode_parcel", "decode_turn", "encode_parcel", "encode_turn"]


@dataclass(frozen=True, slots=True)
class Address:
    """Whose session a turn belongs to."""

    team: str
    agent: str
    user: str
    session: str
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """One turn's batches. `name` sorts by the time of capture; `thread` and `turn_id` name the mark to remove."""

    name: str
    address: Address
    thread: str
    turn_id: str
    batches: tuple[Batch, ...]


def encode_turn(turn: Turn) -> str:
    """Return a turn as JSON."""
    fields = asdict(turn)
    fields["known"] = None if turn.known is None else sorted(turn.known)
    return json.dumps(fields)


def decode_turn(text: str) -> Turn:
    """Raises ValueError for a text that `encode_turn` did not make."""
    fields = _object(text)
    known = fields.get("known")
    return Turn(
        id=_string(fields, "id"),
        user=_string(fields, "user"),
        watermark=_anchor(fields, "watermark"),
        floor=_anchor(fields, "floor"),
        inputs=_inputs(fields.get("inputs")),
        carried=_inputs(fields.get("carried")),
        lost=_inputs(fields.get("lost")),
        known=None if known is None else frozenset(_strings(known)),
    )


def encode_parcel(parcel: Parcel) -> str:
    """Return a parcel as JSON."""
    return json.dumps(asdict(parcel))


def decode_parcel(text: str) -> Parcel:
    """Raises ValueError for a text that `encode_parcel` did not make."""
    fields = _object(text)
    address = _mapping(fields.get("address"))
    task = address.get("task")
    return Parcel(
        name=_string(fields, "name"),
        address=Address(
            team=_string(address, "team"),
            agent=_string(address, "agent"),
            user=_string(address, "user"),
            session=_string(address, "session"),
            task=None if task is None else _string(address, "task"),
        ),
        thread=_string(fields, "thread"),
        turn_id=_string(fields, "turn_id"),
        batches=tuple(_batch(_mapping(item)) for item in _list(fields.get("batches"))),
    )


def _batch(fields: Mapping[str, Any]) -> Batch:
    messages = (_mapping(item) for item in _list(fields.get("messages")))
    return Batch(
        _string(fields, "key"),
        tuple(Outgoing(*(_string(one, name) for name in ("id", "role", "content", "timestamp"))) for one in messages),
    )


def _inputs(value: object) -> tuple[Input, ...]:
    items = (_mapping(item) for item in _list(value))
    return tuple(Input(*(_string(one, name) for name in ("id", "text", "said_at"))) for one in items)


def _object(text: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(text))
    except RecursionError:
        raise ValueError("the text is nested too deep") from None


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("expected a list")
    return value


def _string(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"expected a string as {name}")
    return value


def _strings(value: object) -> Iterable[str]:
    listed = _list(value)
    if not _all_strings(listed):
        raise ValueError("expected a list of strings")
    return listed


def _all_strings(value: list[Any]) -> TypeGuard[list[str]]:
    return all(isinstance(item, str) for item in value)


def _anchor(fields: Mapping[str, Any], name: str) -> Anchor:
    return None if fields.get(name) is None else _string(fields, name)
