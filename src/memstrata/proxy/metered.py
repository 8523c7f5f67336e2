"""Requests of system users: their tokens count, and nothing of them is remembered or recalled.

They are the programs of the installation itself, such as what distills through this proxy. Source: `reference/proxy.md` §2.4.
"""

from __future__ import annotations

from memstrata.proxy.exchange import Incoming, Prepared
from memstrata.proxy.usage import UsageBook
from memstrata.proxy.wire.request import Reply, Unreadable

__all__ = ["Metered"]


class Metered:
    """The `Rewriter` that changes nothing and notes what an answer cost."""

    def __init__(self, usage: UsageBook) -> None:
        self._usage = usage

    async def prepare(self, incoming: Incoming) -> Prepared:
        try:
            model = incoming.wire.read(incoming.body).model
        except Unreadable:
            model = ""
        watch = None if incoming.counting else _Noting(self._usage, incoming, model)
        return Prepared(incoming.body, "auxiliary", "a system user has no memory", None, watch, model)


class _Noting:
    def __init__(self, usage: UsageBook, incoming: Incoming, model: str) -> None:
        self._usage = usage
        self._incoming = incoming
        self._model = model

    async def finished(self, status: int, reply: Reply | None) -> None:
        if reply is not None and 200 <= status < 300:
            self._usage.note(self._incoming.instance, self._incoming.user, self._model, reply.usage)
