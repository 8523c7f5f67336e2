"""L2 by rules: one scene per theme, rewritten from its memories whenever one of them is new or gone.

A scene is written anew, never appended to, so a value that was replaced or deleted leaves it. Only scenes that rules
wrote are rewritten: what a human or a model wrote keeps its words, and its theme goes on in a sibling ("… -2.md"). When
the limit is reached, the coldest scene that may be touched goes into the last drawer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from memstrata.clock import Instant
from memstrata.distill.protocol import Poison, SceneDraft, SceneRequest, SceneView, SceneWrite
from memstrata.distill.rules.dates import day_in
from memstrata.distill.rules.prose import as_sentence, order_only, weave
from memstrata.distill.rules.themes import OTHER, THEMES, Theme, theme_named, theme_of
from memstrata.distill.rules.words import Words, words_in
from memstrata.distill.scenes.names import fold_path, scene_file_name
from memstrata.distill.validate import MAX_SCENE, MAX_SUMMARY
from memstrata.records import MemoryRecord
from memstrata.text.graphemes import cut
from memstrata.text.language import main_language

__all__ = ["consolidate_by_rules"]

_SUMMARY_STATEMENTS = 3
_URGENT_PRIORITY = 90


@dataclass(slots=True)
class _Plan:
    """A scene about to be written."""

    theme: Theme
    path: str
    memories: list[MemoryRecord]
    view: SceneView | None = None
    absorbs: tuple[str, ...] = ()


def consolidate_by_rules(request: SceneRequest, zone: tzinfo) -> SceneDraft | Poison:
    """Return the scenes to write and to remove. Poison when every scene is somebody else's and no room is left."""
    plans = _plans(request)
    removals = tuple(plan.path for plan in plans if not plan.memories)
    fitted = _within_limit(request, [plan for plan in plans if plan.memories], removals)
    if isinstance(fitted, Poison):
        return fitted
    writes = [write for plan in fitted if (write := _write(plan, request, zone)) is not None]
    return SceneDraft(tuple(writes), removals, _why_a_portrait_is_due(request.memories))


def _plans(request: SceneRequest) -> list[_Plan]:
    """Return what may need writing: our scenes, empty ones too, with their new memories, and themes that are new."""
    ours = [view for view in request.scenes if _is_ours(view)]
    plans = [_Plan(_theme_of_scene(view), view.document.path, list(view.memories), view) for view in ours]
    paths = {view.document.path for view in request.scenes}
    placed = {memory.seq for view in ours for memory in view.memories}
    fresh: dict[str, list[MemoryRecord]] = {}
    for memory in request.memories:
        if memory.seq not in placed:
            theme = theme_of(memory.content, type=memory.type, slot=memory.slot, scene_name=memory.scene_name)
            fresh.setdefault(theme.key, []).append(memory)
    for theme in THEMES:
        memories = fresh.get(theme.key)
        if not memories:
            continue
        at_home = next((plan for plan in plans if plan.theme is theme), None)
        if at_home is not None:
            at_home.memories += memories
            continue
        language = main_language((memory.content for memory in memories), request.language)
        path = scene_file_name(theme.title(language), paths)
        paths.add(path)
        plans.append(_Plan(theme, path, list(memories)))
    return plans


def _is_ours(view: SceneView) -> bool:
    return view.document.origin == "rules"


def _theme_of_scene(view: SceneView) -> Theme:
    return theme_named(view.document.path) or OTHER


def _within_limit(request: SceneRequest, plans: list[_Plan], removals: Sequence[str]) -> list[_Plan] | Poison:
    """Make room for new scenes: the coldest of ours goes into the last drawer, new themes last of all."""
    foreign = sum(not _is_ours(view) for view in request.scenes)
    room = request.max_scenes - foreign
    if len(plans) <= room:
        return plans
    if room < 1:
        return Poison(f"all {request.max_scenes} scenes are written by others: rules have no room to add one")
    drawer = next((plan for plan in plans if plan.theme is OTHER), None)
    if drawer is None:
        language = main_language((memory.content for plan in plans for memory in plan.memories), request.language)
        taken = {view.document.path for view in request.scenes} - set(removals)
        drawer = _Plan(OTHER, scene_file_name(OTHER.title(language), taken), [])
        plans = [*plans, drawer]
    fresh = {memory.seq for memory in request.memories}
    coldest = sorted((plan for plan in plans if plan is not drawer), key=lambda plan: _warmth(plan, fresh))
    for plan in coldest[: len(plans) - room]:
        drawer.memories += plan.memories
        if plan.view is not None:
            drawer.absorbs = (*drawer.absorbs, plan.path, *plan.absorbs)
        plans = [other for other in plans if other is not plan]
    return plans


def _warmth(plan: _Plan, fresh: set[int]) -> tuple[bool, int, int, str]:
    """Order scenes from cold to warm: untouched before touched, then by heat and last change; a new one has heat 0."""
    touched = any(memory.seq in fresh for memory in plan.memories)
    if plan.view is None:
        return touched, 0, 0, plan.path
    return touched, plan.view.document.heat, plan.view.document.updated_at, plan.path


