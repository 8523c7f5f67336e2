"""A model of several scopes in one data folder: what each has said and what must be known of it, as plain sets.

Every text carries a canary, a word that exists once, so that each answer can be asked whose words it holds. The model
says what the answers must be; it knows nothing of tables, jobs or files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from memstrata.records import Profile, ProfileScope, Scope

__all__ = ["Known", "Said", "Tenants", "canaries_of", "new_canary"]

# Letters alone, and no vowel: the analyser finds neither parts nor endings in such a word.
_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrtvw")
_CANARY = re.compile(r"kx[bcdfghjkmnpqrtvw]{14}")


def new_canary(seed: str) -> str:
    """Return the word of a seed."""
    return f"kx{hashlib.sha256(seed.encode()).hexdigest()[:14].translate(_LETTERS)}"


def canaries_of(answer: object) -> frozenset[str]:
    """Return the canaries that stand anywhere in an answer."""
    return frozenset(_CANARY.findall(repr(answer)))


@dataclass(slots=True)
class Said:
    """One message. `order` rises with each one stored."""

    order: int
    scope: Scope
    session: str
    task: str
    message_id: str
    role: str
    content: str
    distilled: bool = False


@dataclass(slots=True)
class Known:
    """One live memory: its text in all versions, the last one live, and the messages it rests on."""

    versions: list[str]
    sources: set[int]

    @property
    def content(self) -> str:
        return self.versions[-1]


@dataclass(slots=True)
class Tenants:
    """All scopes of a data folder."""

    profile_scope: ProfileScope
    said: list[Said] = field(default_factory=list)
    known: dict[Scope, list[Known]] = field(default_factory=dict)
    keys: set[tuple[Scope, str, str]] = field(default_factory=set)
    written_by_hand: dict[Profile, set[str]] = field(default_factory=dict)
    met: set[tuple[str, str, str]] = field(default_factory=set)
    _buried: dict[tuple[Scope, str], int] = field(default_factory=dict)
    _orders: int = 0
    _canaries: int = 0

    def canary(self) -> str:
        """Return a word that was never said before."""
        self._canaries += 1
        return new_canary(str(self._canaries))

    def profile(self, scope: Scope) -> Profile:
        """Return whose scenes and persona the scope sees; worked out here, not by the code under test."""
        return Profile(
            scope.instance, scope.team, scope.agent, scope.user if self.profile_scope == "agent_user" else ""
        )

    # What is there --------------------------------------------------------------------------------------------------

    def messages(self, scope: Scope, session: str | None = None) -> list[Said]:
        return [one for one in self.said if one.scope == scope and session in (None, one.session)]

    def pending(self, scope: Scope) -> int:
        return sum(not one.distilled for one in self.messages(scope))

    def memories(self, scope: Scope) -> list[Known]:
        return self.known.setdefault(scope, [])

    def spoken_canaries(self, scope: Scope) -> frozenset[str]:
        """Return what L0 of the scope may show."""
        return canaries_of([one.content for one in self.messages(scope)])

    def memory_canaries(self, scope: Scope) -> frozenset[str]:
        """Return what L1 of the scope may show: live texts, and those that they replaced."""
        return canaries_of([one.versions for one in self.memories(scope)])

    def profile_canaries(self, profile: Profile) -> frozenset[str]:
        """Return what L2 and L3 of the profile may show: the memories of all its scopes, and what was written by hand."""
        memories = (self.memory_canaries(scope) for scope in self.known if self.profile(scope) == profile)
        return frozenset(self.written_by_hand.get(profile, ())).union(*memories)

    def living_canaries(self) -> frozenset[str]:
        """Return everything that may still be found anywhere."""
        spoken = (self.spoken_canaries(one.scope) for one in self.said)
        profiles = {self.profile(scope) for scope in self.known} | self.written_by_hand.keys()
        return frozenset().union(*spoken, *(self.profile_canaries(profile) for profile in profiles))

    # What happens ---------------------------------------------------------------------------------------------------

    def accepts(self, scope: Scope, session: str, key: str | None, ids: Iterable[str]) -> bool:
        """Say whether new texts under this key and these ids contradict nothing that is stored."""
        taken = {one.message_id for one in self.messages(scope, session)}
        return (scope, session, key) not in self.keys and taken.isdisjoint(ids)

    def say(
        self, scope: Scope, session: str, task: str, key: str | None, messages: Iterable[tuple[str, str, str]]
    ) -> None:
        """Store messages, each (id, role, content)."""
        self.met.add((scope.instance, scope.team, scope.agent))
        if key is not None:
            self.keys.add((scope, session, key))
        for message_id, role, content in messages:
            self._orders += 1
            self.said.append(Said(self._orders, scope, session, task, message_id, role, content))

    def distill(self, scope: Scope) -> None:
        """Every waiting user message becomes a memory, or supports the one that says the same."""
        for one in self.messages(scope):
            if one.distilled:
                continue
            one.distilled = True
            if one.role == "user" and self._buried.get((scope, one.content), 0) < one.order:
                same = next((memory for memory in self.memories(scope) if memory.content == one.content), None)
                if same is None:
                    self.memories(scope).append(Known([one.content], {one.order}))
                else:
                    same.sources.add(one.order)

    def unsay(self, chosen: Callable[[Said], bool]) -> tuple[int, int]:
        """Delete messages with the memories that rest on nothing else; return how many of each."""
        gone = [one for one in self.said if chosen(one)]
        orders = {one.order for one in gone}
        self.said = [one for one in self.said if one.order not in orders]
        erased = 0
        for scope, memories in self.known.items():
            left = [memory for memory in memories if not memory.sources <= orders]
            erased += len(memories) - len(left)
            self.known[scope] = left
            for memory in left:
                memory.sources -= orders
        for scope, session in {(one.scope, one.session) for one in gone}:
            if not self.messages(scope, session):
                self.keys = {key for key in self.keys if key[:2] != (scope, session)}
        return len(gone), erased

    def forget(self, scope: Scope, memory: Known) -> None:
        """Delete a memory in all versions; what has been said so far never brings it back."""
        self.memories(scope).remove(memory)
        last = max((one.order for one in self.said), default=0)
        for content in memory.versions:
            self._buried[scope, content] = last

    def agents_named(self, instance: str, asset: str) -> list[tuple[str, str]]:
        """Return the (team, agent) that an asset id fits."""
        return [
            (team, agent) for its, team, agent in self.met if its == instance and f"chat_memory-{team}-{agent}" == asset
        ]

    def clear(self, instance: str, team: str, agent: str) -> tuple[int, int]:
        """Empty all memory of an agent; return how many messages and memories went."""
        scopes = [
            scope for scope in self._scopes() if (scope.instance, scope.team, scope.agent) == (instance, team, agent)
        ]
        memories = sum(len(self.memories(scope)) for scope in scopes)
        messages, _ = self.unsay(lambda one: one.scope in scopes)
        for scope in scopes:
            self.known[scope] = []
        for profile in self.written_by_hand:
            if (profile.instance, profile.team, profile.agent) == (instance, team, agent):
                self.written_by_hand[profile] = set()
        return messages, memories

    def _scopes(self) -> Iterator[Scope]:
        yield from {one.scope for one in self.said} | self.known.keys()
