"""Whose memory a request has, as the core knows it."""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.records.proxy import Bound, ProxySession

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """A scope of the core, and the session and task within it; `task` may be empty."""

    instance: str
    team: str
    agent: str
    user: str
    session: str
    task: str = ""

    @classmethod
    def of(cls, session: ProxySession, bound: Bound) -> Place:
        """Return where a bound session has its memory."""
        return cls(session.instance, bound.team, bound.agent, session.user, session.session, bound.task)
