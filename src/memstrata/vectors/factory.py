"""Which embedder the settings mean, with a cache in front of it."""

from __future__ import annotations

import importlib.util

from memstrata.clock import Clock
from memstrata.errors import Misconfigured
from memstrata.settings import EmbeddingSettings
from memstrata.vectors.builtin import BuiltinEmbedder
from memstrata.vectors.cache import CachedEmbedder, VectorCache
from memstrata.vectors.openai import EmbeddingChoice, OpenAIEmbedder
from memstrata.vectors.protocol import Embedder

__all__ = ["embedder_of"]


def embedder_of(settings: EmbeddingSettings, clock: Clock) -> Embedder | None:
    """Return the embedder, or None where search is by keyword. Raises Misconfigured, saying what to install or to set."""
    if settings.provider == "none":
        return None
    embedder: Embedder
    if settings.provider == "builtin":
        embedder = BuiltinEmbedder()
    else:
        for name in ("base_url", "model"):
            if not getattr(settings, name).strip():
                raise Misconfigured(
                    f"embedding.{name} (MEMSTRATA_EMBEDDING_{name.upper()}): the provider openai needs it"
                )
        choice = EmbeddingChoice(
            settings.base_url,
            settings.model,
            settings.api_key,
            dimensions=settings.dimensions,
            query_prefix=settings.query_prefix,
            passage_prefix=settings.passage_prefix,
            batch=settings.batch,
            query_timeout_seconds=settings.query_timeout_seconds,
            timeout_seconds=settings.timeout_seconds,
        )
        embedder = OpenAIEmbedder(choice, clock)
    if importlib.util.find_spec("numpy") is None:
        raise Misconfigured("vectors need NumPy: pip install 'memstrata[vectors]'")
    return CachedEmbedder(embedder, VectorCache())
