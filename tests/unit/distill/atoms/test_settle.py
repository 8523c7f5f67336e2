"""What becomes of a model's decisions: nothing is lost, nothing is retired twice, whatever was said."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memstrata.distill.atoms.settle import settle
from memstrata.distill.atoms.verdicts import Verdict, Verdicts
from memstrata.distill.calls import CallSettings
from memstrata.distill.protocol import Decision, ResolveRequest
from memstrata.records import MemoryDraft, MemoryRecord, Scope

MemoryOf = Callable[..., MemoryRecord]
DraftOf = Callable[..., MemoryDraft]

SETTINGS = CallSettings(ZoneInfo("Asia/Shanghai"))


def settled(
    drafts: list[MemoryDraft],
    pool: list[MemoryRecord],
    of: dict[int, Verdict],
    revisions: list[tuple[int, Verdict]] | None = None,
) -> tuple[Decision, ...]:
    request = ResolveRequest(Scope("i", "t", "a", "u"), "en", tuple(drafts), (tuple(pool),) * len(drafts))
    return settle(request, Verdicts(of, revisions or []), SETTINGS)


@pytest.fixture
def three(draft_of: DraftOf) -> list[MemoryDraft]:
    return [draft_of(f"The user likes number {n}", source_seqs=(n,)) for n in (1, 2, 3)]


@pytest.fixture
def pool(memory_of: MemoryOf) -> list[MemoryRecord]:
    return [memory_of(seq, f"known {seq}") for seq in (11, 12)]


def told(decisions: tuple[Decision, ...]) -> list[tuple[str, tuple[int, ...]]]:
    return [(decision.action, decision.target_seqs) for decision in decisions]


def test_a_draft_without_a_decision_is_stored(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    decisions = settled(three, pool, {1: Verdict("skip", (11,))})
    assert told(decisions) == [("store", ()), ("skip", (11,)), ("store", ())]
    assert decisions[0].note == "no decision"


def test_a_memory_is_replaced_by_the_first_that_asks(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    of = {
        0: Verdict("update", (11,)),
        1: Verdict("merge", (11, 12), content="both"),
        2: Verdict("update", (12,)),
    }
    decisions = settled(three, pool, of)
    assert told(decisions) == [("update", (11,)), ("merge", (12,)), ("store", ())]
    assert decisions[1].note == "1 targets that another decision has"
    assert "update without a target" in decisions[2].note
    assert decisions[2].draft.content == three[2].content


def test_several_drafts_may_support_one_memory(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    decisions = settled(three, pool, dict.fromkeys(range(3), Verdict("skip", (11,))))
    assert told(decisions) == [("skip", (11,))] * 3


def test_support_of_a_memory_that_is_replaced_goes_to_what_replaces_it(
    three: list[MemoryDraft], pool: list[MemoryRecord]
) -> None:
    of = {0: Verdict("skip", (11,)), 1: Verdict("update", (11,)), 2: Verdict("store")}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("skip", ()), ("update", (11,)), ("store", ())]
    assert decisions[1].draft.source_seqs == (1, 2)


def test_a_chain_of_equal_drafts_ends_in_one_with_all_sources(
    three: list[MemoryDraft], pool: list[MemoryRecord]
) -> None:
    of = {2: Verdict("skip", new=(1,)), 1: Verdict("skip", new=(0,)), 0: Verdict("store")}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("store", ()), ("skip", ()), ("skip", ())]
    assert decisions[0].draft.source_seqs == (1, 2, 3)


def test_drafts_that_say_the_same_in_a_circle_leave_one(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    of = {0: Verdict("skip", new=(1,)), 1: Verdict("skip", new=(2,)), 2: Verdict("skip", new=(0,))}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("skip", ()), ("skip", ()), ("store", ())]
    assert decisions[2].draft.source_seqs == (1, 2, 3)


def test_a_merge_of_two_drafts_is_one_new_memory(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    of = {0: Verdict("merge", new=(1,), content="likes one and two"), 1: Verdict("store"), 2: Verdict("store")}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("store", ()), ("skip", ()), ("store", ())]
    assert decisions[0].draft.content == "likes one and two"
    assert decisions[0].draft.source_seqs == (1, 2)


def test_a_draft_that_replaces_something_is_not_taken_in(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    of = {0: Verdict("merge", (12,), (1,), "both"), 1: Verdict("update", (11,)), 2: Verdict("store")}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("merge", (12,)), ("update", (11,)), ("store", ())]
    assert decisions[0].note == "1 new memories that it cannot take in"


def test_two_merges_of_each_other_leave_one(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    of = {0: Verdict("merge", new=(1,), content="a and b"), 1: Verdict("merge", new=(0,), content="b and a")}
    decisions = settled(three, pool, of)
    assert told(decisions) == [("skip", ()), ("store", ()), ("store", ())]
    assert (decisions[1].draft.content, decisions[1].draft.source_seqs) == ("b and a", (1, 2))


def test_a_skip_of_nothing_is_stored(three: list[MemoryDraft], pool: list[MemoryRecord]) -> None:
    decisions = settled(three, pool, {0: Verdict("skip")})
    assert told(decisions)[0] == ("store", ())
    assert decisions[0].note == "skip without a target"


def test_instructions_that_reach_differently_far_are_not_merged(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    dot = memory_of(11, "Answers with a dot in the webhook check", type="instruction", priority=70, applies_to="scene")
    draft = draft_of("Uses more examples", type="instruction", priority=80, applies_to="always")
    merge = Verdict("merge", (11,), content="Answers with a dot and more examples", priority=90)
    (decision,) = settled([draft], [dot], {0: merge})
    assert (decision.action, decision.target_seqs, decision.draft) == ("store", (), draft)
    assert "differently far" in decision.note


@pytest.mark.parametrize(("said", "got"), [(95, 80), (None, 80), (75, 75), (10, 70), (-1, 80), (10**6, 80)])
def test_a_merge_weighs_no_more_and_no_less_than_its_parts(
    draft_of: DraftOf, memory_of: MemoryOf, said: int | None, got: int
) -> None:
    known = memory_of(11, "Writes short", type="instruction", priority=80, applies_to="project")
    draft = draft_of("Writes plainly", type="instruction", priority=70, applies_to="project")
    (decision,) = settled([draft], [known], {0: Verdict("merge", (11,), content="Short and plain", priority=said)})
    assert (decision.draft.priority, decision.draft.applies_to) == (got, "project")


def test_an_absolute_order_stays_one(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    known = memory_of(11, "Never mails customers", type="instruction", priority=-1)
    draft = draft_of("Does not mail partners", type="instruction", priority=80)
    (decision,) = settled([draft], [known], {0: Verdict("merge", (11,), content="Mails nobody", priority=75)})
    assert decision.draft.priority == -1


@pytest.mark.parametrize("kind", ["work_fact", "instruction", "nonsense"])
def test_a_merge_becomes_no_type_that_its_parts_do_not_give(draft_of: DraftOf, memory_of: MemoryOf, kind: str) -> None:
    merge = Verdict("merge", (11,), content="likes tea and coffee", type=kind)
    (decision,) = settled([draft_of()], [memory_of(11, "likes coffee")], {0: merge})
    assert decision.draft.type == "persona"


def test_a_merge_keeps_what_is_known_of_its_parts(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    known = memory_of(
        11, "Plans a trip", type="episodic", priority=70, slot="trip", happened_from=5, happened_to=9,
        metadata={"subject_name": "Ida", "replaced": "old"},
    )  # fmt: skip
    draft = draft_of("Booked the trip", type="episodic", priority=65, happened_from=7, happened_to=20)
    (decision,) = settled([draft], [known], {0: Verdict("merge", (11,), content="Planned and booked")})
    merged = decision.draft
    assert (merged.slot, merged.happened_from, merged.happened_to) == ("trip", 5, 20)
    assert merged.metadata == {"subject_name": "Ida"}


def test_the_times_of_a_merge_may_be_told(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    merge = Verdict("merge", (11,), content="both", start="2026-02-11", end="2026-02-12")
    (decision,) = settled([draft_of()], [memory_of(11, "known")], {0: merge})
    assert (decision.draft.happened_from, decision.draft.happened_to) == (1_770_739_200_000, 1_770_911_999_999)


def test_times_of_a_merge_that_run_backwards_are_not_taken(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    known = memory_of(11, "known", happened_from=5, happened_to=20)
    merge = Verdict("merge", (11,), content="both", start="2026-02-12", end="2026-02-11")
    (decision,) = settled([draft_of()], [known], {0: merge})
    assert (decision.draft.happened_from, decision.draft.happened_to) == (5, 20)


def test_an_update_keeps_the_slot_and_takes_a_text_only_if_there_is_one(draft_of: DraftOf, memory_of: MemoryOf) -> None:
    known = [memory_of(11, "In Bonn", slot="residence"), memory_of(12, "Task", metadata={"owner": "Tom"})]
    drafts = [draft_of("In Kiel"), draft_of("Task done", metadata={"status": "done"})]
    of = {0: Verdict("update", (11,)), 1: Verdict("update", (12,), content="Task done by Tom")}
    one, other = settled(drafts, known, of)
    assert (one.draft.content, one.draft.slot) == ("In Kiel", "residence")
    assert other.draft.content == "Task done by Tom"
    assert other.draft.metadata == {"owner": "Tom", "status": "done"}


def test_a_revision_is_the_memory_in_new_words_that_cites_what_changed_it(
    draft_of: DraftOf, memory_of: MemoryOf
) -> None:
    known = [
        memory_of(11, "Lives in Bonn", slot="residence"),
        memory_of(12, "Weather for Bonn", type="instruction", priority=75, applies_to="project", scene_name="mornings",
                  slot="weather", metadata={"value": "Bonn"}),
    ]  # fmt: skip
    draft = draft_of("Lives in Kiel", source_seqs=(4, 5))
    decisions = settled(
        [draft],
        known,
        {0: Verdict("update", (11,))},
        [(0, Verdict("revise", (12,), content="Weather for Kiel", value="Kiel"))],
    )
    assert told(decisions) == [("update", (11,)), ("revise", (12,))]
    assert decisions[1].draft == MemoryDraft(
        "Weather for Kiel", "instruction", 75, (4, 5), "mornings", "project", "weather", None, None, {"value": "Kiel"}
    )


@pytest.mark.parametrize(
    ("verdict", "note"),
    [
        (Verdict("revise", (11,), content="new"), "another decision has"),
        (Verdict("revise", (11, 12), content="new"), "does not name one memory"),
        (Verdict("revise", (), content="new"), "does not name one memory"),
        (Verdict("revise", (12,), (1,), "new"), "does not name one memory"),
        (Verdict("revise", (12,), content="known 12 "), "changes nothing"),
    ],
)
def test_a_revision_that_cannot_be_is_left_out_and_noted(
    three: list[MemoryDraft], pool: list[MemoryRecord], verdict: Verdict, note: str
) -> None:
    decisions = settled(three, pool, {0: Verdict("update", (11,))}, [(0, verdict)])
    assert len(decisions) == 3
    assert note in decisions[0].note


def test_whatever_is_said_every_source_ends_in_something_that_stays(
    three: list[MemoryDraft], pool: list[MemoryRecord]
) -> None:
    def every(place: int) -> list[Verdict]:
        others = [other for other in range(3) if other != place]
        content: dict[str, Any] = {"content": "joined"}
        skips = [Verdict("skip", known, new) for known in ((), (11,)) for new in ((), (others[0],), (others[1],))]
        return [Verdict("store"), *skips, Verdict("update", (11,), (others[0],)),
                Verdict("merge", (11, 12), (others[1],), **content), Verdict("merge", (), (others[0],), **content)]  # fmt: skip

    for first, second, third in product(every(0), every(1), every(2)):
        decisions = settled(three, pool, {0: first, 1: second, 2: third})
        assert len(decisions) == 3
        kept = [one for one in decisions if one.action != "skip" or one.target_seqs]
        assert {seq for one in kept for seq in one.draft.source_seqs} == {1, 2, 3}
        retired = [seq for one in decisions if one.action in ("update", "merge") for seq in one.target_seqs]
        assert len(retired) == len(set(retired))
        supported = {seq for one in decisions if one.action == "skip" for seq in one.target_seqs}
        assert not supported & set(retired)
