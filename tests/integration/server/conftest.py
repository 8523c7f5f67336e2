"""The server that most tests of the API ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import pytest

Start = Callable[..., AbstractAsyncContextManager[str]]


@pytest.fixture
async def url(start: Start) -> AsyncIterator[str]:
    async with start() as found:
        yield found
