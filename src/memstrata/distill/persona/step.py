"""L3: scenes become one short portrait.

Whether it is time is asked again when the job runs; a portrait that fails stays due, one that changes nothing is no new
version. A portrait that a person wrote stays live: what the pipeline draws then is a proposal in its history.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.distill.protocol import PersonaDraft, PersonaRequest, SceneView
from memstrata.distill.run import StepContext, record_run
from memstrata.distill.scenes.step import scene_views
from memstrata.distill.validate import Rejected, valid_persona
from memstrata.records import (
    PERSONA_PATH,
    CustomPrompt,
    Lease,
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
from memstrata.store.shapes import ProfileState
from memstrata.text.language import main_language

__all__ = ["PersonaStep"]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    state: ProfileState | None
    scenes: tuple[SceneView, ...]
    custom: CustomPrompt | None


class PersonaStep:
    """The handler of `l3` jobs."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    async def __call__(self, lease: Lease) -> Retry | Poison | None:
        """Draw the portrait of the lease's profile, if there is still a reason to."""
        target = lease.target
        assert isinstance(target, ProfileTarget)
        context = self._context
        started = context.clock.now()
        snapshot = await context.store.read(lambda r: _snapshot(r, target.profile))
        state = snapshot.state
        if state is None or not snapshot.scenes or not self._wanted(state):
            await context.store.write(lambda r: _end(r, lease))
            return None
        language = main_language(memory.content for view in snapshot.scenes for memory in view.memories)
        previous = state.persona.body if state.persona else ""
        changed = {view.document.path for view in snapshot.scenes if view.document.seq > state.portrayed_document}
        reason = context.planner.l3_reason(state) or "flush"
        draft = await context.distiller.portray(
            PersonaRequest(
                target.profile,
                language,
                snapshot.scenes,
                previous,
                started,
                reason,
                frozenset(changed),
                snapshot.custom,
            )
        )
        if not isinstance(draft, PersonaDraft):
            return draft
        body = _checked(draft, previous)
        if isinstance(body, Rejected):
            return Retry(f"the portrait was refused: {body.reason}", provenance=draft.provenance)
        if not await context.store.write(lambda r: self._commit(r, lease, target, snapshot, draft, body, started)):
            return Retry(
                "the portrait or its memories were changed by somebody else meanwhile", provenance=draft.provenance
            )
        return None

    def _wanted(self, state: ProfileState) -> bool:
        """Say whether a rule wants a portrait, or a flush asked for one and there is something new to draw from."""
        return self._context.planner.l3_reason(state) is not None or state.changed_scenes > 0

    def _commit(
        self,
        r: Repositories,
        lease: Lease,
        target: ProfileTarget,
        snapshot: _Snapshot,
        draft: PersonaDraft,
        body: str,
        started: Instant,
    ) -> bool:
        """Store the checked portrait; False, and nothing is stored, if what it was made from is no longer there."""
        context, profile = self._context, target.profile
        state = snapshot.state
        assert state is not None
        r.jobs.hold(lease)
        shown = {memory.seq for view in snapshot.scenes for memory in view.memories}.union(draft.memory_seqs)
        if (
            shown - r.profiles.known(profile, shown)
            or r.profiles.document(profile, "persona", PERSONA_PATH) != state.persona
        ):
            return False
        now = context.clock.now()
        origin = context.distiller.origin
        output = _store(r, profile, snapshot, NewDocument(
            "persona", PERSONA_PATH, body, "", 1, origin, state.persona.created_at if state.persona else now, now,
            draft.memory_seqs,
        ))  # fmt: skip
        r.profiles.portrait_done(profile, now, state.last_memory, state.last_document)
        outcome = RunRecord(
            "l3", "items" if output else "nothing", 0, state.last_document, int(output is not None), 0, origin, started,
            now, "", draft.provenance, (output,) if output else (),
        )  # fmt: skip
        record_run(r, target, outcome)
        _end(r, lease)
        return True


def _checked(draft: PersonaDraft, previous: str) -> str | Rejected:
    """Return the portrait's text as it may be stored. The text that is there needs no check, whoever wrote it."""
    if draft.body == previous or not (draft.body.strip() or draft.memory_seqs):
        return draft.body
    return valid_persona(draft.body)


def _store(r: Repositories, profile: Profile, snapshot: _Snapshot, portrait: NewDocument) -> RunOutput | None:
    """Write the portrait, or propose it beside one that a person wrote; None when that is what is there already."""
    live = snapshot.state.persona if snapshot.state else None
    scenes = tuple(view.document.seq for view in snapshot.scenes)
    if live is not None and live.origin == "human" and live.body.strip():
        newest, _ = r.profiles.versions(profile, "persona", PERSONA_PATH)[0]
        if not portrait.body or portrait.body in (live.body, newest.body):
            return None
        return RunOutput("l3", r.profiles.propose(profile, portrait).seq, "propose", scenes)
    if portrait.body == (live.body if live else ""):
        if live is not None:  # the same words may rest on other memories now
            r.profiles.add_sources(profile, live.seq, portrait.memory_seqs)
        return None
    replaced = (live.seq,) if live else ()
    if not portrait.body:  # nothing is left to say about anybody
        r.profiles.retire(profile, "persona", PERSONA_PATH, portrait.updated_at)
        return RunOutput("l3", live.seq, "remove", scenes) if live else None
    return RunOutput("l3", r.profiles.write(profile, portrait).seq, "write", scenes, replaced)


def _snapshot(r: Repositories, profile: Profile) -> _Snapshot:
    custom = r.prompts.effective(PromptTarget(profile.instance, profile.team, profile.agent), "l3")
    return _Snapshot(r.profiles.state(profile), scene_views(r, profile), custom)


def _end(r: Repositories, lease: Lease) -> None:
    r.jobs.hold(lease)
    r.jobs.finish(lease, None)
