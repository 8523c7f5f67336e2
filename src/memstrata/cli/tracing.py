"""`trace`, `history` and `undo`: why a memory is there, what it was before, and that again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.evidence import chain_as_json, show_chain
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.times import iso, minute
from memstrata.cli.words import say
from memstrata.client import Derivation, Evidence, Memory, MemoryVersion
from memstrata.client import NotFound as NotFoundThere
from memstrata.errors import NotFound

__all__ = ["history", "trace", "undo"]

_INDENT = 5


def trace(screen: Screen, place: Place, memory_id: str) -> None:
    """Show what a memory rests on, what rests on it, and how it was made."""
    write_logs("warning")
    evidence = asyncio.run(_evidence(place, memory_id))
    screen.item(f"v{evidence.memory.version} [{evidence.memory.type}]", evidence.memory.content)
    show_chain(screen, evidence)
    for derivation in evidence.derivations:
        screen.line(_made(derivation), "dim", indent=4)
    screen.json({**chain_as_json(evidence), "generation": [_derivation_as_json(one) for one in evidence.derivations]})


def history(screen: Screen, place: Place, memory_id: str) -> None:
    """Show every version of a memory, newest first."""
    write_logs("warning")
    versions = asyncio.run(_versions(place, memory_id))
    for one in versions:
        screen.item(f"v{one.memory.version} [{_state(one)}]", one.memory.content)
        span = f"{minute(one.valid_from)} → {minute(one.valid_to)}" if one.valid_to else minute(one.valid_from)
        screen.line(f"{span} · {one.memory.origin} · {one.memory.id}", "dim", indent=_INDENT)
        for derivation in one.derivations:
            screen.line(_made(derivation), "dim", indent=_INDENT)
    screen.json({"id": memory_id, "versions": [_version_as_json(one) for one in versions]})


def undo(screen: Screen, place: Place, memory_id: str) -> None:
    """Take back the last change of a memory."""
    write_logs("warning")
    restored = asyncio.run(_undo(place, memory_id))
    for memory in restored:
        screen.bullet(say("undo.done", content=memory.content, id=memory.id, version=memory.version))
    screen.json({"restored": [{"id": one.id, "version": one.version, "content": one.content} for one in restored]})


async def _evidence(place: Place, memory_id: str) -> Evidence:
    async with connected(place) as connection:
        with _where_it_was_sought(place, memory_id):
            return await connection.client.trace(memory_id)


async def _versions(place: Place, memory_id: str) -> tuple[MemoryVersion, ...]:
    async with connected(place) as connection:
        with _where_it_was_sought(place, memory_id):
            return await connection.client.history(memory_id)


async def _undo(place: Place, memory_id: str) -> tuple[Memory, ...]:
    async with connected(place) as connection:
        with _where_it_was_sought(place, memory_id):
            return await connection.client.undo(memory_id)


@contextmanager
def _where_it_was_sought(place: Place, memory_id: str) -> Iterator[None]:
    """Name the scope where a memory is not found: a wrong one is as likely as a mistyped id."""
    try:
        yield
    except NotFoundThere as error:
        shown = memory_id[:64]
        if shown not in error.message:  # a 404 of something that is no Memstrata server
            raise
        scope = {"instance": place.instance, "team": place.team, "agent": place.agent, "user": place.user}
        raise NotFound(say("trace.unknown", id=shown, **scope)) from error


def _made(derivation: Derivation) -> str:
    how = say("trace.by_rules")
    if derivation.model:
        prompt = f"{derivation.prompt_id} v{derivation.prompt_version} ({derivation.prompt_source})"
        how = say("trace.by_model", model=derivation.model, prompt=prompt, mode=derivation.mode)
    parts = (f"v{derivation.version} {derivation.action}", how, minute(derivation.at), derivation.note)
    return " · ".join(part for part in (*parts, *derivation.notes) if part)


def _state(version: MemoryVersion) -> str:
    if version.live:
        return say("history.live")
    return say("history.proposal") if version.proposal else say("history.retired")


def _version_as_json(one: MemoryVersion) -> Mapping[str, Any]:
    return {
        "id": one.memory.id,
        "version": one.memory.version,
        "content": one.memory.content,
        "origin": one.memory.origin,
        "live": one.live,
        "proposal": one.proposal,
        "valid_from": iso(one.valid_from),
        "valid_to": iso(one.valid_to),
        "superseded_by": None if one.superseded_by is None else list(one.superseded_by),
        "message_ids": list(one.message_ids),
        "generation": [_derivation_as_json(derivation) for derivation in one.derivations],
    }


def _derivation_as_json(derivation: Derivation) -> Mapping[str, Any]:
    return {
        "id": derivation.id,
        "version": derivation.version,
        "action": derivation.action,
        "at": iso(derivation.at),
        "run_id": derivation.run_id,
        "model": derivation.model,
        "mode": derivation.mode,
        "prompt": {
            "id": derivation.prompt_id,
            "version": derivation.prompt_version,
            "source": derivation.prompt_source,
        },
        "note": derivation.note,
        "notes": list(derivation.notes),
    }
