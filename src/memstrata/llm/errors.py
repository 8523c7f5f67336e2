"""Why a chat model gave no usable reply: the failures of any endpoint, and two that only chat has.

CallFailed              in `endpoint.errors`, with all failures that are not about chat
├── BudgetSpent      (Unavailable)    not sent: the day's tokens are used up, `retry_after` is the next day
└── Truncated        (InvalidRequest) the reply did not fit, even with twice the room, or is a loop; a part may fit
"""

from __future__ import annotations

from memstrata.endpoint.errors import (
    AuthRefused,
    BadReply,
    BreakerOpen,
    CallFailed,
    ContentRefused,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    TimedOut,
    Unreachable,
)
from memstrata.errors import InvalidRequest, Unavailable

__all__ = [
    "AuthRefused",
    "BadReply",
    "BreakerOpen",
    "BudgetSpent",
    "CallFailed",
    "ContentRefused",
    "PromptTooLong",
    "RateLimited",
    "RequestRefused",
    "ServerFailed",
    "TimedOut",
    "Truncated",
    "Unreachable",
]


class BudgetSpent(CallFailed, Unavailable):
    """The call was not sent, because the instance has used its tokens of the day."""

    code = "budget_spent"


class Truncated(CallFailed, InvalidRequest):
    """The reply was cut at its token limit, and again at twice that limit, or it was a loop that no limit ends.

    `text` is the longest of what was cut: what is complete in it may still be of use. It is no part of the message.
    """

    code = "truncated"

    def __init__(self, message: str, *, text: str = "") -> None:
        self.text = text
        super().__init__(message)
