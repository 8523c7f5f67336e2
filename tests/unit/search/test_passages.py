"""One text that an endpoint will not have does not keep back the others, and an endpoint that will have none blames none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memstrata.endpoint.errors import ContentRefused, RequestRefused, Unreachable
from memstrata.errors import MemstrataError
from memstrata.search.passages import passage_vectors
from memstrata.testing import HashEmbedder
from memstrata.vectors.protocol import Kind, Vectors


class Choosy(HashEmbedder):
    """Refuses every call that holds one of the `guilty` texts, or all calls."""

    def __init__(self, guilty: Sequence[str], error: MemstrataError, *, refuses_all: bool = False) -> None:
        super().__init__(32, refuses=["zero"])
        self.guilty = set(guilty)
        self.error = error
        self.refuses_all = refuses_all

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        found = await super().embed(texts, kind=kind)
        if self.refuses_all or self.guilty.intersection(texts):
            raise self.error
        return found


@pytest.mark.parametrize("error", [ContentRefused("filtered"), RequestRefused("bad input", status=400)])
@pytest.mark.parametrize("guilty", [["a"], ["e"], ["b", "d"], ["a", "b", "c", "d", "e"]])
async def test_the_refused_texts_are_found_and_the_others_have_their_own_vectors(
    guilty: list[str], error: MemstrataError
) -> None:
    texts = ["a", "b", "c", "d", "e"]
    found = await passage_vectors(Choosy(guilty, error), texts)
    assert [texts[place] for place in sorted(found.refused)] == guilty
    right = await HashEmbedder(32).embed(texts, kind="passage")
    for place, text in enumerate(texts):
        assert np.array_equal(found.matrix[place], np.zeros(32) if text in guilty else right.matrix[place])


async def test_what_the_model_itself_refused_keeps_its_place() -> None:
    texts = ["a", "bad", "c", "zero", "e"]
    found = await passage_vectors(Choosy(["bad"], ContentRefused("filtered")), texts)
    assert dict(found.refused) == {1: "the endpoint refused it: content_filter", 3: "no vector came back"}


async def test_an_endpoint_that_refuses_a_harmless_text_too_is_asked_twice_and_blames_no_text() -> None:
    choosy = Choosy([], RequestRefused("no such model", status=404), refuses_all=True)
    with pytest.raises(RequestRefused, match="no such model"):
        await passage_vectors(choosy, ["a", "b", "c", "d"])
    assert [len(texts) for _, texts in choosy.calls] == [4, 1]


async def test_an_endpoint_that_is_down_is_not_asked_text_by_text() -> None:
    choosy = Choosy(["a"], Unreachable("refused"))
    with pytest.raises(Unreachable):
        await passage_vectors(choosy, ["a", "b"])
    assert len(choosy.calls) == 1
