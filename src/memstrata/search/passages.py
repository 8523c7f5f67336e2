"""Vectors of a batch of stored texts, so that one text that an endpoint will not have does not keep back the others.

Endpoints refuse a batch as a whole: a content filter for one sentence in it, a status 400 for one strange character. What
is refused is halved until the text is found. An endpoint that refuses a harmless text as well refuses everything, and
then no text is to blame.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from memstrata.endpoint.errors import ContentRefused, RequestRefused
from memstrata.vectors.protocol import Embedder, Vectors

__all__ = ["passage_vectors"]


async def passage_vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return a row for each text, refused ones named. Raises a MemstrataError where no text can have a vector now."""
    try:
        return await embedder.embed(texts, kind="passage")
    except (ContentRefused, RequestRefused):
        await embedder.embed([_harmless()], kind="passage")
    return await _halves(embedder, texts)


async def _parts(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    import numpy as np

    try:
        return await embedder.embed(texts, kind="passage")
    except (ContentRefused, RequestRefused) as refusal:
        if len(texts) == 1:
            return Vectors(
                np.zeros((1, embedder.dimensions), dtype=np.float32), {0: f"the endpoint refused it: {refusal.code}"}
            )
    return await _halves(embedder, texts)


async def _halves(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    import numpy as np

    if len(texts) == 1:
        return await _parts(embedder, texts)
    half = len(texts) // 2
    first, second = await _parts(embedder, texts[:half]), await _parts(embedder, texts[half:])
    later = {half + place: why for place, why in second.refused.items()}
    shortened = first.shortened | {half + place for place in second.shortened}
    return Vectors(np.concatenate([first.matrix, second.matrix]), {**first.refused, **later}, frozenset(shortened))


def _harmless() -> str:
    """Return a text that no endpoint has a reason to refuse, and no cache knows."""
    return f"hello {secrets.token_hex(4)}"
