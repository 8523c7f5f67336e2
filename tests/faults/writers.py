"""Clients that keep writing while their server dies and comes back, and remember what it has promised them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx

__all__ = ["TEAMS", "Batch", "Writers"]

TEAMS = ("north", "south")
SESSIONS = 12
HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
CLIENT_TIMES = (None, "1970-01-01T00:00:01Z", "2999-12-31T23:59:59Z", "2026-01-05T09:00:00Z")
SYLLABLES = [consonant + vowel for consonant in "bcdfghjklmnprstvwxz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Batch:
    """One write: what a user said and what was answered. `fact` stands in the user's message and nowhere else."""

    key: str
    team: str
    session: str
    fact: str
    messages: tuple[dict[str, Any], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(message["content"] for message in self.messages)


@dataclass(slots=True)
class Writers:
    """Tasks that write until told to stop. A broken connection is answered with the same key, seldom with giving up."""

    seed: int
    acknowledged: dict[str, tuple[Batch, tuple[str, ...]]] = field(default_factory=dict)
    abandoned: list[Batch] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _up: asyncio.Event = field(default_factory=asyncio.Event)
    _progress: asyncio.Condition = field(default_factory=asyncio.Condition)
    _url: str = ""
    _stopping: bool = False

    def server_is_at(self, url: str) -> None:
        self._url = url
        self._up.set()

    def server_is_gone(self) -> None:
        self._up.clear()

    def stop(self) -> None:
        """Finish no batch any more: what is not acknowledged now is given up."""
        self._stopping = True
        self._up.set()

    async def acknowledgements(self, more: int) -> None:
        """Wait until so many more batches are acknowledged."""
        target = len(self.acknowledged) + more
        async with self._progress:
            await self._progress.wait_for(lambda: len(self.acknowledged) >= target)

    async def write(self, writer: int) -> None:
        """Be one client, until stopped."""
        choices = random.Random(f"{self.seed} {writer}")
        number = 0
        async with httpx.AsyncClient(headers=HEADERS, timeout=30.0) as http:
            while not self._stopping:
                await self._until_acknowledged(http, _batch(choices, f"{writer}-{number}"), choices)
                number += 1

    async def _until_acknowledged(self, http: httpx.AsyncClient, batch: Batch, choices: random.Random) -> None:
        body = {
            "idempotency_key": batch.key,
            "team_id": batch.team,
            "agent_id": "agent",
            "user_id": "user",
            "session_id": batch.session,
            "messages": batch.messages,
        }
        while True:
            await self._up.wait()
            try:
                response = await http.post(f"{self._url}/v3/conversation/add", json=body)
            except httpx.TransportError:
                if self._stopping or choices.random() < 0.3:
                    self.abandoned.append(batch)
                    return
                self.counts["retries"] += 1
                await asyncio.sleep(0)
                continue
            assert response.status_code == 200, response.text
            data = response.json()["data"]
            self.counts["replays"] += data.get("replayed", False)
            self.acknowledged[batch.key] = (batch, tuple(data["accepted_ids"]))
            async with self._progress:
                self._progress.notify_all()
            return


def _batch(choices: random.Random, number: str) -> Batch:
    fact = f"{_word(choices)}{number.replace('-', 'q')}"
    said = f"Remember: {_word(choices)} {fact} {_word(choices)} {_word(choices)} {_word(choices)}."
    answered = f"{_word(choices)} {_word(choices)}, answer {number}."
    messages = []
    for role, content in (("user", said), ("assistant", answered)):
        time = choices.choice(CLIENT_TIMES)
        messages.append({"role": role, "content": content} | ({"timestamp": time} if time else {}))
    session = f"session-{choices.randrange(SESSIONS)}"
    return Batch(f"key-{number}", choices.choice(TEAMS), session, fact, tuple(messages))


def _word(choices: random.Random) -> str:
    return "".join(choices.choices(SYLLABLES, k=4))
