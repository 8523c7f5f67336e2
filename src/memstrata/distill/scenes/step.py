"""L2: memories that no scene has seen yet are woven into scenes.

Old scenes stay as they are until a checked draft takes their place in one transaction. Times, heat and META are written
by code; what was consumed is exactly what was shown, and what a draft calls unseen waits for the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from memstrata.clock import Instant
from memstrata.distill.protocol import SceneDraft, SceneRequest, SceneView, SceneWrite
from memstrata.distill.run import StepContext, log_rejected, record_run
from memstrata.distill.scenes.names import scene_file_name
from memstrata.distill.validate import Rejected, valid_scene
from memstrata.records import (
    CustomPrompt,
    Lease,
    MemoryRecord,
    NewDocument,
    Poison,
    Profile,
    ProfileTarget,
    PromptTarget,
    Retry,
    RunOutput,
    RunRecord,
)
from memstrata.store.protocol import Repositories
from memstrata.text.language import main_language

__all__ = ["ScenesStep", "scene_views"]

MEMORIES_A_RUN = 50


@dataclass(frozen=True, slots=True)
class _Snapshot:
    memories: tuple[MemoryRecord, ...]
    scenes: tuple[SceneView, ...]
    custom: CustomPrompt | None


class ScenesStep:
    """The handler of `l2` jobs."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    async def __call__(self, lease: Lease) -> Retry | Poison | None:
        """Consolidate the next memories of the lease's profile."""
        target = lease.target
        assert isinstance(target, ProfileTarget)
        context = self._context
        started = context.clock.now()
        snapshot = await context.store.read(lambda r: _snapshot(r, target.profile))
        if not snapshot.memories:
            await context.store.write(lambda r: self._end(r, lease, target.profile))
            return None
        language = main_language(memory.content for memory in snapshot.memories)
        draft = await context.distiller.consolidate(
            SceneRequest(
                target.profile,
                language,
                snapshot.memories,
                snapshot.scenes,
                context.settings.max_scenes,
                started,
                snapshot.custom,
            )
        )
        if not isinstance(draft, SceneDraft):
            return draft
        writes, rejected = _checked(draft, snapshot)
        log_rejected("l2", lease, rejected)
        removals = _removable(draft, writes, snapshot)
        if not writes and not removals:
            why = f": {rejected[0].reason}" if rejected else ""
            return Retry(f"the run changed no scene{why}", provenance=draft.provenance)
        if not _seen(draft, snapshot):
            return Retry("the run looked at none of its memories", provenance=draft.provenance)
        if not await context.store.write(
            lambda r: self._commit(r, lease, target, snapshot, draft, writes, removals, started)
        ):
            return Retry(
                "scenes or their memories were changed by somebody else meanwhile", provenance=draft.provenance
            )
        return None

    def _commit(
        self,
        r: Repositories,
        lease: Lease,
        target: ProfileTarget,
        snapshot: _Snapshot,
        draft: SceneDraft,
        writes: Sequence[SceneWrite],
        removals: Sequence[str],
        started: Instant,
    ) -> bool:
        """Store the checked draft; False, and nothing is stored, if what it was made from is no longer there."""
        context, profile = self._context, target.profile
        r.jobs.hold(lease)
        # All that the model has seen: a sentence may come from a memory that its scene does not cite.
        shown = {memory.seq for memory in snapshot.memories}
        shown |= {memory.seq for view in snapshot.scenes for memory in view.memories}
        live = {view.document.path: view.document for view in snapshot.scenes}
        edited = set(live.values()) != set(r.profiles.documents(profile, "scene"))
        if edited or shown - r.profiles.known(profile, shown):
            return False
        now = context.clock.now()
        retired = 0
        outputs: list[RunOutput] = []
        for write in writes:
            replaced = [live[path] for path in (write.path, *write.absorbs) if path in live]
            # New 1, update +1, merge sum + 1: how often memory has met this theme.
            heat = 1 + sum(document.heat for document in replaced)
            created = min([document.created_at for document in replaced] or [now])
            document = NewDocument(
                "scene", write.path, write.body, write.summary, heat, context.distiller.origin, created, now,
                write.memory_seqs,
            )  # fmt: skip
            written = r.profiles.write(profile, document)
            rows = tuple(document.seq for document in replaced)
            outputs.append(RunOutput("l2", written.seq, "write", write.memory_seqs, rows))
            retired += sum(r.profiles.retire(profile, "scene", path, now) for path in write.absorbs)
        retired += sum(r.profiles.retire(profile, "scene", path, now) for path in removals)
        outputs += [RunOutput("l2", live[path].seq, "remove") for path in removals]
        seen = _seen(draft, snapshot)
        r.profiles.mark_consumed(profile, seen)
        r.profiles.scenes_done(profile, now)
        if draft.persona_request:
            r.profiles.request_persona(profile, draft.persona_request[:200])
        outcome = RunRecord(
            "l2", "items", seen[0], seen[-1], len(writes), retired, context.distiller.origin, started, now, "",
            draft.provenance, tuple(outputs),
        )  # fmt: skip
        record_run(r, target, outcome)
        self._end(r, lease, profile)
        return True

    def _end(self, r: Repositories, lease: Lease, profile: Profile) -> None:
        """End this job, or set it again for memories that came meanwhile; start L3 if it has a reason."""
        now = self._context.clock.now()
        r.jobs.hold(lease)
        state = r.profiles.state(profile)
        r.jobs.finish(lease, self._context.planner.next_l2(state, now) if state else None)
        if state is not None and self._context.planner.l3_reason(state) is not None:
            r.jobs.arm("l3", lease.target, now, only_earlier=True)


