from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.distill.protocol import MessageBatch, SceneWrite
from memstrata.distill.validate import (
    DISCARD_LINES,
    MAX_CONTENT,
    MAX_DRAFTS,
    MAX_PERSONA,
    MAX_SCENE,
    MAX_SUMMARY,
    Rejected,
    says_always_or_never,
    valid_draft,
    valid_drafts,
    valid_persona,
    valid_scene,
)
from memstrata.records import MemoryDraft, MemoryType, Message, Scope

DraftOf = Callable[..., MemoryDraft]
BatchOf = Callable[..., MessageBatch]


@pytest.mark.parametrize("type_", sorted(DISCARD_LINES))
def test_a_priority_below_the_discard_line_is_dropped_and_one_on_it_kept(
    type_: MemoryType, draft_of: DraftOf, batch_of: BatchOf
) -> None:
    line = DISCARD_LINES[type_]
    batch = batch_of("hello")
    assert isinstance(valid_draft(draft_of(type=type_, priority=line - 1), batch), Rejected)
    assert isinstance(valid_draft(draft_of(type=type_, priority=line), batch), MemoryDraft)


def test_the_discard_lines_are_those_of_the_pipeline() -> None:
    work = dict.fromkeys(("work_fact", "work_task", "work_method", "work_artifact"), 70)
    assert dict(DISCARD_LINES) == {"persona": 50, "episodic": 60, "instruction": 70, **work}


def test_priorities_are_bounded(draft_of: DraftOf, batch_of: BatchOf) -> None:
    high = valid_draft(draft_of(priority=1000), batch_of("x1"))
    assert isinstance(high, MemoryDraft)
    assert high.priority == 100
    assert isinstance(valid_draft(draft_of(priority=-2), batch_of("x1")), Rejected)


@pytest.mark.parametrize(
    "said",
    [
        "always list allergens",
        "Never use emojis",
        "永远不要推荐牛排",
        "以后都要注明过敏原",
        "必ず敬語で",
        "항상 존댓말로",
        "Всегда по-русски",
        "Nunca uses emojis",
    ],
)
def test_an_absolute_order_stands_on_always_or_never_wording(said: str, draft_of: DraftOf, batch_of: BatchOf) -> None:
    draft = valid_draft(draft_of(type="instruction", priority=-1), batch_of(said))
    assert isinstance(draft, MemoryDraft)
    assert draft.priority == -1


@pytest.mark.parametrize("said", ["answer with a dot", "请简短一点", "not always", "他不总是这样"])
def test_an_absolute_order_without_that_wording_falls_to_the_core_band(
    said: str, draft_of: DraftOf, batch_of: BatchOf
) -> None:
    draft = valid_draft(draft_of(type="instruction", priority=-1), batch_of(said))
    assert isinstance(draft, MemoryDraft)
    assert draft.priority == 90


def test_always_in_an_assistant_message_makes_no_absolute_order(draft_of: DraftOf) -> None:
    messages = (
        Message(1, "a", "s", "", "user", "use metric units", 0, 0),
        Message(2, "b", "s", "", "assistant", "I will always use metric units", 0, 0),
    )
    batch = MessageBatch(Scope("i", "t", "a", "u"), "s", "", (), messages)
    draft = valid_draft(draft_of(type="instruction", priority=-1, source_seqs=(1, 2)), batch)
    assert isinstance(draft, MemoryDraft)
    assert draft.priority == 90


def test_minus_one_for_a_fact_is_its_discard_line(draft_of: DraftOf, batch_of: BatchOf) -> None:
    draft = valid_draft(draft_of(priority=-1), batch_of("always"))
    assert isinstance(draft, MemoryDraft)
    assert draft.priority == DISCARD_LINES["persona"]


def test_sources_outside_the_batch_are_removed_and_none_left_is_refused(draft_of: DraftOf, batch_of: BatchOf) -> None:
    batch = batch_of("one", "two", background=("before",))
    draft = valid_draft(draft_of(source_seqs=(99, 3, 1, 3)), batch)
    assert isinstance(draft, MemoryDraft)
    assert draft.source_seqs == (3,)
    assert isinstance(valid_draft(draft_of(source_seqs=(1, 99)), batch), Rejected)


@pytest.mark.parametrize("type_", ["persona", "episodic", "instruction"])
def test_the_assistants_word_alone_is_no_evidence_about_the_user(
    type_: MemoryType, draft_of: DraftOf, batch_of: BatchOf
) -> None:
    batch = batch_of("Your config is in /etc/petra", role="assistant")
    assert isinstance(valid_draft(draft_of(type=type_, priority=90), batch), Rejected)


