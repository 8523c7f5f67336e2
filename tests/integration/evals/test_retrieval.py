"""Ranking through the real library: what is stored, what is asked, what the figures then say."""

from __future__ import annotations

import dataclasses

import pytest

from memstrata.capture import MAX_CHARACTERS
from memstrata.errors import Unavailable
from memstrata.evals.dataset import Corpus, Dataset, Question, StatementPair, Unit
from memstrata.evals.measure import first_corpora, measure_retrieval, views_of
from memstrata.evals.ranker import asked_text, rank
from memstrata.evals.workspace import opened
from memstrata.memory import MAX_SEARCH, MessageInput
from memstrata.settings import EmbeddingSettings, Settings
from memstrata.testing.embeddings import EmbeddingStatus, ScriptedEmbeddings

DAY = 86_400_000


def unit(unit_id: str, text: str, said_at: int = 0, session_id: str = "s") -> Unit:
    return Unit(unit_id, text, "user", said_at, session_id)


def made(*corpora: Corpus, questions: tuple[Question, ...]) -> Dataset:
    return Dataset("made", corpora, questions, (), {})


FISH = Corpus("fish", "all", (unit("1", "My aquarium holds nine guppies."), unit("2", "The tram was late again.")))
BIRDS = Corpus("birds", "all", (unit("1", "My aviary holds four finches."), unit("2", "Rent is due on Monday.")))
QUESTIONS = (
    Question("f", "fish", "how many guppies are in my aquarium", frozenset(["1"]), "animals"),
    Question("b", "birds", "when is the rent due", frozenset(["2"]), "money"),
)


async def test_each_corpus_is_searched_alone_and_ids_are_those_of_the_data_set() -> None:
    run = await rank(made(FISH, BIRDS, questions=QUESTIONS), Settings())
    assert [ranking.ids[:1] for ranking in run.rankings] == [("1",), ("2",)]
    assert all(0 < score <= 1 for ranking in run.rankings for _, score in ranking.ranked)
    assert (run.cut_queries, run.split_parts, dict(run.degraded)) == (0, 0, {})


async def test_pooled_the_same_question_is_asked_of_all_corpora() -> None:
    question = Question("f", "fish", "what does my aviary or aquarium hold", frozenset(["1"]), "animals")
    dataset = made(FISH, BIRDS, questions=(question,))
    separate = await measure_retrieval(dataset, "separate", Settings(), seed=0)
    together = await measure_retrieval(dataset, "pooled", Settings(), seed=0)
    assert separate.report.groups[0].units == 2
    assert together.report.groups[0].units == 4
    assert {one for one, _ in together.lines[0]["ranked"]} == {"fish/1", "birds/1"}  # type: ignore[attr-defined]
    assert together.report.protocol.view == "pooled"
    assert views_of(dataset, ["separate", "pooled"]) == ["separate", "pooled"]
    assert views_of(first_corpora(dataset, 1), ["pooled"]) == ["separate"]


