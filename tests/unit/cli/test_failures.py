"""Errors at the edge: which exit code, and one line whatever the error says."""

import pytest

from memstrata import client, errors
from memstrata.cli.failures import failure_of


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (errors.InvalidRequest("no such file", field="chat.json"), 2, "invalid"),
        (client.InvalidRequest(400, "too long"), 2, "invalid"),
        (errors.Misconfigured("memstrata.toml line 3: unknown key"), 3, "misconfigured"),
        (client.Unauthorized(401, "invalid token"), 3, "unauthorized"),
        (errors.Unavailable("the disk is full"), 4, "unavailable"),
        (client.Unreachable("no connection", sent=False, timed_out=False), 4, "unavailable"),
        (client.Conflict(409, "stored with another text"), 1, "conflict"),
        (errors.NotFound("nothing here"), 1, "not_found"),
        (client.ServerFailed(500, "Internal server error"), 1, "failed"),
        (PermissionError(13, "Permission denied", "out.jsonl"), 1, "failed"),
        (ZeroDivisionError("division by zero"), 1, "unexpected"),
    ],
)
def test_each_kind_of_error_has_its_code(error: Exception, code: int, kind: str) -> None:
    failure = failure_of(error)
    assert (failure.code, failure.kind) == (code, kind)
    assert failure.message in failure.line


def test_an_error_of_several_lines_becomes_one() -> None:
    assert failure_of(errors.Misconfigured("first\n  second\n")).line == "first second"


def test_an_error_that_nobody_foresaw_says_its_type_and_how_to_see_more() -> None:
    line = failure_of(KeyError("scene")).line
    assert "KeyError" in line
    assert "MEMSTRATA_LOG_LEVEL=debug" in line
