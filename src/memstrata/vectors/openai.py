"""Vectors from any `/v1/embeddings`: OpenAI, Qwen, vLLM, Ollama, LM Studio, text-embeddings-inference and the like.

They differ in what they refuse. `dimensions` is sent only if it is configured; a parameter that is refused is left out from
then on, and so are batches of a size that is refused (user needs B42). Vectors of another length than configured are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memstrata.clock import Clock
from memstrata.endpoint.breaker import Breaker
from memstrata.endpoint.errors import BadReply, PromptTooLong, RequestRefused
from memstrata.endpoint.exchange import Endpoint
from memstrata.endpoint.http import Http, check_base_url
from memstrata.errors import Misconfigured
from memstrata.records import ComponentHealth
from memstrata.text.graphemes import cut
from memstrata.vectors.checked import checked
from memstrata.vectors.protocol import Kind, Vectors

__all__ = ["EmbeddingChoice", "OpenAIEmbedder"]

_ABOUT_PARAMETERS = (400, 422)
_SHORTEST_INPUT = 64  # code points below which a text is not halved any more
_MOST_REPLY_BYTES = 64 * 1024 * 1024  # 64 texts of 8 192 dimensions as JSON are 11 MB


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """A model at an endpoint. `base_url` ends before `/embeddings`. Raises Misconfigured for what cannot be meant.

    `longest_input` is in code points: 8 000 of Chinese are about the 8 192 tokens that common models take.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    dimensions: int = 0  # 0: as the model has them, and the parameter is not sent
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: int = 64
    longest_input: int = 8_000
    query_timeout_seconds: float = 2.0
    timeout_seconds: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", check_base_url(self.base_url))
        if not self.model.strip():
            raise Misconfigured("the embedding model's name is missing")
        if self.batch < 1 or self.longest_input < _SHORTEST_INPUT or self.dimensions < 0:
            raise Misconfigured("the embedding model's batch, longest input or dimensions cannot be meant")


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the endpoint accepts, as far as it is known."""

    encoding_format: bool
    dimensions: bool
    batch: int


@dataclass(frozen=True, slots=True)
class _Answered:
    """What came back for one text, unchecked; None if even its start was too long."""

    row: Any
    shortened: bool


class OpenAIEmbedder:
    """Implements `protocol.Embedder`. Safe for concurrent calls of one event loop.

    Without configured dimensions they are 0 until the first answer has told them, and fixed from then on.
    """

    def __init__(self, choice: EmbeddingChoice, clock: Clock, *, breaker: Breaker | None = None) -> None:
        self.choice = choice
        self._http = Http(max_reply_bytes=_MOST_REPLY_BYTES)
        self._endpoint = Endpoint(choice.base_url, choice.api_key, self._http, clock, breaker=breaker)
        self._terms = _Terms(encoding_format=True, dimensions=choice.dimensions > 0, batch=choice.batch)
        self._dimensions = choice.dimensions

    @property
    def name(self) -> str:
        """Address, model and dimensions. The key and the prefixes' texts are not part of it, their presence is."""
        choice = self.choice
        prefixed = (
            f"/{choice.query_prefix}|{choice.passage_prefix}" if choice.query_prefix or choice.passage_prefix else ""
        )
        return f"openai/{choice.base_url.partition('://')[2]}/{choice.model}/{choice.dimensions or 'own'}{prefixed}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Return the vectors; a query has the short time, and one call to each batch of passages the long one.

        Raises BadReply if no vector at all came back while the dimensions are not known.
        """
        prefix = self.choice.query_prefix if kind == "query" else self.choice.passage_prefix
        answered: list[_Answered] = []
        while len(answered) < len(texts):
            batch = texts[len(answered) : len(answered) + self._terms.batch]
            answered += await self._answered(batch, prefix, kind, self.choice.longest_input)
        rows = [one.row for one in answered]
        if not self._dimensions and rows:
            self._dimensions = next((len(row) for row in rows if isinstance(row, list) and row), 0)
            if not self._dimensions:
                raise BadReply("the endpoint answered without a single vector")
        shortened = frozenset(at for at, one in enumerate(answered) if one.shortened)
        return checked(rows, self._dimensions, shortened)

    def health(self) -> ComponentHealth:
        return self._endpoint.health({"embedder": self.name, "dimensions": self._dimensions})

    def forget(self) -> None:
        """Nothing is kept here."""

    def resume(self) -> None:
        """Ask again after key or account were refused: the operator says that it is mended."""
        self._endpoint.resume()

    async def close(self) -> None:
        await self._http.close()

    async def _answered(self, texts: Sequence[str], prefix: str, kind: Kind, longest: int) -> list[_Answered]:
        """Exchange some texts; what is too long at once is halved, a single text at a grapheme boundary."""
        sent = [cut(text, longest) for text in texts]
        try:
            rows = await self._on_terms([prefix + text or " " for text in sent], kind)
        except (PromptTooLong, RequestRefused) as refusal:
            about_batch = "batch" in str(refusal).lower()
            if isinstance(refusal, RequestRefused) and not (about_batch and refusal.status in _ABOUT_PARAMETERS):
                raise
            if len(texts) > 1:
                half = len(texts) // 2
                if about_batch:
                    self._terms = replace(self._terms, batch=half)
                first = await self._answered(texts[:half], prefix, kind, longest)
                return first + await self._answered(texts[half:], prefix, kind, longest)
            if isinstance(refusal, RequestRefused):
                raise
            shorter = min(longest, len(sent[0])) // 2
            if shorter < _SHORTEST_INPUT:
                return [_Answered(None, shortened=True)]
            return await self._answered(texts, prefix, kind, shorter)
        return [_Answered(row, len(start) < len(text)) for row, start, text in zip(rows, sent, texts, strict=True)]

    async def _on_terms(self, texts: list[str], kind: Kind) -> Sequence[Any]:
        """Exchange on the best terms that the endpoint accepts, and remember them once it has."""
        terms = self._terms
        while True:
            try:
                rows = await self._exchange(texts, terms, kind)
            except RequestRefused as refusal:
                lesser = _plainer(terms, str(refusal)) if refusal.status in _ABOUT_PARAMETERS else None
                if lesser is None:
                    raise
                terms = lesser
                continue
            self._terms = replace(terms, batch=self._terms.batch)
            return rows

    async def _exchange(self, texts: list[str], terms: _Terms, kind: Kind) -> Sequence[Any]:
        body: dict[str, Any] = {"model": self.choice.model, "input": texts}
        if terms.dimensions:
            body["dimensions"] = self.choice.dimensions
        if terms.encoding_format:
            body["encoding_format"] = "float"
        return await self._endpoint.post(
            "/embeddings",
            {"authorization": f"Bearer {self.choice.api_key}"} if self.choice.api_key else {},
            body,
            timeout_seconds=self.choice.query_timeout_seconds if kind == "query" else self.choice.timeout_seconds,
            read=_reader(len(texts)),
        )


def _reader(count: int) -> Callable[[Mapping[str, Any]], Sequence[Any]]:
    """Return what reads an answer to `count` texts: one row for each, in the order of `index`, whatever the rows are worth."""

    def read(payload: Mapping[str, Any]) -> Sequence[Any]:
        data = payload.get("data")
        if not isinstance(data, list) or len(data) != count:
            got = len(data) if isinstance(data, list) else "no"
            raise BadReply(f"the endpoint answered with {got} embeddings to {count} texts")
        if not all(isinstance(item, dict) for item in data):
            raise BadReply("the endpoint's embeddings are not objects")
        places = [item.get("index", position) for position, item in enumerate(data)]
        if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(count)):
            raise BadReply("the endpoint's embeddings do not say which text they belong to")
        rows = dict(zip(places, (item.get("embedding") for item in data), strict=True))
        return [rows[place] for place in range(count)]

    return read


def _plainer(terms: _Terms, said: str) -> _Terms | None:
    """Return terms without the parameter that was refused, or without the likelier one; None if nothing can be left out."""
    if "batch" in said.lower():
        return None
    if terms.dimensions and ("dimension" in said.lower() or not terms.encoding_format):
        return replace(terms, dimensions=False)
    return replace(terms, encoding_format=False) if terms.encoding_format else None
