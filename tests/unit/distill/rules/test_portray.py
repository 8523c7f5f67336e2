from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC

from memstrata.distill.protocol import PersonaRequest, SceneView
from memstrata.distill.rules.portray import portray_by_rules
from memstrata.distill.validate import MAX_PERSONA, valid_persona
from memstrata.records import MemoryRecord, Profile

MemoryOf = Callable[..., MemoryRecord]
ViewOf = Callable[..., SceneView]

PORTRAIT = """\
# 用户画像

## 长期要求
- 以后都用中文回答。

## 务必留意
用户对花生过敏。

## 基本情况
用户叫小林，住在杭州。

## 偏好与习惯
用户喜欢喝乌龙茶，开始吃素。

## 近期计划
- 1970-01-01：用户报名了半马。

## 近来的变化
- 用户开始吃素（此前：用户喜欢吃牛排）。"""


def request(view: SceneView, *, language: str = "zh", now: int = 1_000) -> PersonaRequest:
    return PersonaRequest(Profile("i", "t", "a"), language, (view,), "", now)


def test_a_portrait_has_orders_first_then_care_facts_likes_plans_and_changes(
    memory_of: MemoryOf, view_of: ViewOf
) -> None:
    view = view_of(
        "x.md",
        memory_of(1, "用户住在杭州", slot="residence", priority=75),
        memory_of(2, "用户叫小林", slot="name", priority=85),
        memory_of(3, "用户对花生过敏", priority=90),
        memory_of(4, "用户喜欢喝乌龙茶", slot="taste 乌龙茶"),
        memory_of(5, "用户要求AI以后都用中文回答", type="instruction", priority=90),
        memory_of(
            6, "用户报名了半马", type="episodic", metadata={"plan": True}, happened_from=1_500, happened_to=2_000
        ),
        memory_of(7, "用户开始吃素", slot="diet", metadata={"replaced": "用户喜欢吃牛排"}),
    )
    portrait = portray_by_rules(request(view), UTC)
    assert portrait.body == PORTRAIT
    assert portrait.memory_seqs == (1, 2, 3, 4, 5, 6, 7)


def test_headings_are_in_the_profiles_language_and_memories_keep_theirs(memory_of: MemoryOf, view_of: ViewOf) -> None:
    view = view_of("x.md", memory_of(1, "用户叫小林"), memory_of(2, "The user works at Orion"))
    for language, heading in (
        ("en", "Who the user is"),
        ("ja", "基本情報"),
        ("ko", "기본 정보"),
        ("ru", "Кто пользователь"),
        ("de", "Who the user is"),
    ):
        body = portray_by_rules(request(view, language=language), UTC).body
        assert heading in body
        assert "用户叫小林。" in body
    assert portray_by_rules(request(view, language="en"), UTC).body.index("Orion") < portray_by_rules(
        request(view, language="en"), UTC
    ).body.index("小林")


def test_equal_input_gives_equal_bytes_whatever_the_order_and_the_time_of_day(
    memory_of: MemoryOf, view_of: ViewOf
) -> None:
    memories = [memory_of(seq, f"The user likes number {seq}") for seq in range(1, 6)]
    one = portray_by_rules(request(view_of("a.md", *memories)), UTC)
    other = portray_by_rules(request(view_of("b.md", *reversed(memories)), now=2_000), UTC)
    assert one == other


def test_a_plan_whose_day_is_over_is_not_current(memory_of: MemoryOf, view_of: ViewOf) -> None:
    plan = memory_of(
        1, "The user has an exam", type="episodic", metadata={"plan": True}, happened_from=10, happened_to=20
    )
    name = memory_of(2, "The user's name is Maya")
    before = portray_by_rules(request(view_of("x.md", plan, name), now=15), UTC)
    after = portray_by_rules(request(view_of("x.md", plan, name), now=21), UTC)
    assert before.memory_seqs == (1, 2)
    assert after.memory_seqs == (2,)
    assert "exam" not in after.body


def test_a_memory_in_two_scenes_is_told_once(memory_of: MemoryOf, view_of: ViewOf) -> None:
    tea = memory_of(1, "The user's cat is Miso")
    both = replace(request(view_of("a.md", tea)), scenes=(view_of("a.md", tea), view_of("b.md", tea)))
    assert portray_by_rules(both, UTC).body.count("Miso") == 1


def test_a_portrait_keeps_to_its_size_and_cites_only_what_it_shows(memory_of: MemoryOf, view_of: ViewOf) -> None:
    memories = [
        memory_of(seq, f"The user likes the tea house number {seq} by the river", priority=50 + seq % 40)
        for seq in range(1, 120)
    ]
    portrait = portray_by_rules(request(view_of("x.md", *memories), language="en"), UTC)
    assert len(portrait.body) <= MAX_PERSONA
    assert portrait.body.count("number") == len(portrait.memory_seqs)
    for memory in memories:
        assert (f"number {memory.seq} " in portrait.body) == (memory.seq in portrait.memory_seqs)
    assert min(memory.priority for memory in memories if memory.seq in portrait.memory_seqs) > 70


def test_an_event_that_is_too_old_to_be_news_is_not_cited(memory_of: MemoryOf, view_of: ViewOf) -> None:
    events = [
        memory_of(seq, f"The user bought book {seq}", type="episodic", happened_from=seq, happened_to=seq)
        for seq in range(1, 9)
    ]
    assert portray_by_rules(request(view_of("x.md", *events)), UTC).memory_seqs == (4, 5, 6, 7, 8)


def test_without_memories_there_is_no_portrait(view_of: ViewOf) -> None:
    portrait = portray_by_rules(request(view_of("x.md")), UTC)
    assert (portrait.body, portrait.memory_seqs) == ("", ())


def test_a_portrait_passes_the_validators(memory_of: MemoryOf, view_of: ViewOf) -> None:
    body = portray_by_rules(request(view_of("x.md", memory_of(1, "用户叫小林"))), UTC).body
    assert valid_persona(body) == body
