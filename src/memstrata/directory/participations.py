"""The log of who worked on what with which agent: lines that are added and read, never changed.

A line names its task as the one who writes it does: a runtime may log work under a task that the directory does not
know, its "no task" among them. Source: wire contract §5.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Clock, Instant
from memstrata.directory.membership import active_member, require_member, require_team, require_team_admin
from memstrata.errors import NotFound
from memstrata.ids import relation_id
from memstrata.records.agents import Participation
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.records.scope import check_id
from memstrata.store.audit import audited
from memstrata.store.directory import DirectoryPage, ParticipationFilter, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.text.wellformed import well_formed

__all__ = ["NewParticipation", "Participations"]

UNKNOWN_SOURCE = "unknown"


@dataclass(frozen=True, slots=True)
class NewParticipation:
    """A line to be added. Without `created_at`: now. `metadata` is JSON text."""

    team_id: str
    task_id: str
    agent_id: str
    user_id: str
    created_at: Instant | None = None
    source: str = UNKNOWN_SOURCE
    metadata: str = "null"


class Participations:
    """All that can be done with the log. Every verb is one transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def append(self, instance: str, caller: User, new: NewParticipation) -> Participation:
        """Log that a member of a team worked with an agent of it that they may see.

        Members do so for themselves, the team's administrators for anyone in it.

        Raises NotFound for a team, agent or member that is not there, Forbidden, InvalidRequest for an id that is none.
        """
        now = self._clock.now()
        line = Participation(
            log_id=relation_id(),
            team_id=new.team_id,
            task_id=check_id(new.task_id, "task_id"),
            agent_id=check_id(new.agent_id, "agent_id"),
            user_id=check_id(new.user_id, "user_id"),
            source=well_formed(new.source) or UNKNOWN_SOURCE,
            metadata=new.metadata,
            created_at=now if new.created_at is None else new.created_at,
            updated_at=now,
        )

        def work(r: Repositories) -> Participation:
            _require_right(r, instance, line, caller)
            r.tasks.took_part(instance, line)
            return line

        told = Change(
            instance,
            "participation.append",
            line.team_id,
            line.agent_id,
            line.user_id,
            {"participation": [line.log_id]},
        )
        return await self._store.write(audited(work, now, told))

    async def page(
        self, instance: str, caller: User, where: ParticipationFilter, window: Window
    ) -> DirectoryPage[Participation]:
        """Return lines of a team to its members, the newest first. Raises NotFound."""

        def work(r: Repositories) -> DirectoryPage[Participation]:
            require_team(r, instance, where.team_id, caller)
            return r.tasks.participations(instance, where, window)

        return await self._store.read(work)


def _require_right(r: Repositories, instance: str, line: Participation, caller: User) -> None:
    if line.user_id == caller.user_id:
        require_member(r, instance, line.team_id, caller)
    else:
        require_team_admin(r, instance, line.team_id, caller)
        if active_member(r, instance, line.team_id, line.user_id) is None:
            raise NotFound(f"member_not_found: {line.user_id[:128]}")
    agent = r.agents.seen(instance, line.agent_id, line.user_id)
    if agent is None or agent.team_id != line.team_id:
        raise NotFound(f"agent_not_found: {line.agent_id[:128]}")
