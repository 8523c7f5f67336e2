"""Whose texts lose their secrets before they are written, and how many have.

What a text holds is a matter of the text alone; whether it goes is the rule of its owner: a policy, else the setting. The
rule is asked for only where there is something to take out, so that a write without secrets costs no read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence

from memstrata.records import ComponentHealth, Profile, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.text.secrets import redact

__all__ = ["Redaction"]

_MANY_CHARACTERS = 20_000


class Redaction:
    """`redacts` is what holds where no policy says otherwise."""

    def __init__(self, store: Store, *, redacts: bool) -> None:
        self._store = store
        self._usual = redacts
        self._counts: Counter[str] = Counter()

    def in_force(self, r: Repositories, owner: Scope | Profile) -> bool:
        """Say whether the owner's texts lose their secrets. For use inside a work."""
        said = r.policies.effective(owner.instance, owner.team, owner.agent, owner.user).redact_secrets
        return self._usual if said is None else said

    async def cleaned(self, owner: Scope | Profile, texts: Sequence[str]) -> tuple[str, ...]:
        """Return the texts as they may be written for the owner."""
        if sum(map(len, texts)) > _MANY_CHARACTERS:  # about a second for each megabyte, which others would wait for
            found = await asyncio.to_thread(lambda: [redact(text) for text in texts])
        else:
            found = [redact(text) for text in texts]
        kinds = [kind for one in found for kind in one.kinds]
        if not kinds or not await self._store.read(lambda r: self.in_force(r, owner)):
            return tuple(texts)
        self.count(kinds)
        return tuple(one.text for one in found)

    def count(self, kinds: Iterable[str]) -> None:
        """Add to what health tells, what was taken out and stored."""
        self._counts.update(kinds)

    def health(self) -> ComponentHealth:
        """Return how many secrets were taken out since the start, in all and of each kind."""
        details = {"redacted": self._counts.total(), **dict(sorted(self._counts.items()))}
        return ComponentHealth("ok", "" if self._usual else "off where no policy says otherwise", details)
