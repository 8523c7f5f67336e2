"""What goes from a store, and when: the delete path, receipts of what was forgotten, and how long anything is kept."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from memstrata.clock import Instant
from memstrata.records import Deletion, Scope
from memstrata.records.forgetting import Forgetting, ForgettingReceipt, Forgotten
from memstrata.records.policy import EffectivePolicy, Policy

__all__ = ["Erasure", "Forgettings", "Policies"]


class Erasure(Protocol):
    """The one delete path. It reaches every copy: rows, terms, sources, documents, receipts, jobs and mirror files."""

    def messages(
        self, scope: Scope, message_ids: Collection[str], session_ids: Collection[str], task_id: str | None
    ) -> Deletion: ...
    def memories(self, scope: Scope, memory_ids: Collection[str], task_id: str | None) -> Deletion: ...
    def agents_named(self, instance: str, memory_id: str) -> frozenset[tuple[str, str]]:
        """Return the agents, as (team, agent), that an id `chat_memory-<team>-<agent>` may mean; none: nobody's.

        What the directory knows goes before what the id may be read as: ids that hold hyphens can be read in several
        ways (team `a-b`, agent `c`; team `a`, agent `b-c`).
        """
        ...

    def agent(self, instance: str, team: str, agent: str) -> Deletion:
        """Empty all memory of an agent."""
        ...

    def forget(self, what: Forgetting, *, dry_run: bool = False) -> Forgotten:
        """Take out what a selector reaches, and what was noted about it; with `dry_run` only say what that is.

        Of a user who is forgotten as a whole the name goes too.
        """
        ...

    def expire(self, scope: Scope, before: Instant, limit: int) -> Forgotten:
        """Take out at most `limit` messages that were recorded before, and memories last changed before that nobody's
        words support any more. Scenes and portraits stay, and rest on less."""
        ...

    def merge_terms(self, *, begins: bool) -> bool:
        """Do a part of what takes deleted rows' terms out of the keyword indexes; return whether more is left.

        `begins`: with all that is deleted by now; else go on with that.
        """
        ...

    def old_receipts(self, before: Instant) -> int: ...


class Forgettings(Protocol):
    """Receipts of what was forgotten."""

    def add(self, receipt: ForgettingReceipt) -> None: ...
    def one(self, instance: str, forgetting_id: str) -> ForgettingReceipt | None: ...
    def unfinished(self) -> tuple[str, ...]:
        """Return the ids of all receipts that are not complete, whosever they are."""
        ...

    def complete(self, forgetting_ids: Collection[str]) -> None: ...


class Policies(Protocol):
    """What is kept for how long, and what is redacted, by parts of an instance."""

    def effective(self, instance: str, team: str, agent: str, user: str) -> EffectivePolicy:
        """Return what holds for a scope, or a part with empty names, rule by rule.

        What is said for a user goes before what is said for an agent, that before what is said for a team.
        """
        ...

    def one(self, instance: str, team: str, agent: str, user: str) -> Policy | None: ...
    def put(self, policy: Policy) -> None:
        """Set the policy of a part of an instance; one without any rule is removed."""
        ...

    def page(self, instance: str, limit: int, offset: int) -> tuple[tuple[Policy, ...], int]: ...
    def retained(self, default_days: int) -> tuple[tuple[Scope, int], ...]:
        """Return all scopes that hold rows which are to be kept for so many days only."""
        ...
