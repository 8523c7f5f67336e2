"""What goes between the transport and the memory of a request: values, and nothing of HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from memstrata.proxy.clients.client import Client
from memstrata.proxy.wire.request import Fabricated, Reply, Wire

__all__ = ["NO_MEMORY", "Incoming", "Prepared", "Rewriter", "Watch"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request whose caller is known. `user_key` is empty in front of a core without keys.

    `headers` have lower-case names; `suffix` is the path behind agent and instance. `counting`: only the tokens of the
    request are asked for.
    """

    wire: Wire
    client: Client
    instance: str
    user: str
    user_key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    suffix: str = ""
    body: bytes = field(default=b"", repr=False)
    counting: bool = False


class Watch(Protocol):
    """Is told how a request ended. Never raises."""

    async def finished(self, status: int, reply: Reply | None) -> None:
        """Take the upstream's status, 0 where there was none, and what its answer said as far as it came."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """What becomes of a request: it is answered here, or goes upstream with `body`.

    `kind` is how it was classified; `bypass` names why it goes without memory, empty if it does not.
    """

    body: bytes = field(repr=False)
    kind: str
    bypass: str = ""
    answer: Fabricated | None = None
    watch: Watch | None = None
    model: str = ""


class Rewriter(Protocol):
    """Puts memory into requests. Never raises: what fails leaves the request as it came, with the reason."""

    async def prepare(self, incoming: Incoming) -> Prepared: ...


class _NoMemory:
    async def prepare(self, incoming: Incoming) -> Prepared:
        return Prepared(incoming.body, "auxiliary", "memory is switched off")


NO_MEMORY: Rewriter = _NoMemory()
"""Forwards everything as it came."""