async def test_a_unit_longer_than_a_message_is_found_as_one() -> None:
    long = "\n\n".join(["A paragraph about guppies."] * (2 * MAX_CHARACTERS // 26))
    corpus = Corpus("c", "all", (unit("long", long), unit("short", "guppies")))
    question = Question("q", "c", "guppies", frozenset(["long", "short"]), "k")
    run = await rank(dataclasses.replace(made(corpus, questions=(question,)), depth=2), Settings())
    assert set(run.rankings[0].ids) == {"long", "short"}
    assert run.split_parts >= 1


async def test_a_question_longer_than_a_search_takes_is_cut_and_that_is_counted() -> None:
    long = "guppies " * 400
    question = Question("q", "fish", long, frozenset(["1"]), "k")
    measured = await measure_retrieval(made(FISH, questions=(question,)), "separate", Settings(), seed=0)
    assert len(asked_text(long)) == MAX_SEARCH
    assert measured.report.groups[0].means["recall@1"] == 1.0
    assert measured.report.protocol.counts == {"queries cut to what a search takes": 1}


async def test_hostile_ids_and_texts_of_a_data_set_reach_the_store_unharmed() -> None:
    corpus = Corpus(
        "../../etc",
        "all",
        (
            Unit(" ", "guppies '; DROP TABLE messages; -- NEAR(x)", "user", -1, "\n"),
            Unit("x" * 5_000, "finches \ud800 \0", "assistant", 0, "y" * 5_000),
        ),
    )
    question = Question("q", corpus.corpus_id, 'guppies" OR *', frozenset([" "]), "k")
    run = await rank(made(corpus, questions=(question,)), Settings())
    assert run.rankings[0].ids == (" ",)


async def test_messages_keep_their_own_times_and_sessions() -> None:
    corpus = Corpus("c", "all", (unit("1", "first", 5 * DAY, "a"), unit("2", "second", 7 * DAY, "b")))
    async with opened(Settings(), distills=False) as workspace:
        await workspace.store([corpus], lambda units: None)
        scope = workspace.shelves["c"].scope
        page = await workspace.memory.messages(scope)
        assert [(one.content, one.said_at) for one in page.items] == [("second", 7 * DAY), ("first", 5 * DAY)]
        assert len({one.session_id for one in page.items}) == 2


async def test_nothing_is_ranked_before_all_texts_have_their_vectors() -> None:
    """Right after storing, a measurement would rank what happens to be done."""
    texts = [unit(str(number), f"note {number} about guppies") for number in range(300)]
    async with ScriptedEmbeddings(32) as endpoint:
        embedding = EmbeddingSettings(provider="openai", base_url=endpoint.base_url, model="small", batch=20)
        async with opened(Settings(embedding=embedding), distills=False) as workspace:
            await workspace.store([Corpus("c", "all", tuple(texts))], lambda units: None)
            coverage = (await workspace.memory.vector_coverage())["messages"]
            assert (coverage.rows, coverage.missing) == (300, 0)


async def test_a_measurement_with_half_of_the_vectors_is_none() -> None:
    async with ScriptedEmbeddings(32) as endpoint:
        endpoint.always(lambda request: EmbeddingStatus(500) if len(endpoint.requests) > 2 else None)
        embedding = EmbeddingSettings(provider="openai", base_url=endpoint.base_url, model="small", batch=2)
        async with opened(Settings(embedding=embedding), distills=False) as workspace:
            corpus = Corpus("c", "all", tuple(unit(str(number), f"note {number}") for number in range(10)))
            with pytest.raises(Unavailable, match="have no vector"):
                await workspace.store([corpus], lambda units: None)


async def test_memory_lives_at_the_moment_of_the_question() -> None:
    async with opened(Settings(), distills=False) as workspace:
        await workspace.store([FISH], lambda units: None)
        scope = workspace.shelves["fish"].scope
        with workspace.clock.at(3 * DAY):
            await workspace.memory.add(scope, "later", [MessageInput("user", "said now")])
        page = await workspace.memory.messages(scope, session_id="later")
    assert [one.said_at for one in page.items] == [3 * DAY]


async def test_the_order_of_an_update_is_reported() -> None:
    corpus = Corpus("c", "all", (unit("old", "My desk is on floor two."), unit("new", "My desk is on floor nine now.")))
    pair = StatementPair("update", frozenset(["old"]), frozenset(["new"]))
    question = Question("q", "c", "which floor is my desk on", frozenset(["new"]), "k", pair=pair)
    report = (await measure_retrieval(made(corpus, questions=(question,)), "separate", Settings(), seed=0)).report
    assert report.pairs["update"].pairs == report.pairs["update"].both_at_10 == 1
    assert report.as_json()["pairs"]["update"]["both@20_share"] == 1.0  # type: ignore[index]


async def test_progress_is_told_to_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    await rank(made(FISH, BIRDS, questions=QUESTIONS), Settings(), lambda *at: told.append(at))
    assert told[-1] == ("ask", 2, 2)
    assert ("store", 4, 4) in told
