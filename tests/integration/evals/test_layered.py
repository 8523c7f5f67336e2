"""The layered measurement with the rules distiller: back-links lead to the data set's own units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Corpus, Dataset, Question, Unit
from memstrata.evals.layered import (
    REACHES,
    Reached,
    injected_ids,
    layered_scores,
    measure_layers,
    named_scenes,
    not_distilled,
)
from memstrata.evals.measure import first_corpora, measure_layered
from memstrata.evals.report import layered_table
from memstrata.evals.workspace import opened
from memstrata.records import LayerStatus, PipelineStatus
from memstrata.settings import RecallSettings, Settings

SAID = (
    "Remember that I live in Lisbon.",
    "The tram was late again.",
    "Remember that my sister is called Ines.",
    "Remember that I am allergic to peanuts.",
)
CORPUS = Corpus("c", "all", tuple(Unit(f"u{n}", text, "user", n * 60_000, "s") for n, text in enumerate(SAID)))


def ask(text: str, *gold: str) -> Dataset:
    return Dataset("made", (CORPUS,), (Question("q", "c", text, frozenset(gold), "k"),), (), {})


async def test_injected_memories_lead_back_to_the_messages_that_they_rest_on() -> None:
    measured = await measure_layered(ask("where in Lisbon do I live", "u0"), Settings())
    line = measured.lines[0]
    assert "u0" in line["context"]["L1"]  # type: ignore[index]
    assert line["search"]["L1"] == ["u0"]  # type: ignore[index]
    assert measured.report.distiller == "rules"
    assert measured.report.made == {"memories": 3, "scenes": measured.report.made["scenes"], "personas": 1}
    assert measured.report.protocol.counts == {}


async def test_scenes_and_persona_reach_what_a_question_shares_no_word_with() -> None:
    report = (await measure_layered(ask("can you cook satay sauce for me tonight", "u3"), Settings())).report
    l1, l2, l3 = report.groups
    assert (l1.context, l2.context, l3.context) == (0.0, 1.0, 1.0)
    # Search was given as many messages and found none of them.
    assert l3.units >= 3
    assert l3.search == 0.0


async def test_the_search_side_never_has_more_messages_than_the_context() -> None:
    line = (await measure_layered(ask("tell me about my sister Ines in Lisbon", "u2"), Settings())).lines[0]
    for reach in REACHES:
        assert len(line["search"][reach]) <= len(line["context"][reach])  # type: ignore[index]


async def test_memories_that_the_budget_left_out_are_not_injected() -> None:
    tight = replace(Settings(), recall=RecallSettings(max_characters=60))
    async with opened(tight, distills=True) as workspace:
        await workspace.store([CORPUS], lambda units: None)
        shelf = workspace.shelves["c"]
        await workspace.memory.flush(shelf.scope)
        recall = await workspace.memory.recall(shelf.scope, "Lisbon live sister Ines called allergic peanuts")
    assert len(recall.hits) > 1
    assert injected_ids(recall) == (recall.hits[0].item.memory_id,)


async def test_scenes_and_a_persona_that_the_budget_left_out_are_not_injected() -> None:
    async with opened(Settings(), distills=True) as workspace:
        await workspace.store([CORPUS], lambda units: None)
        shelf = workspace.shelves["c"]
        await workspace.memory.flush(shelf.scope)
        whole = await workspace.memory.recall(shelf.scope, "where do I live")
        tight = await workspace.memory.recall(shelf.scope, "where do I live", max_tokens=1)
    assert whole.scenes
    assert named_scenes(whole) == tuple(scene.path for scene in whole.scenes)
    assert tight.scenes == whole.scenes
    assert named_scenes(tight) == ()
    measured = await measure_layers(ask("can you cook satay sauce", "u3"), with_tokens(1))
    assert measured.reached[0].context == dict.fromkeys(REACHES, ())


def with_tokens(most: int) -> Settings:
    return replace(Settings(), recall=RecallSettings(max_tokens=most))


def test_what_was_not_distilled_is_told_with_its_reason() -> None:
    def status(idle: bool, **l1: Any) -> PipelineStatus:
        return PipelineStatus({"l1": LayerStatus(**{"pending": 0, "state": "idle", **l1})}, (), idle, "rules")

    assert not_distilled(status(True)) == []
    assert not_distilled(status(False, state="dead", last_error="model refused")) == ["l1: model refused"]
    assert not_distilled(status(True, parked=3)) == ["l1: 3 messages put aside"]
    assert not_distilled(status(False, pending=2)) == ["not done in time"]


def test_figures_are_means_of_evidence_on_both_sides() -> None:
    def reached(gold: str, context: tuple[str, ...], search: tuple[str, ...]) -> Reached:
        question = Question(gold, "c", "?", frozenset([gold]), "k")
        return Reached(question, dict.fromkeys(REACHES, context), dict.fromkeys(REACHES, search))

    scores = layered_scores(ask("?", "u0"), [reached("u0", ("u0", "u1"), ("u1",)), reached("u1", (), ())])
    assert [(one.group, one.reach) for one in scores] == [("all", reach) for reach in REACHES]
    assert (scores[0].units, scores[0].searched, scores[0].context, scores[0].search) == (1.0, 0.5, 0.5, 0.0)
    head, row = layered_table(scores)
    assert len(head) == len(row) == 2 + 3 * len(REACHES)


def test_a_part_of_a_data_set_says_that_it_is_one() -> None:
    dataset = replace(ask("?", "u0"), corpora=(CORPUS, replace(CORPUS, corpus_id="d")))
    assert first_corpora(dataset, 1).notes == ("only the first 1 of 2 corpora",)
    with pytest.raises(InvalidRequest, match="no question is asked"):
        first_corpora(replace(dataset, corpora=dataset.corpora[::-1]), 1)
