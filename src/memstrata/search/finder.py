"""The one way to search: the API, recall, the tools and conflict detection all ask here.

Keyword leg and vector leg run at the same time, each with its own failure. A leg that cannot take part is named, and the
other answers alone; a slow embedder costs its leg and nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Sequence
from datetime import tzinfo
from functools import partial
from typing import TypeVar

from memstrata.clock import Clock
from memstrata.errors import MemstrataError
from memstrata.records import Found, MemoryRecord, Message, Scope
from memstrata.search.bm25 import POSTINGS_BUDGET
from memstrata.search.collection import Collection
from memstrata.search.factors import SPREAD, factors_for
from memstrata.search.fusion import calibrated, rrf
from memstrata.search.keyword import FLOOR, is_nonsense, keyword_leg
from memstrata.search.leg import Leg, LegHit
from memstrata.search.meaning import Meaning
from memstrata.search.ranking import rank
from memstrata.search.vector import VectorLeg
from memstrata.settings import RecallSettings
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MemoryFilter, MessageFilter

__all__ = ["Finder"]

_LOG = logging.getLogger(__name__)

T = TypeVar("T", MemoryRecord, Message)
W = TypeVar("W", MemoryFilter, MessageFilter)

_POOL = 50
_POOL_FACTOR = 10
_POSTINGS_BESIDE = 3_000  # of common words, where meaning looks as well: what they alone would find, it finds sooner
_BEHIND = "vectors are being made; what has none is found by keyword"
_SHARE = 0.8  # of what a caller can wait, that the embedder may take


class Finder:
    """Searches one store."""

    def __init__(self, store: Store, clock: Clock, zone: tzinfo, settings: RecallSettings, meaning: Meaning) -> None:
        self._store = store
        self._clock = clock
        self._zone = zone
        self._settings = settings
        self._meaning = meaning
        self.failures: Counter[str] = Counter()

    @property
    def alike(self) -> float:
        """The cosine from which on two texts may say the same, of the embedder that is there."""
        leg = self._meaning.leg
        return leg.calibration.alike if leg is not None else 1.0

    async def find(
        self,
        collection: Collection[T, W],
        scope: Scope,
        query: str,
        where: W,
        limit: int,
        *,
        floor: float = FLOOR,
        weighted: bool = True,
        within_seconds: float | None = None,
        postings: int = POSTINGS_BUDGET,
        pool: int | None = None,
    ) -> Found[T]:
        """Return the rows of the scope that answer the query, best first, at most `limit`.

        `floor` is the least keyword score. Not `weighted`: words and meaning alone decide, not priority, age and the time
        that the query names. `within_seconds` is what the caller can wait; the embedder gets a part of it. `postings`
        bounds the work for common words, see `keyword_leg`; `pool` is how many rows of each leg are looked at.
        """
        pool = pool or max(_POOL, _POOL_FACTOR * limit)
        factors = factors_for(query, self._clock.now(), self._zone) if weighted else ()
        if self._settings.strategy != "keyword":
            await self._meaning.wanted(self._patience(within_seconds))
        leg, absent = self._leg()
        # With another leg a row may pass any that scores higher by its words; factors lift it by so much and no more.
        enough, spread = None if leg else limit, SPREAD if factors else 1.0
        postings = min(postings, _POSTINGS_BESIDE) if leg else postings

        async def by_words() -> Sequence[LegHit[T]]:
            return await self._store.read(
                lambda r: keyword_leg(
                    r,
                    collection,
                    scope,
                    query,
                    where,
                    pool,
                    floor=floor,
                    enough=enough,
                    spread=spread,
                    postings=postings,
                    gated=self._settings.gate,
                )
            )

        legs: dict[Leg, Sequence[LegHit[T]]] = {}
        degraded = [absent] if absent else []
        if leg is None:
            legs["keyword"] = await by_words()
            return Found(rank(legs, limit, floors={"keyword": floor}, factors=factors), tuple(degraded))
        by_meaning = self._by_meaning(leg, collection, scope, query, where, pool)
        asking = asyncio.create_task(self._arrived(by_meaning, within_seconds), name="vector leg")
        behind = self._meaning.is_behind
        try:
            # By meaning alone, a row without a vector would not be found at all.
            if self._settings.strategy == "hybrid" or behind:
                legs["keyword"] = await by_words()
            near, why = await asking
        finally:
            asking.cancel()
        why = why or (_BEHIND if behind else "")
        degraded += [f"embedding: {why}"] if why else []
        if near is not None:
            legs["vector"] = near
        elif not legs:  # meaning alone was asked for and cannot be had
            legs["keyword"] = await by_words()
        # Ranks compare legs; where only one took part they would say less than its scores.
        by_ranks = self._settings.fusion == "rrf" and len(legs) > 1
        fuse = rrf if by_ranks else partial(calibrated, scale=leg.calibration.scale)
        return Found(rank(legs, limit, floors={"keyword": floor}, fuse=fuse, factors=factors), tuple(degraded))

    def _leg(self) -> tuple[VectorLeg | None, str]:
        """Return the vector leg, or None and what an answer has to say about that."""
        strategy, leg = self._settings.strategy, self._meaning.leg
        if strategy == "keyword":
            return None, ""
        if leg is None and (strategy == "embedding" or self._meaning.is_configured):
            return None, f"embedding: {self._meaning.absent}"
        return leg, ""

    async def _by_meaning(
        self, leg: VectorLeg, collection: Collection[T, W], scope: Scope, query: str, where: W, pool: int
    ) -> tuple[list[LegHit[T]], str]:
        if not any(character.isalnum() for character in query):
            return [], ""  # a model has a vector even for an empty text, and something is near to it
        vector = await leg.vector_of(query)

        def near(r: Repositories) -> tuple[list[LegHit[T]], str]:
            if not self._settings.gate:
                return leg.hits(r, collection, scope, vector, where, pool, floor=-1.0)
            # No cosine tells nonsense from sense, but the words of the scope do.
            if is_nonsense(r, collection, scope, query):
                return [], ""
            return leg.hits(r, collection, scope, vector, where, pool, floor=leg.floor_for(query))

        return await self._store.read(near)

    async def _arrived(
        self, asking: Coroutine[None, None, tuple[list[LegHit[T]], str]], within_seconds: float | None
    ) -> tuple[Sequence[LegHit[T]] | None, str]:
        """Return what the vector leg brings, None if it fails or is late, and what is to be said about it."""
        try:
            async with asyncio.timeout(self._patience(within_seconds)):
                return await asking
        except TimeoutError as error:
            kind, why = type(error).__name__, "the embedder did not answer in time"
        except MemstrataError as error:
            kind, why = type(error).__name__, str(error)
        except Exception as error:  # noqa: BLE001 (an embedder may be anybody's: whatever it raises costs its leg alone)
            kind = type(error).__name__
            why = f"failed: {kind}"
        self.failures["embedding"] += 1
        # An endpoint may quote the question in what it says: the answer tells it, the log does not.
        _LOG.warning("searched without vectors: %s", kind)
        return None, why

    def _patience(self, within_seconds: float | None) -> float:
        """Return how long the embedder may take, where the caller waits so long in all."""
        seconds = self._meaning.patience_seconds
        return seconds if within_seconds is None else min(seconds, _SHARE * within_seconds)