def test_a_result_of_work_may_rest_on_the_assistants_word(draft_of: DraftOf, batch_of: BatchOf) -> None:
    batch = batch_of("The report is done", role="assistant")
    assert isinstance(valid_draft(draft_of(type="work_artifact", priority=80), batch), MemoryDraft)


def test_an_unknown_type_is_refused(draft_of: DraftOf, batch_of: BatchOf) -> None:
    assert isinstance(valid_draft(draft_of(type=cast("MemoryType", "gossip")), batch_of("x1")), Rejected)


@pytest.mark.parametrize(
    "content",
    [
        "", "   ", "!!!", "x" * (MAX_CONTENT + 1), "tea coffee " * 40, "用户喜欢茶" * 60, "哈" * 30,
        "The user likes tea. " + "so much " * 60,
        'The user likes tea"}],"scene_name":"x', '{"content": "The user likes tea"}', '[{"type": "persona"}]',
        "The user likes tea <think>", "<|im_start|> user",
    ],
)  # fmt: skip
def test_degenerate_content_is_refused(content: str, draft_of: DraftOf, batch_of: BatchOf) -> None:
    assert isinstance(valid_draft(draft_of(content), batch_of("x1")), Rejected)


@pytest.mark.parametrize(
    "content",
    [
        "用户叫小林", "The user's phone number ends in 0000 0000", 'The user\'s editor config is {"tab": 4}',
        "用户住在杭州，老家在杭州，也在杭州上班",
        "The user rows, rows, rows the boat every Sunday with their brother", "x" * 10, "ユーザーは東京に住んでいます",
    ],
)  # fmt: skip
def test_sound_content_passes_unchanged(content: str, draft_of: DraftOf, batch_of: BatchOf) -> None:
    draft = valid_draft(draft_of(content), batch_of("x1"))
    assert isinstance(draft, MemoryDraft)
    assert draft.content == content


def test_content_is_one_trimmed_line_without_control_characters(draft_of: DraftOf, batch_of: BatchOf) -> None:
    draft = valid_draft(draft_of(" The\x00 user\n likes\u202e tea\ud800 "), batch_of("x1"))
    assert isinstance(draft, MemoryDraft)
    assert draft.content == "The user likes tea"


def test_labels_are_cut_and_an_unknown_reach_becomes_the_narrowest(draft_of: DraftOf, batch_of: BatchOf) -> None:
    wild: Any = "galaxy"
    draft = valid_draft(draft_of(slot="s" * 200, scene_name="a\nb", applies_to=wild), batch_of("x1"))
    assert isinstance(draft, MemoryDraft)
    assert (len(draft.slot), draft.scene_name, draft.applies_to) == (80, "a b", "scene")


def test_a_span_with_its_ends_swapped_is_no_date_and_one_end_stands_for_both(
    draft_of: DraftOf, batch_of: BatchOf
) -> None:
    swapped = valid_draft(draft_of(happened_from=9, happened_to=3), batch_of("x1"))
    single = valid_draft(draft_of(happened_to=3), batch_of("x1"))
    assert isinstance(swapped, MemoryDraft)
    assert isinstance(single, MemoryDraft)
    assert (swapped.happened_from, swapped.happened_to) == (None, None)
    assert (single.happened_from, single.happened_to) == (3, 3)


def test_over_the_cap_the_lowest_priorities_go_and_all_is_reported(draft_of: DraftOf, batch_of: BatchOf) -> None:
    drafts = [draft_of(f"The user likes number {n}", priority=50 + n) for n in range(MAX_DRAFTS + 3)]
    drafts.append(draft_of("no source", source_seqs=()))
    review = valid_drafts(drafts, batch_of("x1"))
    assert [draft.priority for draft in review.kept] == [50 + n for n in range(3, MAX_DRAFTS + 3)]
    assert [one.subject for one in review.rejected] == [f"draft {MAX_DRAFTS + 3}", "draft 0", "draft 1", "draft 2"]


def test_an_absolute_order_outlives_the_cap(draft_of: DraftOf, batch_of: BatchOf) -> None:
    order = draft_of("The user asks the AI to never lie", type="instruction", priority=-1)
    drafts = [draft_of(f"The user likes number {n}", priority=99) for n in range(MAX_DRAFTS)] + [order]
    kept = valid_drafts(drafts, batch_of("never lie")).kept
    assert kept[-1].priority == -1
    assert len(kept) == MAX_DRAFTS


