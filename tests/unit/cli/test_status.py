"""`status` says what models cost today and what they do not take."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from memstrata.cli.screen import Screen
from memstrata.cli.status import show_pipeline
from memstrata.client import Budget, LayerStatus, PipelineStatus


def shown(budget: Budget | None, parked: int = 0) -> str:
    layer = LayerStatus(3, "waiting", None, None, "", "", parked)
    output = io.StringIO()
    with redirect_stdout(output):
        show_pipeline(Screen(color=False), PipelineStatus({"l1": layer}, False, "model", budget))
    return output.getvalue()


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(12, None, False, None), "12 used today (UTC)"),
        (Budget(12, 50, False, None), "12 of 50 used today (UTC)"),
        (Budget(50, 50, True, None), "50 of 50 used today (UTC): distillation waits for tomorrow"),
    ],
)
def test_the_tokens_of_today_are_shown_beside_their_limit(budget: Budget, text: str) -> None:
    assert text in " ".join(shown(budget).split())


def test_without_a_model_there_is_no_line_about_tokens() -> None:
    assert "today" not in shown(None)


def test_parked_messages_are_counted_where_there_are_any() -> None:
    assert "2 messages that no model takes" in " ".join(shown(None, parked=2).split())
    assert "no model takes" not in shown(None)
