"""`/memory-generation-log/*`: how memories, scenes and portraits came about. Source: wire contract §4.3.

Additions to the contract: `outputs` with the references of each record, `usage`, `notes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memstrata.errors import InvalidRequest
from memstrata.provenance import GenerationRecord, OutputRecord, RowRef
from memstrata.provenance.log_ids import key_of
from memstrata.server.call import InstanceCall
from memstrata.server.envelope import Data
from memstrata.server.strict import GenerationGet, GenerationList
from memstrata.server.times import log_window

__all__ = ["get", "list_generations"]

USUAL_LIMIT = 20
SCHEMA_VERSION = 1


async def list_generations(call: InstanceCall[GenerationList]) -> Data:
    """Page through the log, newest first. `size` is the length of the record as JSON, in bytes."""
    request = call.request
    since, until = log_window(request.start_time, request.end_time)
    page = await call.memory.generations.list(
        call.instance,
        layer=request.layer,
        status=request.status,
        since=since,
        until=until,
        limit=request.limit or USUAL_LIMIT,
        cursor=request.cursor,
    )
    data: dict[str, Any] = {"items": [_entry(item) for item in page.records]}
    return data if page.next_cursor is None else data | {"next_cursor": page.next_cursor}


async def get(call: InstanceCall[GenerationGet]) -> Data:
    """Answer with one record: a whole run by its log id, or what the newest run did to one memory."""
    request, log = call.request, call.memory.generations
    if (request.log_id is None) == (request.memory_id is None):
        raise InvalidRequest("give either log_id, or memory_id and layer", field="request")
    if request.log_id is not None:
        if request.layer is not None:
            raise InvalidRequest("goes with memory_id only", field="layer")
        return _record(await log.get(call.instance, request.log_id))
    if request.memory_id is None or request.layer is None:
        raise InvalidRequest("required with memory_id", field="layer")
    return _record(await log.get_by_memory_id(call.instance, request.memory_id, request.layer))


def _entry(record: GenerationRecord) -> dict[str, Any]:
    return {
        "log_id": str(record.log_id),
        "layer": record.log_id.layer,
        "status": record.status,
        **_given(anchor_memory_id=record.anchor),
        "finished_at_ms": record.generation.run.finished_at,
        "size": len(msgspec.json.encode(_record(record))),
        "key": key_of(record.log_id),
    }


def _record(record: GenerationRecord) -> dict[str, Any]:
    generation, run = record.generation, record.generation.run
    made, prompt = run.provenance, record.prompt
    return {
        "schema_version": SCHEMA_VERSION,
        "log_id": str(record.log_id),
        "generation_id": record.generation_id,
        "instance_id": generation.instance,
        "layer": run.kind,
        "status": record.status,
        "team_id": generation.team,
        "agent_id": generation.agent,
        **_given(user_id=generation.user, session_id=generation.session_id),
        "prompt": {
            "memory_prompt_id": prompt.prompt_id,
            "version": prompt.version,
            "source": prompt.source,
            "prompt_sha256": prompt.sha256,
        },
        **_given(anchor_memory_id=record.anchor),
        "input_refs": _refs(record.input_refs),
        "output_refs": _refs(record.output_refs),
        **_given(model=made.model, prompt_mode=made.mode if made.model else None),
        "started_at_ms": run.started_at,
        "finished_at_ms": run.finished_at,
        "latency_ms": max(run.finished_at - run.started_at, 0),
        **_given(error_code=record.error_code, error_message=record.error_message),
        "outputs": [_output(item) for item in record.outputs],
        "usage": {
            "calls": made.usage.calls,
            "prompt_tokens": made.usage.prompt_tokens,
            "completion_tokens": made.usage.completion_tokens,
            "cached_tokens": made.usage.cached_tokens,
        },
        "notes": made.notes,
    }


def _output(output: OutputRecord) -> dict[str, Any]:
    return {
        "record_id": output.ref.record_id,
        "version": output.version,
        "action": output.action,
        "input_refs": _refs(output.inputs),
        "replaced_refs": _refs(output.replaced),
        "note": output.note,
    }


def _refs(refs: Iterable[RowRef]) -> list[dict[str, str]]:
    return [{"layer": ref.layer, "record_id": ref.record_id} for ref in refs]


def _given(**fields: str | None) -> dict[str, str]:
    """The fields that have a value; the contract leaves the others out."""
    return {name: value for name, value in fields.items() if value}
