"""`/v3/export` and `/v3/import`: streams of JSON lines, so neither is ever held whole. Ours; `docs/formats.md`.

For the gateway alone: what everybody said goes out or comes in, and the keys' hashes with it. A stream that fails after it
has begun ends without its last line, by which an import knows that it was cut short.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.types import ASGIApp, Receive, Scope, Send

from memstrata.errors import Forbidden, MemstrataError
from memstrata.records.archive import ArchiveSelection, ImportReport
from memstrata.records.audit import GATEWAY
from memstrata.server.authority import claimed_key
from memstrata.server.body import ClientGone, drain, read_body
from memstrata.server.caller import instance_of
from memstrata.server.envelope import Data, UnreadableBody, send_answer, success
from memstrata.server.requests import decode, decode_query
from memstrata.server.strict import StrictRequest
from memstrata.settings import ServerSettings
from memstrata.store.audit import acting

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["ARCHIVE_PATHS", "ArchiveEndpoint", "ExportRequest", "ImportRequest", "report_shape"]

ARCHIVE_PATHS: tuple[Literal["/v3/export", "/v3/import"], ...] = ("/v3/export", "/v3/import")

Id = Annotated[str, Meta(min_length=1, max_length=512)]


class ExportRequest(StrictRequest, kw_only=True, frozen=True):
    """`/v3/export`: nothing for the whole instance, a user, or team, agent and user."""

    team_id: Id | None = None
    agent_id: Id | None = None
    user_id: Id | None = None


class ImportRequest(StrictRequest, kw_only=True, frozen=True):
    """The query string of `/v3/import`; the body is the export. Rows come into the instance of the header."""

    dry_run: bool = False
    as_user: Id | None = None


class ArchiveEndpoint:
    """One of the two routes."""

    def __init__(
        self, path: Literal["/v3/export", "/v3/import"], memory: Memory, settings: ServerSettings, unknown: ASGIApp
    ) -> None:
        self._exports = path == "/v3/export"
        self._memory = memory
        self._key = settings.api_key.encode()
        self._limit = settings.max_body_bytes
        self._unknown = unknown
        self._export: msgspec.json.Decoder[Any] = msgspec.json.Decoder(ExportRequest)
        self._import: msgspec.json.Decoder[Any] = msgspec.json.Decoder(ImportRequest)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._unknown(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if claimed_key(headers, self._key) is not None:
            raise Forbidden("permission_denied: exports and imports are for the gateway alone")
        instance = instance_of(headers)
        if self._exports:
            request: ExportRequest = decode(self._export, await read_body(headers, receive, self._limit) or b"{}")
            selection = ArchiveSelection(instance, request.team_id, request.agent_id, request.user_id)
            await self._send_export(selection, send)
            return
        asked: ImportRequest = decode_query(self._import, scope["query_string"])
        body = _Body(headers, receive)
        try:
            with acting(GATEWAY):
                report = await self._memory.archives.import_lines(
                    body.chunks(), instance, as_user=asked.as_user, dry_run=asked.dry_run
                )
        except MemstrataError:
            if not body.is_read:
                await drain(receive)
            raise
        await send_answer(success(report_shape(report)), send)

    async def _send_export(self, selection: ArchiveSelection, send: Send) -> None:
        begun = False
        with acting(GATEWAY):
            async with aclosing(self._memory.archives.export(selection)) as blocks:
                async for block in blocks:
                    if not begun:
                        begun = True
                        headers = [(b"content-type", b"application/x-ndjson")]
                        await send({"type": "http.response.start", "status": 200, "headers": headers})
                    await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


class _Body:
    """The body of an import as it arrives. `is_read`: all of it has come."""

    def __init__(self, headers: Mapping[bytes, bytes], receive: Receive) -> None:
        self._receive = receive
        self._encoding = headers.get(b"content-encoding", b"identity").strip().lower()
        self.is_read = False

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield it piece by piece, decompressed. Raises UnreadableBody, ClientGone."""
        encoding = self._encoding
        if encoding not in (b"identity", b"", b"gzip", b"x-gzip"):
            raise UnreadableBody(415, f"Unsupported Content-Encoding: {encoding[:40].decode('latin-1')}")
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS) if b"gzip" in encoding else None
        while not self.is_read:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            self.is_read = not message.get("more_body", False)
            data: bytes = message.get("body", b"")
            if stream is None:
                yield data
                continue
            while data:
                try:
                    yield stream.decompress(data, 1 << 20)
                except zlib.error:
                    raise UnreadableBody(400, "The body does not decompress") from None
                data = stream.unconsumed_tail
        if stream is not None and not stream.eof:
            raise UnreadableBody(400, "The compressed body is cut short")


def report_shape(report: ImportReport) -> Data:
    """Return what `/v3/import` answers with."""
    outcomes: tuple[Literal["added", "known", "conflict", "skipped"], ...] = ("added", "known", "conflict", "skipped")
    return {
        "instance_id": report.instance,
        "dry_run": report.dry_run,
        **{outcome: report.total(outcome) for outcome in outcomes},
        "counts": {kind: dict(counts) for kind, counts in report.counts.items()},
        "problems": [{"line": one.line, "kind": one.kind, "reason": one.reason} for one in report.problems],
    }
