import numpy as np
import pytest

from memstrata.errors import Unavailable
from memstrata.testing import HashEmbedder


async def test_texts_that_share_words_are_nearer_in_either_language() -> None:
    vectors = await HashEmbedder(256).embed(
        ["Lin likes green tea", "green tea for Lin", "the build is broken", "小林喜欢绿茶", "绿茶给小林"],
        kind="passage",
    )
    likeness = vectors.matrix @ vectors.matrix.T
    assert likeness[0, 1] > 0.5 > likeness[0, 2]
    assert likeness[3, 4] > 0.5 > likeness[3, 0]


async def test_vectors_are_the_same_on_every_machine() -> None:
    [row] = (await HashEmbedder(4).embed(["tea"], kind="query")).matrix
    assert row.tolist() == pytest.approx([0.61561, -0.49687, 0.60936, 0.05312], abs=1e-4)
    again = await HashEmbedder(4).embed(["TEA"], kind="passage")
    assert (again.matrix[0] == row).all()
    other = await HashEmbedder(4, name="another model").embed(["tea"], kind="query")
    assert not np.allclose(other.matrix[0], row)


async def test_failures_and_refusals_are_as_scripted() -> None:
    embedder = HashEmbedder(refuses=["bad"])
    assert list((await embedder.embed(["good", "bad", "…"], kind="passage")).refused) == [1, 2]
    embedder.failing = Unavailable("down")
    with pytest.raises(Unavailable):
        await embedder.embed(["good"], kind="query")
    assert embedder.health().state == "reduced"
