"""What an HTTP status says about a call: the one place where answers other than 200 get their name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from memstrata.clock import Instant
from memstrata.endpoint.errors import (
    AuthRefused,
    CallFailed,
    ContentRefused,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    ServerFailed,
    TimedOut,
)
from memstrata.endpoint.http import HttpReply, excerpt

__all__ = ["failure_of", "retry_after_of"]

_DEFAULT_PAUSE_SECONDS = 20.0
_LONGEST_PAUSE_SECONDS = 86_400.0

_NO_CREDIT = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|funds)|credit balance is too low|arrearage|余额不足|欠费", re.IGNORECASE
)
_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size)|maximum context|prompt is too long|input (?:is )?too long|too many (?:input )?tokens"
    r"|range of input length|exceeds? (?:the )?(?:model'?s? )?(?:maximum|available) (?:context|input|prompt)|上下文长度|输入过长",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content[_ ](?:filter|policy|management)|data_inspection_failed|inappropriate content|content exists risk|内容安全|敏感",
    re.IGNORECASE,
)


def failure_of(reply: HttpReply, now: Instant, secret: str = "") -> CallFailed:
    """Return the failure that an answer other than 200 stands for."""
    raw = _message_of(reply.body)
    said = excerpt(raw, secret)
    told = f"the endpoint answered {reply.status}: {said or 'no reason given'}"
    match reply.status:
        case 401 | 402 | 403:
            return AuthRefused(told)
        case 429 if _NO_CREDIT.search(raw):
            return AuthRefused(told)
        case 429 | 529:
            asked = retry_after_of(reply.headers, now)
            return RateLimited(told, retry_after=_DEFAULT_PAUSE_SECONDS if asked is None else asked)
        case 503 if (pause := retry_after_of(reply.headers, now)) is not None:
            return RateLimited(told, retry_after=pause)
        case 408:
            return TimedOut(told)
        case status if status >= 500:
            return ServerFailed(told, retry_after=5.0)
        case status if 300 <= status < 400:
            host = _host_of(reply.headers.get("location", "")) or "another place"
            return RequestRefused(
                f"the endpoint redirects to {host}, which is not followed; set base_url to the final one"
            )
        case 413:
            return PromptTooLong(told)
        case 400 | 422 if _TOO_LONG.search(raw):
            return PromptTooLong(told)
        case 400 | 422 if _FILTERED.search(raw):
            return ContentRefused(told)
        case _:
            return RequestRefused(told, status=reply.status)


def retry_after_of(headers: Mapping[str, str], now: Instant) -> float | None:
    """Return the seconds that `Retry-After` (seconds or an HTTP date) or `Retry-After-Ms` ask for, at most a day.

    None if there is no such header or it cannot be read.
    """
    precise = headers.get("retry-after-ms", "").strip()
    if re.fullmatch(r"\d{1,12}", precise):
        return min(int(precise) / 1000, _LONGEST_PAUSE_SECONDS)
    asked = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,12}(?:\.\d{1,6})?", asked):
        return min(float(asked), _LONGEST_PAUSE_SECONDS)
    try:
        date = parsedate_to_datetime(asked)
    except ValueError:
        return None
    seconds = date.replace(tzinfo=date.tzinfo or UTC).timestamp() - now / 1000
    return min(max(seconds, 0.0), _LONGEST_PAUSE_SECONDS)


def _host_of(address: str) -> str:
    """Return the host that an address from outside names, empty where it names none."""
    try:
        return excerpt(urlsplit(address).hostname or "")
    except ValueError:  # an open bracket, among others
        return ""


def _message_of(body: bytes) -> str:
    """Return the human part of an error's body: `error.message` and its code in the formats in use, else the text."""
    text = body[:65_536].decode("utf-8", "replace")
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return text
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        parts = [error.get(key) for key in ("message", "detail", "code", "type", "param")]
        named = " ".join(str(part) for part in parts if isinstance(part, str | int) and str(part))
        return named or text
    return error if isinstance(error, str) else text
