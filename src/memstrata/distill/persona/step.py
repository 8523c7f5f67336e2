"""L3: scenes become one short portrait.

Whether it is time is asked again when the job runs; a portrait that fails stays due, one that changes nothing is no new
version.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant
from memstrata.distill.protocol import PersonaDraft, PersonaRequest, SceneView
from memstrata.distill.run import StepContext
from memstrata.distill.scenes.step import scene_views
from memstrata.distill.validate import Rejected, valid_persona
from memstrata.records import PERSONA_PATH, Lease, NewDocument, Poison, Profile, ProfileTarget, Retry, RunRecord
from memstrata.store.protocol import ProfileState, Repositories
from memstrata.text.language import main_language

__all__ = ["PersonaStep"]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    state: ProfileState | None
    scenes: tuple[SceneView, ...]


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
        draft = await context.distiller.portray(
            PersonaRequest(target.profile, language, snapshot.scenes, previous, started)
        )
        if not isinstance(draft, PersonaDraft):
            return draft
        body = valid_persona(draft.body) if draft.body.strip() or draft.memory_seqs else ""
        if isinstance(body, Rejected):
            return Retry(f"the portrait was refused: {body.reason}")
        if not await context.store.write(lambda r: self._commit(r, lease, target, state, draft, body, started)):
            return Retry("the portrait or its memories were changed by somebody else meanwhile")
        return None

    def _wanted(self, state: ProfileState) -> bool:
        """Say whether a rule wants a portrait, or a flush asked for one and there is something new to draw from."""
        return self._context.planner.l3_reason(state) is not None or state.changed_scenes > 0

    def _commit(
        self,
        r: Repositories,
        lease: Lease,
        target: ProfileTarget,
        state: ProfileState,
        draft: PersonaDraft,
        body: str,
        started: Instant,
    ) -> bool:
        """Store the checked portrait; False, and nothing is stored, if what it was made from is no longer there."""
        context, profile = self._context, target.profile
        r.jobs.hold(lease)
        deleted = set(draft.memory_seqs) - r.profiles.known(profile, draft.memory_seqs)
        if deleted or r.profiles.document(profile, "persona", PERSONA_PATH) != state.persona:
            return False
        now = context.clock.now()
        changed = (state.persona.body if state.persona else "") != body
        if changed and not body:  # nothing is left to say about anybody
            r.profiles.retire(profile, "persona", PERSONA_PATH, now)
        elif changed:
            created = state.persona.created_at if state.persona else now
            document = NewDocument(
                "persona", PERSONA_PATH, body, "", 1, context.distiller.origin, created, now, draft.memory_seqs
            )
            r.profiles.write(profile, document)
        elif state.persona is not None:  # the same words may rest on other memories now
            r.profiles.add_sources(profile, state.persona.seq, draft.memory_seqs)
        r.profiles.portrait_done(profile, now, state.last_memory, state.last_document)
        outcome = RunRecord(
            "l3", "items" if changed else "nothing", 0, state.last_document, int(changed), 0,
            context.distiller.origin, started, now,
        )  # fmt: skip
        r.jobs.record(target, outcome)
        _end(r, lease)
        return True


def _snapshot(r: Repositories, profile: Profile) -> _Snapshot:
    return _Snapshot(r.profiles.state(profile), scene_views(r, profile))


def _end(r: Repositories, lease: Lease) -> None:
    r.jobs.hold(lease)
    r.jobs.finish(lease, None)
