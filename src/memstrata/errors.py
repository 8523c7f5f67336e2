"""The error tree. Its branches say what the caller can do about it.

MemstrataError
├── InvalidRequest    the caller fixes the request (`field` names the part)
├── Unauthorized      the caller presents a credential
├── Forbidden         the caller may not; asking again changes nothing
├── NotFound          there is no such thing in this scope
├── Conflict          it contradicts what is stored; the caller decides which holds
│   └── LeaseLost     another worker owns this job now; the work is dropped, not retried
├── Unavailable       retry after `retry_after` seconds; nothing was stored
└── Misconfigured     the operator fixes the installation

Third-party errors are translated where they enter the house, so these are all that the edges need to know.
"""

from __future__ import annotations

__all__ = [
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "LeaseLost",
    "MemstrataError",
    "Misconfigured",
    "NotFound",
    "Unauthorized",
    "Unavailable",
]


class MemstrataError(Exception):
    """Root of all errors that this package raises on purpose."""


class InvalidRequest(MemstrataError):
    """The request cannot be meant as it stands. `field` is a dotted path such as `messages.0.content`."""

    def __init__(self, message: str, *, field: str = "") -> None:
        self.field = field
        super().__init__(f"{field}: {message}" if field else message)


class Unauthorized(MemstrataError):
    """No credential, or one that is not valid. With `retry_after`, seconds: nothing was looked at, it is too often."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Forbidden(MemstrataError):
    """The caller is known and may not do this."""


class NotFound(MemstrataError):
    """Nothing of that name exists in this scope."""


class Conflict(MemstrataError):
    """The request contradicts what is already stored."""


class LeaseLost(Conflict):
    """The fencing token of a job is no longer current: somebody else does the work."""


class Unavailable(MemstrataError):
    """Not now. Nothing was stored; the same call may succeed after `retry_after` seconds."""

    def __init__(self, message: str, *, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class Misconfigured(MemstrataError):
    """The installation must be changed by its operator before this can work."""
