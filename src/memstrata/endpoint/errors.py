"""Why a call to an endpoint gave no usable answer, named by what happened to it. Each is also a branch of the house's tree.

CallFailed
├── RateLimited      (Unavailable)    the endpoint asks for a pause of `retry_after` seconds
├── Unreachable      (Unavailable)    no connection, or it broke before the reply was complete
├── TimedOut         (Unavailable)    no complete reply within the request's time
├── ServerFailed     (Unavailable)    the endpoint answered 5xx
├── BadReply         (Unavailable)    it answered 200 with what is no reply of its protocol
├── BreakerOpen      (Unavailable)    not sent: the last calls all failed, the next probe is `retry_after` away
├── AuthRefused      (Misconfigured)  key or account refused; the provider stops until the operator acts
├── RequestRefused   (Misconfigured)  the endpoint does not accept what it is asked, whatever the input
├── PromptTooLong    (InvalidRequest) the input does not fit the model; a part of it may
└── ContentRefused   (InvalidRequest) the endpoint's content filter withheld the reply

No message holds a key: texts that come from outside pass `http.excerpt` first.
"""

from __future__ import annotations

from typing import ClassVar

from memstrata.errors import InvalidRequest, MemstrataError, Misconfigured, Unavailable
from memstrata.records import Usage

__all__ = [
    "AuthRefused",
    "BadReply",
    "BreakerOpen",
    "CallFailed",
    "ContentRefused",
    "PromptTooLong",
    "RateLimited",
    "RequestRefused",
    "ServerFailed",
    "TimedOut",
    "Unreachable",
]


class CallFailed(MemstrataError):
    """Root of the failures of one call. `usage` is what was spent all the same; `code` names the failure in records.

    `model` is the one that was asked, empty where none was.
    """

    code: ClassVar[str] = "failed"
    usage: Usage = Usage()
    model: str = ""


class RateLimited(CallFailed, Unavailable):
    """The endpoint asked for a pause. Calls made before it is over are not sent."""

    code = "rate_limited"


class Unreachable(CallFailed, Unavailable):
    """There was no connection, or it broke before the reply was complete."""

    code = "unreachable"


class TimedOut(CallFailed, Unavailable):
    """The reply was not complete within `timeout_seconds`."""

    code = "timed_out"


class ServerFailed(CallFailed, Unavailable):
    """The endpoint failed on its own account (5xx)."""

    code = "server_failed"


class BadReply(CallFailed, Unavailable):
    """The endpoint answered with what is no reply of its protocol, or with more than is read."""

    code = "bad_reply"


class BreakerOpen(CallFailed, Unavailable):
    """The call was not sent, because the last ones all failed."""

    code = "breaker_open"


class AuthRefused(CallFailed, Misconfigured):
    """Key or account were refused. The provider sends nothing more until it is resumed."""

    code = "auth_refused"


class RequestRefused(CallFailed, Misconfigured):
    """The endpoint does not accept the request: unknown model, unknown path, a parameter that it must not have."""

    code = "request_refused"

    def __init__(self, message: str, *, status: int = 0) -> None:
        self.status = status
        super().__init__(message)


class PromptTooLong(CallFailed, InvalidRequest):
    """The input is longer than the model's context."""

    code = "prompt_too_long"


class ContentRefused(CallFailed, InvalidRequest):
    """The endpoint's content filter withheld the reply."""

    code = "content_filter"
