"""The one way in: every command is a client of the HTTP API.

Where a server has the data folder open, or `--url` names one, the API is reached over the network. Otherwise the folder
is opened in this process and the same application answers through memory, so that no command has a second code path.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from memstrata.cli.background import running_server
from memstrata.cli.place import DEMO_NAME, Place, read_settings
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, Unreachable
from memstrata.errors import InvalidRequest, NotFound, Unavailable
from memstrata.records.audit import CLI
from memstrata.settings import Settings
from memstrata.store.audit import acting
from memstrata.store.sqlite.store import DATABASE_NAME

__all__ = ["ANY_KEY", "Connection", "checked_url", "connected", "nothing_in"]

_IN_PROCESS = "http://in-process"
# A server without a key wants a bearer all the same (wire contract §1.4); which one is of no account.
ANY_KEY = "local"


class Connection:
    """A client, and what it is connected to. `url` is empty where the data folder was opened in this process."""

    def __init__(self, client: AsyncMemoryClient, settings: Settings, url: str) -> None:
        self.client = client
        self.settings = settings
        self.url = url


@asynccontextmanager
async def connected(
    place: Place, *, creates: bool = False, distills: bool = False, embeds: bool = False
) -> AsyncIterator[Connection]:
    """Open a connection for the scope of `place`.

    In this process, a folder without a database is made one only if the command `creates`, the pipeline runs only if it
    `distills`, and rows get their vectors only if it does that or `embeds`: looking starts no work. Raises Misconfigured,
    NotFound if there is nothing to look at, Unavailable if the server does not answer or another program has the folder,
    and what the commands raise.
    """
    settings, _ = read_settings(place.data_dir, place.config)
    key = place.api_key or settings.server.api_key or ANY_KEY
    url = checked_url(place.url) if place.url else running_server(settings.data_dir)
    if url:
        async with _client(place, url, key) as client:
            try:
                yield Connection(client, settings, url)
            except Unreachable as error:
                raise Unavailable(f"{url}: {error.message}") from error
        return
    if not creates and not (settings.data_dir / DATABASE_NAME).exists():
        raise NotFound(nothing_in(settings.data_dir))
    if not distills:
        pipeline, mirror = replace(settings.pipeline, enabled=False), replace(settings.mirror, enabled=creates)
        embedding = replace(settings.embedding, enabled=embeds)
        settings = replace(settings, pipeline=pipeline, mirror=mirror, embedding=embedding)
    key = settings.server.api_key or ANY_KEY  # that of `--api-key` is for a server
    async with _opened_here(settings) as transport, _client(place, _IN_PROCESS, key, transport) as client:
        yield Connection(client, settings, "")


@asynccontextmanager
async def _opened_here(settings: Settings) -> AsyncIterator[httpx.AsyncBaseTransport]:
    # Loaded where it is needed: a command that has a server to talk to starts in half the time.
    from memstrata.memory import Memory
    from memstrata.server import create_app

    async with Memory.open(settings=settings) as memory:
        with acting(CLI):
            yield httpx.ASGITransport(create_app(memory, settings.server))


def _client(place: Place, url: str, key: str, transport: httpx.AsyncBaseTransport | None = None) -> AsyncMemoryClient:
    try:
        return AsyncMemoryClient(
            url,
            api_key=key,
            instance=place.instance,
            team=place.team,
            agent=place.agent,
            user=place.user,
            transport=transport,
        )
    except ValueError as error:
        raise InvalidRequest(str(error)) from error


def nothing_in(folder: Path) -> str:
    """Return what to say of a folder without a database."""
    demo = folder / DEMO_NAME
    if (demo / DATABASE_NAME).exists():
        return say("no_data_but_demo", folder=folder, demo=demo)
    return say("no_data", folder=folder)


def checked_url(url: str) -> str:
    """Return the URL of a server as it was given. Raises InvalidRequest for one that cannot be any."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest(say("url_form", url=url))
    return url
