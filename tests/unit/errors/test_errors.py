"""The error tree: its branches are what the caller can do."""

from __future__ import annotations

import pytest

from memstrata import errors
from memstrata.errors import Conflict, InvalidRequest, LeaseLost, MemstrataError, Unavailable


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_one_of_ours_and_says_what_to_do(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, MemstrataError)
    assert kind.__doc__
    assert name in str(errors.__doc__)
    assert str(kind("what happened")) == "what happened"


def test_an_invalid_request_names_its_field_first() -> None:
    error = InvalidRequest("must not be empty", field="messages.0.content")
    assert (error.field, str(error)) == ("messages.0.content", "messages.0.content: must not be empty")
    assert (InvalidRequest("broken").field, str(InvalidRequest("broken"))) == ("", "broken")


def test_what_is_unavailable_says_when_to_ask_again() -> None:
    assert Unavailable("locked").retry_after == 1.0
    assert Unavailable("full", retry_after=30).retry_after == 30


def test_a_lost_lease_is_a_conflict() -> None:
    assert issubclass(LeaseLost, Conflict)
