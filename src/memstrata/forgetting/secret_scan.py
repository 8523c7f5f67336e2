"""Looking for secrets in what was stored before they were taken out at the door, and writing over them.

A secret that was told in a message may stand bare in what was distilled from it ("hunter2", without the word password).
So what messages told is looked for in the memories, scenes and portraits of the same agent too. Every version is
written over, for an old one is as readable as the newest. The answer names rows and kinds, never what they hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from memstrata.clock import Clock
from memstrata.forgetting.forgetter import Forgetter
from memstrata.ids import forgetting_id
from memstrata.records import Profile
from memstrata.records.audit import Change
from memstrata.records.forgetting import ForgettingReceipt, Forgotten, ForgottenCounts
from memstrata.search import Meaning
from memstrata.store.audit import actor
from memstrata.store.protocol import Repositories, Store
from memstrata.store.texts import TEXT_LAYERS, StoredText, TextLayer
from memstrata.text.analyser import index_terms
from memstrata.text.secrets import Secret, secrets_of

__all__ = ["ScanReport", "SecretScan", "SecretsFound"]

_BATCH = 500  # rows in one transaction: others write in between
_LEAST_BARE = 6  # characters: what is shorter may stand anywhere by accident
_PATIENCE_SECONDS = 60.0
_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class SecretsFound:
    """A row that holds secrets. `is_kept`: its owner's policy keeps them."""

    layer: TextLayer
    owner: Profile
    record_id: str
    version: int
    kinds: tuple[str, ...]
    is_kept: bool


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What a scan saw. `found` lists the first thousand rows; `rows` and `kinds` count all; `fixed` counts rows.

    `is_scrubbed`: no byte of what was written over is left in the files of the data folder.
    """

    scanned: int
    rows: int
    fixed: int
    kept: int
    kinds: Mapping[str, int]
    found: tuple[SecretsFound, ...]
    is_scrubbed: bool


@dataclass(slots=True)
class _Progress:
    scanned: int = 0
    rows: int = 0
    fixed: int = 0
    kept: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    found: list[SecretsFound] = field(default_factory=list)
    index_keys: set[str] = field(default_factory=set)
    changed: dict[str, Counter[TextLayer]] = field(default_factory=dict)


class SecretScan:
    """`redacts` says whether an owner's texts lose their secrets; it is asked inside a work."""

    def __init__(
        self,
        store: Store,
        meaning: Meaning,
        forgetter: Forgetter,
        clock: Clock,
        redacts: Callable[[Repositories, Profile], bool],
    ) -> None:
        self._store = store
        self._meaning = meaning
        self._forgetter = forgetter
        self._clock = clock
        self._redacts = redacts

    async def run(self, *, fix: bool) -> ScanReport:
        """Read everything; with `fix`, write over what is found, and wait until its last bytes are out of the files."""
        done = _Progress()
        told: dict[tuple[str, str, str], dict[str, str]] = {}
        for layer in TEXT_LAYERS:
            await self._layer(layer, done, told, fix=fix)
        return ScanReport(
            done.scanned, done.rows, done.fixed, done.kept, dict(sorted(done.kinds.items())), tuple(done.found),
            await self._finish(done),
        )  # fmt: skip

    async def _layer(
        self, layer: TextLayer, done: _Progress, told: dict[tuple[str, str, str], dict[str, str]], *, fix: bool
    ) -> None:
        after = 0
        while rows := await self._store.read(lambda r, after=after: r.texts.page(layer, after, _BATCH)):  # type: ignore[misc]
            after = rows[-1].seq
            done.scanned += len(rows)
            findings = {}
            for row in rows:
                whose = told.setdefault((row.owner.instance, row.owner.team, row.owner.agent), {})
                found = _found(row, whose)
                if not found.kinds:
                    continue
                findings[row.seq] = found
                if layer == "message":
                    whose.update({one.value: one.kind for one in found.secrets if len(one.value) >= _LEAST_BARE})
            if findings:
                hits = [row for row in rows if row.seq in findings]
                kept = await self._settle(hits, findings, done, fix=fix)
                for row in hits:
                    kinds = findings[row.seq].kinds
                    done.rows += 1
                    done.kinds.update(kinds)
                    if len(done.found) < _LISTED:
                        done.found.append(
                            SecretsFound(layer, row.owner, row.record_id, row.version, kinds, row.seq in kept)
                        )

    async def _settle(
        self, hits: list[StoredText], findings: Mapping[int, _Cleaned], done: _Progress, *, fix: bool
    ) -> frozenset[int]:
        """Write over the rows, if that is asked for, and return those that their owner keeps as they are."""

        def look(r: Repositories) -> frozenset[int]:
            owners = {row.owner: self._redacts(r, row.owner) for row in hits}
            return frozenset(row.seq for row in hits if not owners[row.owner])

        if not fix:
            kept = await self._store.read(look)
            done.kept += len(kept)
            return kept

        who, now = actor(), self._clock.now()

        def work(r: Repositories) -> tuple[frozenset[int], set[str]]:
            kept, keys = look(r), set[str]()
            for row in hits:
                if row.seq not in kept:
                    texts = findings[row.seq].texts
                    r.texts.overwrite(row, texts, index_terms(texts[0]))
                    keys.update(r.texts.index_keys(row))
            for instance in {row.owner.instance for row in hits}:
                counts = Counter[str](
                    row.layer for row in hits if row.owner.instance == instance and row.seq not in kept
                )
                if counts:
                    r.audit.append(Change(instance, "secret.remove", counts=counts).entry(who, now))
            return kept, keys

        kept, keys = await self._store.write(work)
        done.kept += len(kept)
        done.fixed += len(hits) - len(kept)
        done.index_keys |= keys
        for row in hits:
            if row.seq not in kept:
                done.changed.setdefault(row.owner.instance, Counter())[row.layer] += 1
        return kept

    async def _finish(self, done: _Progress) -> bool:
        """See to vectors, files and the log; return whether no byte is left."""
        if not done.changed:
            return True
        await self._meaning.reconcile(sorted(done.index_keys))
        self._meaning.start_over()
        now = self._clock.now()
        receipts = [
            ForgettingReceipt(
                forgetting_id(), instance, {"secrets": counts.total()},
                ForgottenCounts(messages=counts["message"], memories=counts["memory"], scenes=counts["document"]),
                "scan", now, complete=False,
            )
            for instance, counts in done.changed.items()
        ]  # fmt: skip

        def work(r: Repositories) -> None:
            for receipt in receipts:
                r.forgettings.add(receipt)

        await self._store.write(work)
        self._forgetter.told(Forgotten(ForgottenCounts()))
        complete = [
            await self._forgetter.completed(one.instance, one.forgetting_id, _PATIENCE_SECONDS) for one in receipts
        ]
        return all(complete)


@dataclass(frozen=True, slots=True)
class _Cleaned:
    texts: tuple[str, ...]
    secrets: tuple[Secret, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(one.kind for one in self.secrets)


def _found(row: StoredText, told: Mapping[str, str]) -> _Cleaned:
    """Return the row's texts without secrets: those that show themselves, and in derived layers those told elsewhere."""
    texts: list[str] = []
    secrets: list[Secret] = []
    for text in row.texts:
        cleaned, found = secrets_of(text)
        secrets += found
        if row.layer != "message":
            for value, kind in told.items():
                if value in cleaned:
                    bare = re.compile(rf"(?<![A-Za-z0-9]){re.escape(value)}(?![A-Za-z0-9])")
                    cleaned, times = bare.subn(f"[redacted:{kind}]", cleaned)
                    secrets += [Secret(kind, value)] * times
        texts.append(cleaned)
    return _Cleaned(tuple(texts), tuple(secrets))
