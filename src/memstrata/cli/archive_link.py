"""The way to the exports and imports of a memory: a server that has the folder open, else the folder in this process.

Not through `memstrata.cli.connect`: an application that answers in process gathers its whole answer first, and an export
may be larger than the memory of the machine.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import httpx

from memstrata.cli.background import running_server
from memstrata.cli.connect import ANY_KEY, checked_url, nothing_in
from memstrata.cli.place import Place, read_settings
from memstrata.cli.words import say
from memstrata.errors import Conflict, Forbidden, InvalidRequest, MemstrataError, NotFound, Unauthorized, Unavailable
from memstrata.records.archive import ArchiveSelection
from memstrata.records.audit import CLI
from memstrata.store.audit import acting
from memstrata.store.sqlite.store import DATABASE_NAME

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["ArchiveLink", "archive_link"]

_TIMEOUT: Final = httpx.Timeout(60.0, read=600.0, write=600.0)
_ERRORS: Final[Mapping[int, type[MemstrataError]]] = {
    400: InvalidRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
}


class ArchiveLink(Protocol):
    """Both raise what the server would answer, Unavailable where there is no answer."""

    def export(self, selection: ArchiveSelection) -> AsyncIterator[bytes]:
        """Yield an export, cut anywhere."""
        ...

    async def import_lines(
        self, chunks: AsyncIterable[bytes], instance: str, as_user: str | None, *, dry_run: bool
    ) -> Mapping[str, Any]:
        """Return the report as `/v3/import` answers with it."""
        ...


@asynccontextmanager
async def archive_link(place: Place, *, creates: bool) -> AsyncIterator[ArchiveLink]:
    """Open the way. In this process nothing is distilled, and a folder is made a memory only if the command `creates`.

    Raises Misconfigured, NotFound if there is nothing to look at, Unavailable if another program has the folder.
    """
    settings, _ = read_settings(place.data_dir, place.config)
    url = checked_url(place.url) if place.url else running_server(settings.data_dir)
    if url:
        key = place.api_key or settings.server.api_key or ANY_KEY
        headers = {"authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=_TIMEOUT) as http:
            try:
                yield _Server(http)
            except httpx.HTTPError as error:
                raise Unavailable(f"{url}: {str(error) or type(error).__name__}") from error
        return
    if not creates and not (settings.data_dir / DATABASE_NAME).exists():
        raise NotFound(nothing_in(settings.data_dir))
    from memstrata.memory import Memory

    own = replace(
        settings,
        pipeline=replace(settings.pipeline, enabled=False),
        mirror=replace(settings.mirror, enabled=creates),
        embedding=replace(settings.embedding, enabled=False),
    )
    with acting(CLI):
        async with Memory.open(settings=own) as memory:
            yield _Folder(memory)


class _Server:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def export(self, selection: ArchiveSelection) -> AsyncIterator[bytes]:
        ids = {"team_id": selection.team, "agent_id": selection.agent, "user_id": selection.user}
        body = {name: value for name, value in ids.items() if value is not None}
        headers = {b"x-tdai-service-id": selection.instance.encode()}
        async with self._http.stream("POST", "/v3/export", json=body, headers=headers) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise _refusal(response)
            async for chunk in response.aiter_bytes():
                yield chunk

    async def import_lines(
        self, chunks: AsyncIterable[bytes], instance: str, as_user: str | None, *, dry_run: bool
    ) -> Mapping[str, Any]:
        query = {"dry_run": str(dry_run).lower()} | ({} if as_user is None else {"as_user": as_user})
        headers = {b"x-tdai-service-id": instance.encode(), b"content-type": b"application/x-ndjson"}
        response = await self._http.post("/v3/import", params=query, content=chunks, headers=headers)
        if response.status_code != httpx.codes.OK:
            raise _refusal(response)
        report: Mapping[str, Any] = response.json()["data"]
        return report


class _Folder:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def export(self, selection: ArchiveSelection) -> AsyncIterator[bytes]:
        return self._memory.archives.export(selection)

    async def import_lines(
        self, chunks: AsyncIterable[bytes], instance: str, as_user: str | None, *, dry_run: bool
    ) -> Mapping[str, Any]:
        from memstrata.server.archives import report_shape

        report = await self._memory.archives.import_lines(chunks, instance, as_user=as_user, dry_run=dry_run)
        return report_shape(report)


def _refusal(response: httpx.Response) -> MemstrataError:
    try:
        message = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = say("archive.no_answer", status=response.status_code)
    return _ERRORS.get(response.status_code, Unavailable)(message)
