"""What a user may choose a session's memory from: teams, agents and tasks, as the directory shows them to that user.

The user's own key asks, so that a form offers nothing the user may not use. Answers are kept for half a minute, because a
session that cannot be bound asks again with every request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from memstrata.client import AsyncMetadataClient
from memstrata.clock import Clock, milliseconds
from memstrata.proxy.forms.pages import Choice

__all__ = ["Choices", "MetadataFor"]

MetadataFor = Callable[[str, str], AsyncMetadataClient]
"""Makes the directory client of an instance and a user's key."""

_PAGE = 100
_MOST = 500  # of one list; more cannot be chosen from in a form
_KEPT_SECONDS = 30
_MOST_KEPT = 1_000


class Choices:
    """Lists of one core. Raises `MemstrataClientError` where it cannot be asked."""

    def __init__(self, metadata: MetadataFor, clock: Clock) -> None:
        self._metadata = metadata
        self._clock = clock
        self._kept: OrderedDict[tuple[str, ...], tuple[int, tuple[Choice, ...]]] = OrderedDict()

    async def teams(self, instance: str, user: str, user_key: str) -> tuple[Choice, ...]:
        """Return the teams that the user is in."""

        async def page(offset: int) -> Mapping[str, Any]:
            where = {"limit": _PAGE, "offset": offset}
            return await self._metadata(instance, user_key).list_teams(user, pagination=where)

        return await self._listed(("teams", instance, user), page, "team_id", "name")

    async def agents(self, instance: str, user: str, user_key: str, team: str) -> tuple[Choice, ...]:
        """Return the active agents of a team that the user may use."""

        async def page(offset: int) -> Mapping[str, Any]:
            where = {"team_id": team, "status": "active", "limit": _PAGE, "offset": offset}
            return await self._metadata(instance, user_key).list_agents(where)

        return await self._listed(("agents", instance, user, team), page, "agent_id", "name")

    async def tasks(self, instance: str, user: str, user_key: str, team: str) -> tuple[Choice, ...]:
        """Return the running tasks of a team."""

        async def page(offset: int) -> Mapping[str, Any]:
            where = {"limit": _PAGE, "offset": offset}
            return await self._metadata(instance, user_key).list_tasks(team, status="running", pagination=where)

        return await self._listed(("tasks", instance, user, team), page, "task_id", "title")

    async def team_of(self, instance: str, user_key: str, agent: str) -> str:
        """Return the team of an agent that the user may use. Raises NotFound or Forbidden where that is none."""
        return (await self._metadata(instance, user_key).get_agent(agent))["team_id"]

    async def team_of_task(self, instance: str, user_key: str, task: str) -> str:
        """Return the team of a task. Raises NotFound or Forbidden."""
        return (await self._metadata(instance, user_key).get_task(task))["team_id"]

    async def note(self, instance: str, user: str, user_key: str, team: str, agent: str, task: str) -> None:
        """Write down that the user works on a task with an agent from now on."""
        await self._metadata(instance, user_key).append_participation_log(
            {"team_id": team, "task_id": task, "agent_id": agent, "user_id": user, "source": "context_proxy"}
        )

    def forget(self) -> None:
        """Ask again at the next call."""
        self._kept.clear()

    async def _listed(
        self, key: tuple[str, ...], page: Callable[[int], Awaitable[Mapping[str, Any]]], id_field: str, name_field: str
    ) -> tuple[Choice, ...]:
        now = self._clock.now()
        kept = self._kept.get(key)
        if kept is not None and kept[0] > now:
            return kept[1]
        rows: list[Mapping[str, Any]] = []
        while len(rows) < _MOST:
            answer = await page(len(rows))
            rows += answer["items"]
            if not answer["items"] or len(rows) >= answer["total"]:
                break
        found = tuple(
            Choice(row[id_field], row.get(name_field) or "", row.get("description") or "") for row in rows[:_MOST]
        )
        self._kept[key] = (now + milliseconds(_KEPT_SECONDS), found)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return found
