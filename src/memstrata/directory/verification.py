"""Whose key is this: asked with every request, so answers are kept for a few seconds.

What this process does to users and keys is in force at once; what another one does, when an answer is too old. Neither
expiry nor the state of a user is ever taken from a kept answer that says otherwise now.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace

from memstrata.clock import Clock, Instant
from memstrata.directory.guesses import GuessLimit
from memstrata.directory.key_text import digest_of
from memstrata.errors import Forbidden, Unauthorized, Unavailable
from memstrata.records.audit import Actor, Change
from memstrata.records.people import User, UserKey
from memstrata.store.audit import acting, audited
from memstrata.store.protocol import Repositories, Store

__all__ = ["Verification"]

KEEP_MILLISECONDS = 5_000
MOST_KEPT = 4_096
USE_NOTED_EVERY_MILLISECONDS = 60_000

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Answer:
    user: User
    key: UserKey
    read_at: Instant
    change: int


class Verification:
    """The one place where a key becomes a user."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._guesses = GuessLimit()
        self._kept: OrderedDict[tuple[str, bytes], _Answer] = OrderedDict()
        self._change = 0

    def changed(self) -> None:
        """Ask the store again about every key: users or keys are no longer what they were."""
        self._change += 1

    async def caller(self, instance: str, key: str, source: str = "") -> tuple[User, UserKey]:
        """Return whose key it is, and note its use at most once a minute. `source` is the address it came from.

        Raises Unauthorized for a key that is none or has expired, and without looking for any new key of an address
        that presented ten wrong ones within a minute; Forbidden where the user is inactive.
        """
        now, digest = self._clock.now(), digest_of(key)
        answer = await self._answer(instance, digest, source, now)
        if answer is None or not answer.key.holds_at(now):
            self._guesses.failed(source, digest, now)
            raise Unauthorized("unauthorized: invalid_user_key")
        if answer.user.status != "active":
            raise Forbidden("user_inactive: this user may not do anything")
        await self._note_use(instance, digest, answer, now)
        return answer.user, answer.key

    async def _answer(self, instance: str, digest: bytes, source: str, now: Instant) -> _Answer | None:
        kept = self._kept.get((instance, digest))
        if kept is not None and kept.change == self._change and 0 <= now - kept.read_at < KEEP_MILLISECONDS:
            return kept
        refused_until = self._guesses.refused_until(source, now)
        if kept is None and refused_until is not None:
            raise Unauthorized(
                "unauthorized: too_many_wrong_keys from this address", retry_after=(refused_until - now) / 1000
            )
        change = self._change
        found = await self._store.read(lambda r: r.user_keys.owner(instance, digest))
        if found is None:
            self._kept.pop((instance, digest), None)
            return None
        answer = _Answer(found[1], found[0], now, change)
        self._keep(instance, digest, answer)
        return answer

    async def _note_use(self, instance: str, digest: bytes, answer: _Answer, now: Instant) -> None:
        key = answer.key
        if key.last_used_at is not None and 0 <= now - key.last_used_at < USE_NOTED_EVERY_MILLISECONDS:
            return
        self._keep(instance, digest, replace(answer, key=replace(key, last_used_at=now)))

        def work(r: Repositories) -> None:
            r.user_keys.used(instance, key.key_id, now)

        with acting(Actor("user", answer.user.user_id)):
            used = audited(work, now, Change(instance, "key.use", user=key.user_id, ids={"key": [key.key_id]}))
        try:
            await self._store.write(used)
        except Unavailable as error:
            # A read that the caller may make must not fail because the disk is full.
            _LOG.warning("the use of a key was not noted: %s", error)

    def _keep(self, instance: str, digest: bytes, answer: _Answer) -> None:
        self._kept[instance, digest] = answer
        self._kept.move_to_end((instance, digest))
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
