from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Any

from memstrata.distill.protocol import Poison, SceneDraft, SceneRequest, SceneView, SceneWrite
from memstrata.distill.rules.consolidate import consolidate_by_rules
from memstrata.distill.validate import MAX_SCENE, MAX_SUMMARY, valid_scene
from memstrata.records import MemoryRecord

MemoryOf = Callable[..., MemoryRecord]
ViewOf = Callable[..., SceneView]
RequestOf = Callable[..., SceneRequest]

SCENE = """\
# 饮食与健康

## 长期要求
- 以后推荐菜谱都要注明过敏原。

## 现状
用户对花生过敏，不吃香菜，开始吃素。

## 经过
- 2022-01-08：用户看了牙医。
- 2024-10-04：用户做了体检。

## 变化
- 用户开始吃素（此前：用户喜欢吃牛排）。

## 待跟进
- 用户计划学做菜。"""


def consolidated(request: SceneRequest) -> SceneDraft:
    draft = consolidate_by_rules(request, UTC)
    assert isinstance(draft, SceneDraft)
    return draft


def stored(write: SceneWrite, view_of: ViewOf, *memories: MemoryRecord, **changes: Any) -> SceneView:
    return view_of(write.path, *memories, body=write.body, summary=write.summary, **changes)


def test_memories_are_written_by_theme_in_files_named_in_their_language(
    memory_of: MemoryOf, request_of: RequestOf
) -> None:
    memories = (memory_of(1, "用户对花生过敏"), memory_of(2, "The user works at Orion"), memory_of(3, "用户不吃香菜"))
    draft = consolidated(request_of(memories, language="zh"))
    assert {write.path: write.memory_seqs for write in draft.writes} == {"饮食与健康.md": (1, 3), "Work.md": (2,)}


def test_a_scene_tells_orders_facts_events_changes_and_open_points(memory_of: MemoryOf, request_of: RequestOf) -> None:
    day = 86_400_000
    memories = (
        memory_of(1, "用户对花生过敏", priority=90),
        memory_of(2, "用户不吃香菜"),
        memory_of(3, "用户要求AI以后推荐菜谱都要注明过敏原", type="instruction", priority=90),
        memory_of(4, "用户做了体检", type="episodic", happened_from=20_000 * day, happened_to=20_000 * day),
        memory_of(5, "用户看了牙医", type="episodic", happened_from=19_000 * day, happened_to=19_000 * day),
        memory_of(6, "用户开始吃素", metadata={"replaced": "用户喜欢吃牛排"}),
        memory_of(7, "用户计划学做菜", type="episodic", metadata={"plan": True}),
    )
    (write,) = consolidated(request_of(memories, language="zh")).writes
    assert write.body == SCENE
    assert write.summary == "用户对花生过敏，计划学做菜，开始吃素。"


def test_a_plan_whose_day_is_over_is_no_open_point(memory_of: MemoryOf, request_of: RequestOf) -> None:
    plan = memory_of(
        1, "The user has an interview", type="episodic", metadata={"plan": True}, happened_from=5, happened_to=10
    )
    (write,) = consolidated(request_of((plan,))).writes
    assert "## What happened" in write.body
    assert "## Open points" not in write.body


