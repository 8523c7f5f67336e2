"""L2 with a model: it works on a bench of files, and what lies there at the end is checked before it becomes a draft.

A run that fails at any point proposes nothing, so old scenes are never half rewritten (user needs B32). What violates a
rule is told to the model once; what is still wrong then is left out, and the memories that only it had taken up wait for
the next run. A run that changes nothing while it had input has failed (pipeline reference W8).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstrata.distill.calls import Aliases, CallSettings, failed, new_mark
from memstrata.distill.conversation import FINAL_WORD, Conversation
from memstrata.distill.protocol import SceneDraft, SceneRequest, SceneView, SceneWrite
from memstrata.distill.scenes.likeness import nearest, told_in
from memstrata.distill.scenes.meta import one_line
from memstrata.distill.scenes.prompt import PERSONA_REQUEST, UNTOUCHED, repair_text, scene_system, scene_text
from memstrata.distill.validate import MAX_SCENE, MAX_SUMMARY, Rejected, valid_scene
from memstrata.distill.workbench import BenchFile, BenchRules, Workbench
from memstrata.llm.ask import outcome_of
from memstrata.llm.errors import CallFailed
from memstrata.llm.protocol import Chat
from memstrata.records import Divisible, MemoryRecord, Poison, Provenance, Retry
from memstrata.text.graphemes import cut

__all__ = ["consolidate_with_model", "persona_request"]

_MEMORIES = 50
_MEMORY_CHARACTERS = 12_000
_REASON_CHARACTERS = 200

_BY_A_PERSON: Final = "this file was written by a person and stays as it is; write a new file beside it"

_BLOCK = re.compile(rf"\[{PERSONA_REQUEST}\](.*?)(?:\[/{PERSONA_REQUEST}\]|\Z)", re.DOTALL)
_INLINE = re.compile(rf"^[ \t*>#-]{{0,8}}{PERSONA_REQUEST}[ \t*]{{0,4}}[:：](.*)$", re.MULTILINE)
_REASON = re.compile(r"^[ \t*-]{0,8}reason[ \t*]{0,4}[:：](.*)$", re.MULTILINE | re.IGNORECASE)
_DECLINED = frozenset({"no", "none", "n/a", "false", "not needed", "无", "否", "不需要"})
_SENTENCE = re.compile(r".+?(?:[.!?](?=\s|$)|[。！？]|$)")
_LINE_MARKS = re.compile(r"^[\s>*+-]+|^\d+[.)]\s+")


async def consolidate_with_model(
    chat: Chat, request: SceneRequest, settings: CallSettings
) -> SceneDraft | Retry | Poison:
    """Weave the request's memories into scenes; `unseen` names those that there was no room for.

    Where a call fails in a way that less input may cure, the run is made again with the first half of the memories.
    """
    if len(request.scenes) >= request.max_scenes and all(view.document.origin == "human" for view in request.scenes):
        return Poison(f"all {request.max_scenes} scenes were written by people: there is no room to add one")
    portion = _portion(request.memories)
    spent: list[Provenance] = []
    while True:
        outcome = await _Run(chat, request, portion, settings).draft()
        spent.append(outcome.provenance)
        if not isinstance(outcome, Divisible) or len(portion) <= 1:
            return replace(outcome, provenance=sum(spent[1:], spent[0]))
        portion = portion[: len(portion) // 2]


def persona_request(text: str) -> str:
    """Return why a reply asks for a new portrait, on one line; "" when it does not ask."""
    block = _BLOCK.search(text)
    if block is not None:
        reason = _REASON.search(block[1])
        said = reason[1] if reason else block[1].replace(FINAL_WORD, "")
    elif (inline := _INLINE.search(text)) is not None:
        said = inline[1]
    else:
        return ""
    words = one_line(said).strip(" *:：")
    if words.casefold().rstrip(".。") in _DECLINED:
        return ""
    return cut(words, _REASON_CHARACTERS, "…") or "asked for without a reason"


@dataclass(frozen=True, slots=True)
class _Review:
    """What of the bench may be stored, what not, and why."""

    writes: tuple[SceneWrite, ...]
    refused: tuple[SceneWrite, ...]
    faults: tuple[str, ...]


class _Run:
    """One conversation about one portion of the memories."""

    def __init__(
        self, chat: Chat, request: SceneRequest, portion: tuple[MemoryRecord, ...], settings: CallSettings
    ) -> None:
        self._request = request
        self._portion = portion
        self._zone = settings.zone
        self._views = {view.document.path: view for view in request.scenes}
        self._aliases = Aliases("m", (memory.seq for memory in portion))
        rules = BenchRules(MAX_SCENE, request.max_scenes)
        self._bench = Workbench([_file(view) for view in request.scenes], rules, self._aliases)
        system = scene_system(settings.mode, request.custom)
        self._talk = Conversation(chat, "consolidate", "l2", system, request.custom, settings, self._bench)

    async def draft(self) -> SceneDraft | Retry | Poison:
        talk = self._talk
        try:
            answer = await talk.say(scene_text(self._request, self._portion, self._aliases, new_mark(), self._zone))
            review = self._review()
            if review.faults or self._is_untouched():
                talk.note(*(review.faults or ("asked again: no file was written",)))
                second = await talk.say(repair_text(review.faults) if review.faults else UNTOUCHED)
                answer = f"{second}\n{answer}"
                review = self._review()
        except CallFailed as failure:
            return failed(outcome_of(failure), talk.made())
        if not review.writes:
            why = "; ".join(review.faults or self._bench.notes[:3])
            return Retry("the run changed no scene" + (f": {why}" if why else ""), provenance=talk.made())
        talk.note(*(f"left out: {fault}" for fault in review.faults))
        return SceneDraft(
            review.writes,
            persona_request=persona_request(answer),
            unseen=self._unseen(review),
            provenance=talk.made(),
        )

    def _is_untouched(self) -> bool:
        """Say whether nothing was even tried: what was refused has been told as a result already."""
        return not (self._bench.staged or self._bench.removed or self._bench.notes)

    def _review(self) -> _Review:
        """Check what lies on the bench with the one validator, and find heirs for what is to be removed."""
        kept: dict[str, SceneWrite] = {}
        refused: list[SceneWrite] = []
        faults: list[str] = []
        shown = {memory.seq for memory in self._portion} | {m.seq for v in self._views.values() for m in v.memories}
        for path in self._bench.staged:
            write = self._write(path)
            checked = valid_scene(write, paths=self._views, memory_seqs=shown)
            if isinstance(checked, Rejected):
                refused.append(write)
                faults.append(f"{path}: {checked.reason}")
            else:
                kept[path] = checked
        while (over := self._too_many(kept)) > 0 and (added := [path for path in kept if path not in self._views]):
            most = self._request.max_scenes
            faults.append(f"{added[-1]}: with it there would be {most + over} files, at most {most} may be")
            refused.append(kept.pop(added[-1]))
        for path in self._bench.removed:
            if not kept:
                faults.append(f"{path} was to be removed, but no file of this run carries on what it said")
                continue
            if not any(path in write.absorbs for write in kept.values()):
                bodies = {other: write.body for other, write in kept.items()}
                heir = nearest(self._views[path].document.body, bodies)
                kept[heir] = self._absorbing(kept[heir], (path,))
        return _Review(tuple(kept.values()), tuple(refused), tuple(faults))

    def _write(self, path: str) -> SceneWrite:
        """Return a staged file as a proposal, its sources united by code."""
        staged = self._bench.staged[path]
        own = self._views[path].memories if path in self._views else ()
        sources = {*self._taken_up(path), *(memory.seq for memory in own)}
        write = SceneWrite(path, staged.text, staged.summary or _first_sentence(staged.text), tuple(sorted(sources)))
        return self._absorbing(write, tuple(other for other, heir in self._heirs().items() if heir == path))

    def _heirs(self) -> dict[str, str]:
        """Return which file takes over which: a file that is written itself goes on, of two that claim one the first has it."""
        heirs: dict[str, str] = {}
        for path, staged in self._bench.staged.items():
            for other in staged.merges:
                if other not in self._bench.staged:
                    heirs.setdefault(other, path)
        return heirs

    def _absorbing(self, write: SceneWrite, paths: tuple[str, ...]) -> SceneWrite:
        taken_over = {memory.seq for path in paths for memory in self._views[path].memories}
        seqs = tuple(sorted(taken_over.union(write.memory_seqs)))
        return replace(write, memory_seqs=seqs, absorbs=(*write.absorbs, *paths))

    def _taken_up(self, path: str) -> tuple[int, ...]:
        """Return the new memories that a staged file rests on: those named, else those it tells, else all."""
        staged = self._bench.staged[path]
        return staged.memory_seqs or told_in(staged.text, self._portion) or tuple(m.seq for m in self._portion)

    def _too_many(self, kept: dict[str, SceneWrite]) -> int:
        gone = {path for write in kept.values() for path in write.absorbs}
        if kept:
            gone |= set(self._bench.removed)
        left = {*self._views, *kept} - (gone - set(kept))
        return len(left) - self._request.max_scenes

    def _unseen(self, review: _Review) -> tuple[int, ...]:
        """Return the memories that were not shown, and those that only refused files had taken up."""
        refused = {seq for write in review.refused for seq in self._taken_up(write.path)}
        kept = {seq for write in review.writes for seq in self._taken_up(write.path)}
        shown = {memory.seq for memory in self._portion}
        waiting = refused - kept
        return tuple(
            memory.seq for memory in self._request.memories if memory.seq not in shown or memory.seq in waiting
        )


def _portion(memories: Sequence[MemoryRecord]) -> tuple[MemoryRecord, ...]:
    """Return as many memories from the start as one run takes, one at least."""
    room = _MEMORY_CHARACTERS
    portion: list[MemoryRecord] = []
    for memory in memories[:_MEMORIES]:
        room -= len(memory.content)
        if room < 0 and portion:
            break
        portion.append(memory)
    return tuple(portion)


def _file(view: SceneView) -> BenchFile:
    document = view.document
    return BenchFile(document.path, document.body, document.summary, _BY_A_PERSON if document.origin == "human" else "")


def _first_sentence(text: str) -> str:
    """Return what a scene says first, for want of a summary: headings say nothing."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    first = one_line(_LINE_MARKS.sub("", lines[0] if lines else text))
    sentence = _SENTENCE.match(first)
    return cut(sentence[0] if sentence else first, MAX_SUMMARY, "…")