def _write(plan: _Plan, request: SceneRequest, zone: tzinfo) -> SceneWrite | None:
    """Return the scene as its memories make it; None when that is what is stored already."""
    memories = sorted({memory.seq: memory for memory in plan.memories}.values(), key=lambda memory: memory.seq)
    language = _language_of_title(plan) or main_language((memory.content for memory in memories), request.language)
    body = _fitted_body(plan.theme.title(language), memories, words_in(language), zone)
    stored = plan.view.document if plan.view is not None else None
    if stored is not None and stored.body == body and not plan.absorbs:
        return None
    return SceneWrite(plan.path, body, _summary(memories), tuple(memory.seq for memory in memories), plan.absorbs)


def _language_of_title(plan: _Plan) -> str:
    stem = fold_path(plan.path).removesuffix(".md")
    for language, title in plan.theme.titles.items():
        if stem.startswith(fold_path(scene_file_name(title, ())).removesuffix(".md")):
            return language
    return ""


def _fitted_body(title: str, memories: Sequence[MemoryRecord], words: Words, zone: tzinfo) -> str:
    """Return the body with as many memories as fit: of equal weight the older ones give way."""
    ranked = by_weight(memories)
    shown = len(ranked)
    length = 0
    for count, memory in enumerate(ranked):
        length += len(order_only(memory.content))
        if length > MAX_SCENE:
            shown = max(1, count)
            break
    while True:
        body = _body(title, ranked[:shown], len(ranked) - shown, words, zone)
        if len(body) <= MAX_SCENE:
            return body
        if shown <= 1:
            return cut(body, MAX_SCENE, "…")
        shown -= 1


def by_weight(memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return memories heaviest first: absolute orders, then priority; of equals the newer first."""
    return sorted(memories, key=lambda memory: (-_weight(memory), -memory.seq))


def in_order(memories: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return memories as they are read: heaviest first, of equals the older, so that what is new comes at the end."""
    return sorted(memories, key=lambda memory: (-_weight(memory), memory.seq))


def _weight(memory: MemoryRecord) -> int:
    return 101 if memory.priority < 0 else memory.priority


def _body(title: str, memories: Sequence[MemoryRecord], left_out: int, words: Words, zone: tzinfo) -> str:
    in_time = sorted(memories, key=lambda memory: (memory.happened_from or memory.updated_at, memory.seq))
    weighty = in_order(memories)
    # The scene's own clock is its newest memory, so that equal memories give equal text on every day.
    newest = max(memory.updated_at for memory in memories)
    plans = [memory for memory in in_time if is_plan(memory) and not is_over(memory, newest)]
    events = [memory for memory in in_time if memory.type == "episodic" and memory not in plans]
    standing = [memory for memory in weighty if memory.type == "instruction"]
    facts = [memory for memory in weighty if memory.type not in ("instruction", "episodic")]
    changed = [memory for memory in in_time if memory.metadata.get("replaced")]
    parts = [f"# {title}"]
    parts += section(words.standing, [f"- {as_sentence(order_only(memory.content))}" for memory in standing])
    prose = weave([memory.content for memory in facts])
    parts += section(words.facts, [prose] if prose else [])
    parts += section(words.events, [f"- {dated(memory, words, zone)}" for memory in events])
    parts += section(words.evolution, [f"- {changed_from(memory, words)}" for memory in changed])
    parts += section(words.open_points, [f"- {dated(memory, words, zone)}" for memory in plans])
    if left_out:
        parts += ["", words.left_out.format(count=left_out)]
    return "\n".join(parts)


def section(heading: str, lines: Sequence[str]) -> list[str]:
    """Return a heading with its lines, nothing without lines."""
    return ["", f"## {heading}", *lines] if lines else []


def is_plan(memory: MemoryRecord) -> bool:
    """Return whether a memory tells of something that was still to come when it was said."""
    return memory.type == "episodic" and memory.metadata.get("plan") is True


def is_over(memory: MemoryRecord, now: Instant) -> bool:
    """Return whether the time that a memory tells of lies before `now`; what has no date is never over."""
    return memory.happened_to is not None and memory.happened_to < now


def dated(memory: MemoryRecord, words: Words, zone: tzinfo) -> str:
    """Return a memory as a sentence with its day in front, unless it names the day itself."""
    sentence = as_sentence(memory.content)
    if memory.happened_from is None:
        return sentence
    day = day_in(memory.happened_from, zone)
    return sentence if day[:7] in memory.content or day[:4] in memory.content else f"{day}{words.colon}{sentence}"


def changed_from(memory: MemoryRecord, words: Words) -> str:
    """Return a memory with the statement that it took the place of."""
    statement = as_sentence(memory.content)
    former = words.former.format(old=str(memory.metadata["replaced"]).rstrip("。."))
    return f"{statement[:-1]}{former}{statement[-1]}"


def _summary(memories: Sequence[MemoryRecord]) -> str:
    """Say what the theme is about: facts and events before orders, which the body has at its top."""
    heaviest = sorted(by_weight(memories), key=lambda memory: memory.type == "instruction")[:_SUMMARY_STATEMENTS]
    return cut(weave([memory.content for memory in heaviest]), MAX_SUMMARY, "…")


def _why_a_portrait_is_due(memories: Sequence[MemoryRecord]) -> str:
    if any(memory.metadata.get("replaced") for memory in memories):
        return "a value changed"
    if any(memory.type == "instruction" for memory in memories):
        return "a standing instruction is new"
    if any(memory.priority >= _URGENT_PRIORITY for memory in memories):
        return "something to mind above all is new"
    return ""
