"""Whose key it is: asked of the core once in a while, not with every request.

A key that holds is believed for five minutes, one that does not for ten seconds; requests that ask at the same time share
one question. While the core cannot be asked, what it said within the last day goes on to hold, and it is asked again in ten
seconds; a user who is new then cannot be let in. Keys are kept as digests. Source: `reference/proxy.md` §2.2.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from memstrata.clock import Clock, Instant, milliseconds

__all__ = ["CoreSilent", "UserOf", "Verification"]

_log = logging.getLogger(__name__)

UserOf = Callable[[str, str], Awaitable[str]]
"""Returns the user of an instance and a key, "" where the key opens nothing. Raises CoreSilent where the core does not say."""

_HOLDS = milliseconds(300)
_REFUSED = milliseconds(10)
_ASK_AGAIN = milliseconds(10)
_STALE = milliseconds(86_400)
_MOST_KEPT = 10_000

_Key = tuple[str, bytes]


class CoreSilent(Exception):
    """The core did not say whose key it is. The message names the error, never the key."""


@dataclass(frozen=True, slots=True)
class _Said:
    user: str
    at: Instant
    until: Instant


class Verification:
    """Users by instance and key."""

    def __init__(self, user_of: UserOf, clock: Clock) -> None:
        self._user_of = user_of
        self._clock = clock
        self._said: OrderedDict[_Key, _Said] = OrderedDict()
        self._asking: dict[_Key, asyncio.Task[str]] = {}
        self.asked = 0
        self.stale = 0

    async def user(self, instance: str, user_key: str) -> str:
        """Return whose key it is, "" for nobody's. Raises CoreSilent where that is not known and cannot be asked."""
        key = (instance, hashlib.sha256(user_key.encode("utf-8", "surrogateescape")).digest())
        said = self._said.get(key)
        if said is not None and said.until > self._clock.now():
            self._said.move_to_end(key)
            return said.user
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(key, user_key), name="verify-user-key")
            asking.add_done_callback(lambda done: self._done(key, done))
        # One who leaves must not take the question away from the others who wait for it.
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Give up the questions that are under way."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, key: _Key, task: asyncio.Task[str]) -> None:
        self._asking.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may be left

    async def _ask(self, key: _Key, user_key: str) -> str:
        self.asked += 1
        before = self._said.get(key)
        try:
            user = await self._user_of(key[0], user_key)
        except CoreSilent as error:
            now = self._clock.now()
            if before is None or not before.user or before.at + _STALE <= now:
                raise
            self.stale += 1
            _log.warning("the core does not say whose a key is (%s); what it said before holds", error)
            self._keep(key, _Said(before.user, before.at, now + _ASK_AGAIN))
            return before.user
        now = self._clock.now()
        self._keep(key, _Said(user, now, now + (_HOLDS if user else _REFUSED)))
        return user

    def _keep(self, key: _Key, said: _Said) -> None:
        self._said[key] = said
        self._said.move_to_end(key)
        if len(self._said) > _MOST_KEPT:
            self._said.popitem(last=False)
