"""The book of custom prompts: what an operator wants a layer to look for, whom it holds for, and who changed that.

A prompt is bound to an instance, to one of its teams, or to an agent of a team; the narrowest binding is in force. Every
verb is one transaction, so a binding never names a prompt that is gone and no change of a binding goes unrecorded.
Source: wire contract §4.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memstrata.clock import Clock, Instant
from memstrata.errors import Conflict, InvalidRequest, NotFound
from memstrata.ids import prompt_id as new_prompt_id
from memstrata.provenance.window import window
from memstrata.records import (
    CustomPrompt,
    Layer,
    MemoryPrompt,
    Profile,
    PromptRef,
    PromptSetting,
    PromptSettingChange,
    PromptTarget,
    check_id,
)
from memstrata.records.audit import Change
from memstrata.store.audit import actor, audited
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import PromptFilter
from memstrata.text.wellformed import well_formed

__all__ = ["DeletedPrompts", "PromptBook"]

MAX_PROMPTS = 500
MAX_NAME = 100
MAX_TEXT = 10_000
OPERATOR = "default"

Clean = Callable[[Profile, Sequence[str]], Awaitable[tuple[str, ...]]]
TargetKind = Literal["instance", "team", "agent"]


@dataclass(frozen=True, slots=True)
class DeletedPrompts:
    """The prompts that went, and how many bindings went with them."""

    prompt_ids: tuple[str, ...]
    cleared: Mapping[TargetKind, int]


class PromptBook:
    """All that can be done with custom prompts. `operator` is who is remembered for a change.

    `clean` returns texts as they may be written for an owner; without it they are written as they are.
    """

    def __init__(self, store: Store, clock: Clock, clean: Clean | None = None) -> None:
        self._store = store
        self._clock = clock
        self._clean = clean

    async def create(
        self, instance: str, *, name: str, layer: Layer, prompt: str, operator: str = OPERATOR
    ) -> MemoryPrompt:
        """Keep a new prompt, bound to nothing yet. Name and text are trimmed.

        Raises InvalidRequest for a blank or too long one, Conflict when the instance has 500 prompts.
        """
        now = self._clock.now()
        name, text = await self._cleaned(instance, _text(name, "name", MAX_NAME), _text(prompt, "prompt", MAX_TEXT))
        created = MemoryPrompt(new_prompt_id(), name, layer, text, 1, operator, operator, now, now)

        def work(r: Repositories) -> MemoryPrompt:
            if r.prompts.count(instance) >= MAX_PROMPTS:
                raise Conflict(f"PROMPT_LIMIT_EXCEEDED: maximum {MAX_PROMPTS} prompts per instance")
            r.prompts.add(instance, created)
            return created

        return await self._store.write(audited(work, now, _told(instance, "prompt.create", created.prompt_id)))

    async def _cleaned(self, instance: str, name: str, text: str) -> tuple[str, str]:
        """Return name and text without secrets, by the rule of the instance: a prompt is sent to a model each time."""
        if self._clean is None:
            return name, text
        name, text = await self._clean(Profile(instance, "", ""), [name, text])
        return name, text

    async def get(self, instance: str, prompt_id: str) -> MemoryPrompt:
        """Return a prompt. Raises NotFound."""
        return await self._store.read(lambda r: _known(r, instance, prompt_id))

    async def effective(self, instance: str, layer: Layer, *, team: str = "", agent: str = "") -> CustomPrompt:
        """Return the prompt in force for an agent, a team or the instance; without any, the built-in one, text empty."""
        target = _target(instance, team, agent)
        found = await self._store.read(lambda r: r.prompts.effective(target, layer))
        return found or CustomPrompt(PromptRef(f"builtin:{layer}"), "")

    async def list(
        self,
        instance: str,
        *,
        layer: Layer | None = None,
        limit: int = 20,
        offset: int = 0,
        newest_first: bool = True,
    ) -> tuple[MemoryPrompt, ...]:
        """Return prompts by the time they were created."""
        return await self._store.read(
            lambda r: r.prompts.page(instance, layer, limit, offset, newest_first=newest_first)
        )

    async def update(
        self,
        instance: str,
        prompt_id: str,
        *,
        name: str | None = None,
        prompt: str | None = None,
        operator: str = OPERATOR,
    ) -> MemoryPrompt:
        """Change name or text; the version rises by one unless both are what they were. Raises NotFound."""
        if name is None and prompt is None:
            raise InvalidRequest("give name, prompt, or both", field="request")
        new_name = None if name is None else _text(name, "name", MAX_NAME)
        new_text = None if prompt is None else _text(prompt, "prompt", MAX_TEXT)
        new_name, new_text = await self._cleaned(instance, new_name or "", new_text or "")
        now = self._clock.now()

        who = actor()

        def work(r: Repositories) -> MemoryPrompt:
            old = _known(r, instance, prompt_id)
            changed = replace(old, name=new_name or old.name, text=new_text or old.text)
            if changed == old:
                return old
            changed = replace(changed, version=old.version + 1, updated_by=operator, updated_at=now)
            r.prompts.replace(instance, changed)
            r.audit.append(_told(instance, "prompt.update", prompt_id).entry(who, now))
            return changed

        return await self._store.write(work)

    async def delete(self, instance: str, prompt_ids: Sequence[str], *, operator: str = OPERATOR) -> DeletedPrompts:
        """Delete prompts, all or none, and clear every binding to them. Raises NotFound if one is unknown."""
        chosen = tuple(dict.fromkeys(prompt_ids))
        now = self._clock.now()

        def work(r: Repositories) -> DeletedPrompts:
            if any(r.prompts.get(instance, one) is None for one in chosen):
                raise NotFound("MEMORY_PROMPT_NOT_FOUND: batch delete requires every id to exist")
            cleared: dict[TargetKind, int] = {"instance": 0, "team": 0, "agent": 0}
            for one in chosen:
                for setting in r.prompts.bound_to(instance, one):
                    _unbind(r, setting, "prompt_deleted", operator, now)
                    cleared[setting.target.kind] += 1
                r.prompts.remove(instance, one)
            return DeletedPrompts(chosen, cleared)

        return await self._store.write(audited(work, now, _told(instance, "prompt.delete", *chosen)))

    async def apply(
        self,
        instance: str,
        prompt_id: str,
        layer: Layer,
        *,
        team: str = "",
        agents: Sequence[str] = (),
        operator: str = OPERATOR,
    ) -> int:
        """Bind a prompt to agents of a team, else to the team, else to the instance; return how many bindings changed.

        Raises NotFound for an unknown prompt, InvalidRequest for one of another layer.
        """
        targets = _targets(instance, team, agents)
        now = self._clock.now()

        def work(r: Repositories) -> int:
            if _known(r, instance, prompt_id).layer != layer:
                raise InvalidRequest("PROMPT_LAYER_MISMATCH: the prompt is for another layer")
            return sum(_bind(r, PromptSetting(one, layer, prompt_id, operator, now)) for one in targets)

        bound = _told(instance, "prompt.apply", prompt_id, team=team, agents=agents)
        return await self._store.write(audited(work, now, lambda changed: bound if changed else None))

    async def clear(
        self,
        instance: str,
        layer: Layer,
        *,
        team: str = "",
        agents: Sequence[str] = (),
        operator: str = OPERATOR,
    ) -> int:
        """Take the bindings of such targets away; return how many there were."""
        targets = _targets(instance, team, agents)
        now = self._clock.now()

        def work(r: Repositories) -> int:
            bound = [setting for one in targets if (setting := r.prompts.bound(one, layer)) is not None]
            for setting in bound:
                _unbind(r, setting, "explicit", operator, now)
            return len(bound)

        cleared = _told(instance, "prompt.clear", team=team, agents=agents)
        return await self._store.write(audited(work, now, lambda changed: cleared if changed else None))

    async def settings(
        self, where: PromptFilter, *, limit: int = 20, offset: int = 0, newest_first: bool = True
    ) -> tuple[PromptSetting, ...]:
        """Return bindings by the time they were made. Raises InvalidRequest for an agent without its team."""
        _check_owner(where)
        return await self._store.read(lambda r: r.prompts.settings(where, limit, offset, newest_first=newest_first))

    async def changes(
        self, where: PromptFilter, *, limit: int = 20, offset: int = 0, newest_first: bool = True
    ) -> tuple[PromptSettingChange, ...]:
        """Return the history of a prompt's or a target's bindings, of the last 7 days unless told otherwise.

        Raises InvalidRequest if neither is named, and for a time that `window` refuses.
        """
        _check_owner(where)
        if where.prompt_id is None and where.kind is None and where.team is None:
            raise InvalidRequest("name a memory_prompt_id or a target", field="request")
        since, until = window(where.since, where.until, self._clock.now())
        narrowed = replace(where, since=since, until=until)
        return await self._store.read(lambda r: r.prompts.changes(narrowed, limit, offset, newest_first=newest_first))


def _told(instance: str, action: str, *prompt_ids: str, team: str = "", agents: Sequence[str] = ()) -> Change:
    return Change(instance, action, team, ids={"prompt": prompt_ids, "agent": agents})


def _known(r: Repositories, instance: str, prompt_id: str) -> MemoryPrompt:
    prompt = r.prompts.get(instance, prompt_id)
    if prompt is None:
        raise NotFound("MEMORY_PROMPT_NOT_FOUND: there is no prompt of that id")
    return prompt


def _bind(r: Repositories, setting: PromptSetting) -> bool:
    before = r.prompts.bound(setting.target, setting.layer)
    if before is not None and before.prompt_id == setting.prompt_id:
        return False
    r.prompts.bind(setting)
    r.prompts.note_change(
        PromptSettingChange(
            seq=0,  # the store counts them
            target=setting.target,
            layer=setting.layer,
            action="replace" if before else "apply",
            reason="explicit",
            before_prompt_id=before.prompt_id if before else "",
            after_prompt_id=setting.prompt_id,
            operator=setting.updated_by,
            at=setting.updated_at,
        )
    )
    return True


def _unbind(
    r: Repositories, setting: PromptSetting, reason: Literal["explicit", "prompt_deleted"], operator: str, now: Instant
) -> None:
    r.prompts.unbind(setting.target, setting.layer)
    r.prompts.note_change(
        PromptSettingChange(0, setting.target, setting.layer, "clear", reason, setting.prompt_id, "", operator, now)
    )


def _target(instance: str, team: str, agent: str) -> PromptTarget:
    if agent and not team:
        raise InvalidRequest("needs a team_id", field="agent_id")
    for value, field in ((team, "team_id"), (agent, "agent_id")):
        if value:
            check_id(value, field)
    return PromptTarget(instance, team, agent)


def _targets(instance: str, team: str, agents: Sequence[str]) -> tuple[PromptTarget, ...]:
    if not agents:
        return (_target(instance, team, ""),)
    for agent in agents:
        check_id(agent, "agent_ids")
    if not team:
        raise InvalidRequest("needs a team_id", field="agent_ids")
    return tuple(_target(instance, team, agent) for agent in dict.fromkeys(agents))


def _check_owner(where: PromptFilter) -> None:
    if where.agent and not where.team:
        raise InvalidRequest("needs a team_id", field="agent_id")


def _text(value: str, field: str, limit: int) -> str:
    text = well_formed(value).strip()
    if not text:
        raise InvalidRequest("must not be empty", field=field)
    if len(text) > limit:
        raise InvalidRequest(f"at most {limit} characters, got {len(text)}", field=field)
    return text
