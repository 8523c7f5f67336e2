"""From what a model said to decisions that can be carried out: pure, and the same for the same words.

In this order: merges of instructions that reach differently far are refused; drafts that say the same as another draft
are absorbed by it; each memory is given to the first draft that replaces it; what is left without a target is stored as
new; then come the revisions. So no fact is lost and no memory is retired twice, whatever was said (user needs A10, A11,
A15, B15, B21). A draft is absorbed only if it replaces nothing itself: nothing that it would have retired stays behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from memstrata.distill.atoms.combine import Combining, reaches_of
from memstrata.distill.atoms.verdicts import Verdict, Verdicts
from memstrata.distill.calls import CallSettings
from memstrata.distill.protocol import Decision, ResolveRequest
from memstrata.records import MemoryDraft, MemoryRecord

__all__ = ["settle"]

_STORE: Final = Verdict("store")


def settle(request: ResolveRequest, heard: Verdicts, settings: CallSettings) -> tuple[Decision, ...]:
    """Return one decision per draft, in their order, then the revisions."""
    return _Settlement(request, heard, Combining(settings.mode, settings.zone)).run()


@dataclass(slots=True)
class _Settlement:
    request: ResolveRequest
    heard: Verdicts
    combining: Combining
    said: list[Verdict] = field(default_factory=list)
    absorber: dict[int, int] = field(default_factory=dict)  # place of a draft → place of the one that takes it in
    claimed: dict[int, int] = field(default_factory=dict)  # seq of a memory → place of the draft that replaces it
    pool: dict[int, MemoryRecord] = field(default_factory=dict)

    def run(self) -> tuple[Decision, ...]:
        drafts = self.request.drafts
        self.pool = {row.seq: row for row in self.request.pool}
        for place in range(len(drafts)):
            self.said.append(self._allowed(place))
        for place in range(len(drafts)):
            self._absorb(place)
        for place in range(len(drafts)):
            self._claim(place)
        for place in range(len(drafts)):
            self._find_support(place)
        sourced = self._with_sources()
        revisions = [
            found for place, verdict in self.heard.revisions for found in self._revision(place, verdict, sourced)
        ]
        return (*(self._decision(place, draft) for place, draft in enumerate(sourced)), *revisions)

    def _allowed(self, place: int) -> Verdict:
        """Return the verdict on a draft, or that it is new where there is none that may be followed."""
        verdict = self.heard.of.get(place)
        if verdict is None:
            self.heard.note(place, "no decision")
            return _STORE
        if verdict.action == "merge":
            drafts = [self.request.drafts[other] for other in (place, *verdict.new)]
            if len(reaches_of([*drafts, *self._rows(verdict.known)])) > 1:
                self.heard.note(place, "a merge of instructions that reach differently far")
                return _STORE
        return verdict

    def _absorb(self, place: int) -> None:
        verdict = self.said[place]
        if verdict.action == "skip" and not verdict.known:
            for other in verdict.new:
                if place not in self.absorber and self._root(other) != place:
                    self.absorber[place] = other
        elif verdict.action in ("update", "merge"):
            taken = [other for other in verdict.new if self._may_take(place, other)]
            self.absorber |= dict.fromkeys(taken, place)
            if len(taken) < len(verdict.new):
                self.heard.note(place, f"{len(verdict.new) - len(taken)} new memories that it cannot take in")
            if not taken and not verdict.known:
                self._store(place, f"{verdict.action} without a target")

    def _may_take(self, place: int, other: int) -> bool:
        return (
            other not in self.absorber and self.said[other].action in ("store", "skip") and self._root(place) != other
        )

    def _claim(self, place: int) -> None:
        verdict = self.said[place]
        if verdict.action not in ("update", "merge"):
            return
        free = tuple(seq for seq in verdict.known if seq not in self.claimed)
        self.claimed |= dict.fromkeys(free, place)
        if len(free) < len(verdict.known):
            self.heard.note(place, f"{len(verdict.known) - len(free)} targets that another decision has")
            self.said[place] = replace(verdict, known=free)
        if not free and place not in self.absorber.values():
            self._store(place, f"{verdict.action} without a target")

    def _find_support(self, place: int) -> None:
        """Give a draft that is to be skipped to what says the same and stays, or store it."""
        verdict = self.said[place]
        if verdict.action != "skip" or place in self.absorber:
            return
        free = [seq for seq in verdict.known if seq not in self.claimed]
        if free:
            self.said[place] = replace(verdict, known=(free[0],))
        elif verdict.known:
            self.heard.note(place, "its target is replaced, so its sources go to what replaces it")
            self.absorber[place] = self.claimed[verdict.known[0]]
        else:
            self._store(place, "skip without a target")

    def _store(self, place: int, note: str) -> None:
        self.heard.note(place, note)
        self.said[place] = _STORE

    def _root(self, place: int) -> int:
        while place in self.absorber:
            place = self.absorber[place]
        return place

    def _with_sources(self) -> list[MemoryDraft]:
        """Return the drafts, each with the sources of those that it has taken in."""
        cited = [set(draft.source_seqs) for draft in self.request.drafts]
        for place in self.absorber:
            cited[self._root(place)] |= set(self.request.drafts[place].source_seqs)
        return [
            replace(draft, source_seqs=tuple(sorted(seqs)))
            for draft, seqs in zip(self.request.drafts, cited, strict=True)
        ]

    def _decision(self, place: int, draft: MemoryDraft) -> Decision:
        note = "; ".join(self.heard.notes.get(place, ()))
        verdict = self.said[place]
        if place in self.absorber:
            return Decision("skip", draft, (), note)
        rows = self._rows(verdict.known)
        match verdict.action:
            case "update":
                combined = self.combining.updated(draft, rows, verdict)
                return Decision("update" if rows else "store", combined, verdict.known, note)
            case "merge":
                taken = [self.request.drafts[other] for other, into in self.absorber.items() if into == place]
                combined = self.combining.merged(draft, (*rows, *taken), verdict)
                return Decision("merge" if rows else "store", combined, verdict.known, note)
            case "skip":
                return Decision("skip", draft, verdict.known, note)
            case _:
                return Decision("store", draft, (), note)

    def _revision(self, place: int, verdict: Verdict, sourced: Sequence[MemoryDraft]) -> list[Decision]:
        if len(verdict.known) != 1 or verdict.new:
            self.heard.note(place, "a revision that does not name one memory")
            return []
        (seq,) = verdict.known
        if seq in self.claimed:
            self.heard.note(place, "a revision of a memory that another decision has")
            return []
        row = self.pool[seq]
        if verdict.content.strip() == row.content.strip():
            self.heard.note(place, "a revision that changes nothing")
            return []
        self.claimed[seq] = place
        return [Decision("revise", self.combining.revised(row, sourced[place].source_seqs, verdict), (seq,))]

    def _rows(self, seqs: Sequence[int]) -> tuple[MemoryRecord, ...]:
        return tuple(self.pool[seq] for seq in seqs)