def test_new_memories_join_the_scene_of_their_theme_whatever_its_language(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    old, new = memory_of(1, "用户对花生过敏"), memory_of(2, "The user drinks coffee")
    (write,) = consolidated(request_of((new,), (view_of("饮食与健康.md", old),))).writes
    assert (write.path, write.memory_seqs) == ("饮食与健康.md", (1, 2))
    assert "## 现状" in write.body


def test_a_scene_whose_memories_did_not_change_is_not_written_again(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    tea = memory_of(1, "The user drinks tea")
    (write,) = consolidated(request_of((tea,))).writes
    assert consolidated(request_of((), (stored(write, view_of, tea),))).writes == ()


def test_a_scene_that_lost_a_memory_is_rewritten_without_it(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    tea, coffee = memory_of(1, "The user drinks tea"), memory_of(2, "The user drinks coffee")
    (write,) = consolidated(request_of((tea, coffee))).writes
    (rewritten,) = consolidated(request_of((), (stored(write, view_of, tea),))).writes
    assert "coffee" not in rewritten.body
    assert rewritten.memory_seqs == (1,)


def test_a_scene_that_lost_all_memories_goes(view_of: ViewOf, request_of: RequestOf) -> None:
    draft = consolidated(request_of((), (view_of("Work.md"),)))
    assert (draft.writes, draft.removals) == ((), ("Work.md",))


def test_an_emptied_scene_that_gets_a_new_memory_is_reused(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    draft = consolidated(request_of((memory_of(1, "The user works at Orion"),), (view_of("Work.md"),)))
    assert [write.path for write in draft.writes] == ["Work.md"]
    assert draft.removals == ()


def test_what_a_human_or_a_model_wrote_is_left_alone_and_gets_a_sibling(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    old, new = memory_of(1, "The user works at Orion"), memory_of(2, "The user works as a nurse")
    scenes = (view_of("Work.md", old, origin="human"), view_of("Food-and-Health.md", origin="model"))
    draft = consolidated(request_of((new, memory_of(3, "The user drinks tea")), scenes))
    assert sorted(write.path for write in draft.writes) == ["Food-and-Health-2.md", "Work-2.md"]
    assert draft.removals == ()


def test_the_sibling_is_rewritten_the_next_time(memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf) -> None:
    nurse, vega = memory_of(2, "The user works as a nurse"), memory_of(3, "The user works at Vega")
    scenes = (view_of("Work.md", origin="human"), view_of("Work-2.md", nurse))
    (write,) = consolidated(request_of((vega,), scenes)).writes
    assert (write.path, write.memory_seqs) == ("Work-2.md", (2, 3))


def test_at_the_limit_the_coldest_scene_goes_into_the_last_drawer(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    scenes = (
        view_of("Work.md", memory_of(1, "The user works at Orion"), heat=9),
        view_of("Travel.md", memory_of(2, "The user is flying to Tokyo"), heat=1),
        view_of("Other.md", memory_of(3, "The user hums"), heat=1),
    )
    draft = consolidated(request_of((memory_of(4, "The user drinks tea"),), scenes, max_scenes=3))
    drawer = next(write for write in draft.writes if write.path == "Other.md")
    assert (drawer.absorbs, drawer.memory_seqs) == (("Travel.md",), (2, 3))
    assert "Food-and-Health.md" in [write.path for write in draft.writes]


def test_the_limit_holds_for_any_number_of_themes(memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf) -> None:
    said = [
        "works at Orion",
        "drinks tea",
        "is flying to Tokyo",
        "plays the guitar",
        "invests in a fund",
        "is learning Python",
        "lives in Rome",
    ]
    memories = tuple(memory_of(seq, f"The user {text}") for seq, text in enumerate(said, 1))
    for limit in range(1, 9):
        writes = consolidated(request_of(memories, max_scenes=limit)).writes
        assert len(writes) <= limit
        assert sorted(seq for write in writes for seq in write.memory_seqs) == list(range(1, 8))


def test_with_every_place_taken_by_others_the_run_says_so(
    memory_of: MemoryOf, view_of: ViewOf, request_of: RequestOf
) -> None:
    request = request_of((memory_of(1, "The user drinks tea"),), (view_of("Mine.md", origin="human"),), max_scenes=1)
    assert isinstance(consolidate_by_rules(request, UTC), Poison)


def test_a_scene_keeps_to_its_size_drops_what_weighs_least_and_says_how_much(
    memory_of: MemoryOf, request_of: RequestOf
) -> None:
    heavy = memory_of(1, "The user is allergic to peanuts", priority=90)
    light = tuple(
        memory_of(seq, f"The user drinks tea number {seq} from a very particular tea house", priority=55)
        for seq in range(2, 80)
    )
    (write,) = consolidated(request_of((heavy, *light))).writes
    assert len(write.body) <= MAX_SCENE
    assert len(write.summary) <= MAX_SUMMARY
    assert "allergic to peanuts" in write.body
    assert "number 79 " in write.body
    assert "number 2 " not in write.body
    left_out = 78 - write.body.count("tea number")
    assert f"{left_out} older or minor memories" in write.body
    assert len(write.memory_seqs) == 79


def test_what_is_written_passes_the_validators_and_is_the_same_every_time(
    memory_of: MemoryOf, request_of: RequestOf
) -> None:
    memories = tuple(
        memory_of(seq, text)
        for seq, text in enumerate(["用户对花生过敏", "The user works at Orion", "ユーザーは寿司が好きです"], 1)
    )
    request = request_of(memories)
    writes = consolidated(request).writes
    assert consolidated(request).writes == writes
    assert [valid_scene(write, paths=(), memory_seqs=(1, 2, 3)) for write in writes] == list(writes)


def test_a_portrait_is_asked_for_when_something_weighty_is_new(memory_of: MemoryOf, request_of: RequestOf) -> None:
    def asked(**changes: Any) -> str:
        return consolidated(request_of((memory_of(1, "The user drinks tea", **changes),))).persona_request

    assert asked() == ""
    assert asked(type="instruction")
    assert asked(priority=90)
    assert asked(metadata={"replaced": "The user drinks coffee"})
