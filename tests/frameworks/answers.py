"""The answers of a model that a driver makes in its framework's own form."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from .driver import Answer

__all__ = ["Answers"]


class Answers:
    """Answers in waiting for requests that hold certain words, so that runs at the same time get their own."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        """Each request, as one text."""
        self._waiting: list[tuple[str, deque[Answer]]] = []

    @contextmanager
    def given(self, words: str, answers: tuple[Answer, ...]) -> Iterator[None]:
        """Have these answers ready until the block ends."""
        waiting = (words, deque(answers))
        self._waiting.append(waiting)
        try:
            yield
        finally:
            self._waiting.remove(waiting)

    def next(self, request: str) -> Answer:
        """Note a request and return the answer to it."""
        self.requests.append(request)
        return next(answers for words, answers in reversed(self._waiting) if words in request).popleft()