def scene_views(r: Repositories, profile: Profile) -> tuple[SceneView, ...]:
    """Return every live scene with the live memories it was built from."""
    documents = r.profiles.documents(profile, "scene")
    return tuple(SceneView(document, r.profiles.sources(profile, document.seq)) for document in documents)


def _snapshot(r: Repositories, profile: Profile) -> _Snapshot:
    custom = r.prompts.effective(PromptTarget(profile.instance, profile.team, profile.agent), "l2")
    return _Snapshot(r.profiles.unconsumed(profile, MEMORIES_A_RUN), scene_views(r, profile), custom)


def _seen(draft: SceneDraft, snapshot: _Snapshot) -> tuple[int, ...]:
    """Return the memories that the distiller looked at."""
    unseen = set(draft.unseen)
    return tuple(memory.seq for memory in snapshot.memories if memory.seq not in unseen)


def _removable(draft: SceneDraft, writes: Sequence[SceneWrite], snapshot: _Snapshot) -> tuple[str, ...]:
    """Return the scenes that may go: live ones that the same run does not write, and that no person wrote."""
    written = {write.path for write in writes}
    ours = {view.document.path for view in snapshot.scenes if view.document.origin != "human"}
    return tuple(path for path in dict.fromkeys(draft.removals) if path in ours - written)


def _checked(draft: SceneDraft, snapshot: _Snapshot) -> tuple[list[SceneWrite], list[Rejected]]:
    """Return the writes that may be stored and those that may not. A scene that a person wrote gets a sibling instead."""
    documents = {view.document.path: view.document for view in snapshot.scenes}
    shown = {memory.seq for memory in snapshot.memories} | {m.seq for view in snapshot.scenes for m in view.memories}
    writes: list[SceneWrite] = []
    rejected: list[Rejected] = []
    taken = set(documents)
    for proposed in draft.writes:
        path = proposed.path
        if path in documents and documents[path].origin == "human":
            path = scene_file_name(PurePosixPath(path).stem, taken)
        absorbs = tuple(one for one in proposed.absorbs if one in documents and documents[one].origin != "human")
        moved = SceneWrite(path, proposed.body, proposed.summary, proposed.memory_seqs, absorbs)
        checked = valid_scene(moved, paths=documents, memory_seqs=shown)
        if isinstance(checked, Rejected):
            rejected.append(checked)
        elif checked.path in {write.path for write in writes}:
            rejected.append(Rejected("written twice in one run", checked.path))
        else:
            writes.append(checked)
            taken.add(checked.path)
    return writes, rejected
