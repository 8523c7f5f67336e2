"""What verbs about the directory send: dictionaries without their Nones, ids in the place of dictionaries, pages.

Source: wire contract §5, §9.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from memstrata.client._calls import Call
from memstrata.client._errors import ParamError
from memstrata.client._results import Data

__all__ = ["Params", "call_for", "given", "listed", "named", "of_user", "paged"]

T = TypeVar("T")

Params: TypeAlias = Mapping[str, Any]
"""The fields of a body as the contract names them. What is None is not sent."""


def call_for(route: str, body: Data, *, repeatable: bool = False) -> Call[T]:
    """Return the call of a route such as `team/get`, whose answer is read as it is."""
    path = route if route.startswith("/") else f"/v3/meta/{route}"
    return Call(path, body, lambda data: cast("T", data), repeatable)


def given(fields: Params) -> dict[str, Any]:
    """Return what is not None. Raises ParamError for what is no dictionary."""
    if not isinstance(fields, Mapping):
        raise ParamError(f"expected a dictionary of fields, got {type(fields).__name__}")
    return {name: value for name, value in fields.items() if value is not None}


def listed(field: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return a body of several ids. Raises ParamError for a text, which would be read as ids of one letter."""
    if isinstance(ids, str):
        raise ParamError(f"{field} is a list of ids, got a text")
    return {field: list(ids)}


def named(field: str, value: str | Params | None) -> dict[str, Any]:
    """Return a body of one id, or the dictionary that stands in its place."""
    return given({field: value} if value is None or isinstance(value, str) else value)


def paged(field: str, value: str | Params | None, pagination: Params | None) -> dict[str, Any]:
    """Return such a body with `limit` and `offset`."""
    return {**named(field, value), **given(pagination or {})}


def of_user(user: str | Params, pagination: Params | None) -> dict[str, Any]:
    """Return a body that is about a user. Raises ParamError where none is named."""
    body = paged("user_id", user, pagination)
    if not body.get("user_id") and not body.get("user_key"):
        raise ParamError("user_id or user_key is needed")
    return body
