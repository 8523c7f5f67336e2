from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memstrata.distill.rules.resolve import resolve_by_rules
from memstrata.records import MemoryDraft, MemoryRecord

DraftOf = Callable[..., MemoryDraft]
MemoryOf = Callable[..., MemoryRecord]

BERLIN: dict[str, Any] = {"slot": "residence", "metadata": {"value": "berlin"}}
MUNICH: dict[str, Any] = {"slot": "residence", "metadata": {"value": "munich"}}


def test_nothing_similar_is_stored(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("The user likes tea")
    (decision,) = resolve_by_rules([draft], [(memory_of(7, "The user lives in Berlin", **BERLIN),)]).items
    assert (decision.action, decision.draft, decision.target_seqs) == ("store", draft, ())


@pytest.mark.parametrize("said", ["The user likes TEA!", "the user  likes tea", "Ｔhe user likes tea。"])
def test_the_same_words_are_skipped_and_support_the_stored_memory(
    said: str, draft_of: DraftOf, memory_of: MemoryOf
) -> None:
    (decision,) = resolve_by_rules([draft_of(said)], [(memory_of(7, "The user likes tea"),)]).items
    assert (decision.action, decision.target_seqs) == ("skip", (7,))


def test_another_value_of_the_same_slot_takes_the_old_ones_place(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("The user lives in Munich", **MUNICH)
    near = (
        memory_of(7, "The user lives in Berlin", **BERLIN),
        memory_of(9, "The user is from Munich", slot="hometown"),
    )
    (decision,) = resolve_by_rules([draft], [near]).items
    assert (decision.action, decision.target_seqs) == ("update", (7,))
    assert decision.draft.metadata == {"value": "munich", "replaced": "The user lives in Berlin"}


def test_all_live_memories_of_the_slot_are_replaced_at_once(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("The user lives in Munich", **MUNICH)
    near = (
        memory_of(9, "The user lives in Rome", slot="residence"),
        memory_of(7, "The user lives in Berlin", **BERLIN),
    )
    (decision,) = resolve_by_rules([draft], [near]).items
    assert decision.target_seqs == (7, 9)
    assert decision.draft.metadata["replaced"] == "The user lives in Rome"


def test_the_same_value_is_skipped_unless_the_new_text_tells_more(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    shorter, longer = (
        draft_of("The user lives in Berlin", **BERLIN),
        draft_of("The user lives in Berlin with a dog", **BERLIN),
    )
    (skipped,) = resolve_by_rules([shorter], [(memory_of(7, longer.content, **BERLIN),)]).items
    (updated,) = resolve_by_rules([longer], [(memory_of(7, shorter.content, **BERLIN),)]).items
    assert (skipped.action, skipped.target_seqs) == ("skip", (7,))
    assert (updated.action, updated.target_seqs) == ("update", (7,))
    assert "replaced" not in updated.draft.metadata


def test_a_pinned_value_makes_the_draft_a_skip_that_changes_nothing(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    near = (
        memory_of(7, "The user lives in Berlin", origin="human", **BERLIN),
        memory_of(8, "The user lives in Rome", slot="residence"),
    )
    (decision,) = resolve_by_rules([draft_of("The user lives in Munich", **MUNICH)], [near]).items
    assert (decision.action, decision.target_seqs) == ("skip", ())


def test_a_pinned_memory_is_no_target_of_a_correction(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("用户之前说一周煎两回牛排，其实没那么多", metadata={"corrects": "一周煎两回牛排"})
    (decision,) = resolve_by_rules([draft], [(memory_of(7, "用户喜欢吃牛排，一周能煎两回", origin="human"),)]).items
    assert decision.action == "store"


def test_liking_and_disliking_one_thing_replace_each_other(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("The user stopped drinking coffee", slot="taste coffee", metadata={"value": "dislikes coffee"})
    near = (memory_of(7, "The user loves coffee", slot="taste coffee", metadata={"value": "likes coffee"}),)
    assert resolve_by_rules([draft], [near]).items[0].target_seqs == (7,)


def test_giving_up_meat_ends_the_liking_of_every_meat_dish_and_of_nothing_else(
    draft_of: DraftOf, memory_of: MemoryOf
) -> None:
    draft = draft_of("用户开始不吃肉了", slot="diet", metadata={"value": "不吃肉"})
    near = (
        memory_of(7, "用户喜欢吃牛排", slot="diet", metadata={"value": "likes 牛排"}),
        memory_of(8, "用户爱吃红烧肉", slot="diet", metadata={"value": "likes 红烧肉"}),
        memory_of(9, "用户讨厌羊肉", slot="diet", metadata={"value": "dislikes 羊肉"}),
        memory_of(10, "用户喜欢喝茶", slot="taste 茶", metadata={"value": "likes 茶"}),
    )
    (decision,) = resolve_by_rules([draft], [near]).items
    assert (decision.action, decision.target_seqs) == ("update", (7, 8))


def test_a_second_liked_dish_is_stored_beside_the_first(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of("用户爱吃红烧肉", slot="diet", metadata={"value": "likes 红烧肉"})
    near = (memory_of(7, "用户喜欢吃牛排", slot="diet", metadata={"value": "likes 牛排"}),)
    assert resolve_by_rules([draft], [near]).items[0].action == "store"


def test_a_statement_that_is_taken_back_gives_its_slot_to_the_correction(
    draft_of: DraftOf, memory_of: MemoryOf
) -> None:
    draft = draft_of("用户之前说一周煎两回牛排，其实没那么多", metadata={"corrects": "一周煎两回牛排"})
    near = (
        memory_of(6, "用户喜欢茶"),
        memory_of(7, "用户喜欢吃牛排，一周能煎两回", slot="diet", metadata={"value": "likes 牛排"}),
    )
    (decision,) = resolve_by_rules([draft], [near]).items
    assert (decision.action, decision.target_seqs, decision.draft.slot) == ("update", (7,), "diet")
    assert decision.draft.metadata["value"] == "likes 牛排"


def test_a_correction_of_a_background_statement_replaces_exactly_that(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    draft = draft_of(
        "The user has an interview on Friday", metadata={"replaced": "The user has an interview on Thursday"}
    )
    near = (memory_of(7, "The user has an interview on Thursday."), memory_of(8, "The user has an exam on Thursday"))
    assert resolve_by_rules([draft], [near]).items[0].target_seqs == (7,)


def test_leaving_an_employer_ends_the_memory_of_working_there(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    left = draft_of("The user left Orion", type="episodic", metadata={"ends": "employer"})
    orion = memory_of(7, "The user works at Orion", slot="employer", metadata={"value": "orion"})
    vega = memory_of(8, "The user works at Vega", slot="employer", metadata={"value": "vega"})
    assert resolve_by_rules([left], [(orion, vega)]).items[0].target_seqs == (7,)


def test_a_new_employer_of_the_same_batch_takes_the_place_itself(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    left = draft_of("The user left Orion", type="episodic", metadata={"ends": "employer"})
    joined = draft_of("The user works at Vega", slot="employer", metadata={"value": "vega"})
    orion = memory_of(7, "The user works at Orion", slot="employer", metadata={"value": "orion"})
    decisions = resolve_by_rules([left, joined], [(orion,), (orion,)]).items
    assert [(decision.action, decision.target_seqs) for decision in decisions] == [("store", ()), ("update", (7,))]


def test_an_outcome_takes_the_place_of_the_plan_for_the_same_day_and_thing(
    draft_of: DraftOf, memory_of: MemoryOf
) -> None:
    done = draft_of("用户昨天跑完了湘湖半马", type="episodic", happened_from=150, happened_to=199)
    plan: dict[str, Any] = {"type": "episodic", "metadata": {"plan": True}}
    near = (
        memory_of(7, "用户报名了湘湖半马", happened_from=100, happened_to=200, **plan),
        memory_of(8, "用户报名了湘湖半马", happened_from=300, happened_to=400, **plan),
        memory_of(9, "用户计划去体检", happened_from=100, happened_to=200, **plan),
    )
    assert resolve_by_rules([done], [near]).items[0].target_seqs == (7,)


def test_no_target_is_decided_on_twice(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    one, two = (
        draft_of("The user lives in Munich", **MUNICH),
        draft_of("The user moved to Munich", type="episodic", **MUNICH),
    )
    near = (memory_of(7, "The user lives in Berlin", **BERLIN),)
    decisions = resolve_by_rules([one, two], [near, near]).items
    assert [decision.target_seqs for decision in decisions] == [(7,), ()]


def test_of_two_values_in_one_batch_only_the_later_is_stored(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    drafts = [draft_of("The user lives in Berlin", **BERLIN), draft_of("The user lives in Munich", **MUNICH)]
    decisions = resolve_by_rules(drafts, [(), ()]).items
    assert [decision.action for decision in decisions] == ["skip", "store"]


def test_targets_are_always_candidates_of_their_own_draft(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    drafts = [draft_of("The user lives in Munich", **MUNICH), draft_of("The user likes tea")]
    near = [(), (memory_of(7, "The user lives in Berlin", **BERLIN),)]
    assert [decision.target_seqs for decision in resolve_by_rules(drafts, near).items] == [(), ()]