def test_a_scene_passes_with_its_sources_and_paths_reduced_to_what_exists() -> None:
    write = SceneWrite(
        "Work.md",
        "-----META-START-----\nheat: 9\n-----META-END-----\n\n# Work",
        "a\nb",
        (3, 1, 99),
        ("Old.md", "Gone.md", "Work.md"),
    )
    checked = valid_scene(write, paths=("Work.md", "Old.md"), memory_seqs=(1, 3))
    assert checked == SceneWrite("Work.md", "# Work", "a b", (1, 3), ("Old.md",))


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "../Work.md"}, {"path": "/Work.md"}, {"path": "Work.txt"}, {"path": ""}, {"body": " "},
        {"body": "word " * 400},
        {"body": "ab" + "c" * MAX_SCENE}, {"body": '# Work\n"}],"memories":[]'},
        {"memory_seqs": (7,)}, {"summary": "tea coffee " * 12},
    ],
)  # fmt: skip
def test_a_scene_that_breaks_a_rule_is_refused_by_its_path(changes: dict[str, Any]) -> None:
    write = replace(SceneWrite("Work.md", "# Work\nThe user works.", "summary", (1,)), **changes)
    refused = valid_scene(write, paths=(), memory_seqs=(1,))
    assert isinstance(refused, Rejected)
    assert refused.subject == write.path


def test_statements_that_are_worded_alike_are_no_loop() -> None:
    alike = [f"The user asked to remember: locker {number} opens with code {number + 4000}." for number in range(12)]
    for body in ("\n".join(f"- {one}" for one in alike), " ".join(alike)):
        scene = SceneWrite("Lockers.md", body, " ".join(alike[:3]), (1,))
        assert isinstance(valid_scene(scene, paths=(), memory_seqs=(1,)), SceneWrite)
        assert valid_persona(body) == body


@pytest.mark.parametrize("loop", ["- The user likes tea\n- The user lives in Lisbon\n", "用户喜欢茶。用户住在里斯本。"])
def test_statements_that_come_again_and_again_are_a_loop(loop: str) -> None:
    assert isinstance(valid_persona(loop * 4), Rejected)


def test_a_long_summary_is_cut_not_refused() -> None:
    summary = " ".join(str(number) for number in range(200))
    checked = valid_scene(SceneWrite("Work.md", "# Work", summary, (1,)), paths=(), memory_seqs=(1,))
    assert isinstance(checked, SceneWrite)
    assert len(checked.summary) <= MAX_SUMMARY


def test_a_persona_loses_its_navigation_and_keeps_to_its_limit() -> None:
    assert valid_persona("# Maya\n---\n## 🗺️ Scene Navigation (Scene Index)\n- x") == "# Maya"
    text = " ".join(str(number) for number in range(1000))
    assert valid_persona(text[:MAX_PERSONA].strip()) == text[:MAX_PERSONA].strip()
    assert isinstance(valid_persona(text[: MAX_PERSONA + 1]), Rejected)
    assert isinstance(valid_persona("likes tea " * 100), Rejected)
    assert isinstance(valid_persona(" \n"), Rejected)


@given(
    st.builds(
        MemoryDraft,
        content=st.text(max_size=1200),
        type=st.sampled_from([*sorted(DISCARD_LINES), "gossip"]),
        priority=st.integers(-5, 200),
        source_seqs=st.lists(st.integers(0, 4), max_size=4).map(tuple),
        slot=st.text(max_size=100),
        happened_from=st.none() | st.integers(),
        happened_to=st.none() | st.integers(),
    )
)
def test_what_passes_passes_again_unchanged(draft: MemoryDraft) -> None:
    said, answered = (
        Message(1, "1", "s", "", "user", "always", 0, 0),
        Message(2, "2", "s", "", "assistant", "always", 0, 0),
    )
    batch = MessageBatch(Scope("i", "t", "a", "u"), "s", "", (), (said, answered))
    once = valid_draft(draft, batch)
    if isinstance(once, MemoryDraft):
        assert valid_draft(once, batch) == once
        assert 1 <= len(once.content) <= MAX_CONTENT
        assert set(once.source_seqs) <= {1, 2}
        assert once.priority == -1 or DISCARD_LINES[once.type] <= once.priority <= 100


def test_wording_is_recognised_as_whole_words() -> None:
    assert not says_always_or_never("whenever you can")
    assert not says_always_or_never("nevertheless")
