from __future__ import annotations

import numpy as np
from benchmarks.dataset import gold, texts
from benchmarks.meanings import MadeUpEmbedder


def test_a_text_has_the_same_vector_of_length_one_in_any_company() -> None:
    first, second = MadeUpEmbedder(), MadeUpEmbedder()
    alone = first.rows(["她喜欢茶"])
    beside = second.rows(["something else", "她喜欢茶"])
    assert alone.shape == (1, first.dimensions)
    assert np.allclose(alone[0], beside[1], atol=1e-6)
    assert np.allclose(np.linalg.norm(beside, axis=1), 1)


def test_a_question_is_nearer_to_the_fact_that_answers_it_than_to_most_other_rows() -> None:
    embedder, facts = MadeUpEmbedder(), gold()
    questions = embedder.rows([one.question for one in facts])
    answers = np.sum(questions * embedder.rows([one.fact for one in facts]), axis=1)
    others = questions @ embedder.rows([text for text in texts(1_000, seed=0) if text not in {f.fact for f in facts}]).T
    assert answers.min() > np.percentile(others, 99)


async def test_what_is_embedded_is_what_rows_gives() -> None:
    embedder = MadeUpEmbedder()
    found = await embedder.embed(["one", "two"], kind="query")
    assert np.array_equal(found.matrix, embedder.rows(["one", "two"]))
    assert not found.refused
