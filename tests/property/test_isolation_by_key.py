"""People of two instances and four teams call every route there is with their own keys and each other's ids: 0 leaks.

Every text that somebody sends carries a word that exists once. No answer holds a word or an id of somebody else, unless
the request itself brought it; and a request that names somebody else's things changes none of them. Bodies are made from
the routes' own request types, so a new route is called as soon as it is in the table.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from memstrata.memory import Memory
from memstrata.server import create_app
from memstrata.server.mcp_endpoint import MCP_PATH
from memstrata.server.policy import POLICY
from memstrata.server.routes import META_ROUTES, ROUTES
from memstrata.settings import PipelineSettings, ServerSettings, Settings
from memstrata.testing import EchoDistiller

from .tenants import canaries_of, new_canary

T = TypeVar("T")
GATEWAY = "sesame"
INSTANCES = ("default", "other")
PATHS = sorted(POLICY)
REQUESTS: Mapping[str, Any] = {one.path: one.request for one in ROUTES} | {one.path: one.request for one in META_ROUTES}
TRIES = 4  # of a body with parts at random, so that one of them is right
KINDS = ("usr", "team", "agt", "task", "ast", "uky", "msg", "fgt", "m", "uuid")
_HEX = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"\b(?:(usr|team|agt|task|ast|uky|msg|fgt)-[0-9a-z]{{8,}}|(m)_[0-9]{{10,}}_[0-9a-f]{{8}}|{_HEX})\b")
_TRACE = re.compile(rf'"trace_id":"{_HEX}"')

# What would end the game for oneself, or is meant to share something with the other: not forged, or not done at all.
UNDONE = {"/v3/meta/user-key/revoke", "/v3/meta/user/delete", "/v3/meta/user-key/update"}
SHARING = {"/v3/meta/team-member/add", "/v3/meta/acl/grant"}
ENDING = ("delete", "archive", "clear", "forget", "/rm")
READING = ("query", "search", "count", "read", "ls", "list", "get", "history", "check", "status", "log", "trace")
ALONE = {"/v3/meta/team-member/add", "/v3/meta/team-member/remove"}  # a team's owner stays in it
LOOKS = (
    "/v3/conversation/query",
    "/v3/atomic/query",
    "/v3/scenario/ls",
    "/v3/core/read",
    "/v3/meta/agent/list",
    "/v3/meta/team/list",
    "/v3/meta/task/list",
    "/v3/meta/asset/list",
)


def ids_of(text: str) -> Iterator[tuple[str, str]]:
    """Return the ids in a text, each with its kind."""
    for match in _ID.finditer(_TRACE.sub("", text)):
        yield match[1] or match[2] or "uuid", match[0]


@dataclass(eq=False)
class Party:
    """Somebody with a key: a user with a team and an agent, or (`runs`) the system administrator of an instance."""

    instance: str
    key: str
    runs: bool = False
    ids: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def last(self, kind: str) -> str:
        return self.ids[kind][-1] if self.ids[kind] else f"{kind}-none"

    def prefer(self, kind: str, one: str) -> str:
        """Let an id be the one that is used."""
        self.ids[kind] = [*(other for other in self.ids[kind] if other != one), one]
        return one

    @property
    def memory(self) -> str:
        return f"chat_memory-{self.last('team')}-{self.last('agt')}"

    def may_know(self, owner: Party) -> bool:
        return owner is self or (owner.instance == self.instance and (self.runs or owner.runs))


class World:
    """A server with everybody on it, and who brought which word and id into it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="parties-"))
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.owners: dict[str, Party] = {}
        self.sent: dict[Party, set[str]] = {}
        self.answered: set[str] = set()
        self.found = 0
        self.run(self._open())

    async def _open(self) -> None:
        given = Settings(
            data_dir=self.folder,
            pipeline=PipelineSettings(every_n=1_000, warmup=False, l2_delay_seconds=0.0, l2_min_interval_seconds=0.0),
        )
        memory = await self.stack.enter_async_context(Memory.open(settings=given, distiller=EchoDistiller()))
        app: Any = create_app(memory, ServerSettings(api_key=GATEWAY))
        transport = httpx.ASGITransport(app)
        self.http = await self.stack.enter_async_context(
            httpx.AsyncClient(transport=transport, base_url="http://server")
        )
        self.admins = [await self._administrator(instance) for instance in INSTANCES]
        self.tenants = [await self._tenant(admin) for admin in self.admins for _ in range(2)]

    async def _administrator(self, instance: str) -> Party:
        headers = {"authorization": f"Bearer {GATEWAY}", "x-tdai-service-id": instance}
        answer = await self.http.post("/v3/internal/meta/user/init-admin", json={"username": "root"}, headers=headers)
        admin = Party(instance, answer.json()["data"]["user_key"], runs=True)
        self._heed(admin, answer.text, "")
        body = {"name": self.word(admin), "layer": "l1", "prompt": self.word(admin)}
        prompt = await self.ask(admin, "/v3/memory-prompt/create", body)
        admin.ids["mp"] = [prompt["memory_prompt_id"]]
        return admin

    async def _tenant(self, admin: Party) -> Party:
        headers = {"authorization": f"Bearer {admin.key}", "x-tdai-service-id": admin.instance}
        tenant = Party(admin.instance, "")
        body = {"username": self.word(tenant)}
        answer = await self.http.post("/v3/meta/user/create", json=body, headers=headers)
        tenant.key = answer.json()["data"]["default_user_key"]
        tenant.ids["mp"] = admin.ids["mp"]
        self._heed(tenant, answer.text, "")
        await self.ask(tenant, "/v3/meta/user-key/list", {})
        await self.settle(tenant)
        return tenant

    async def settle(self, tenant: Party) -> None:
        """Give a tenant what there must be to look at: a team, an agent, a task, messages in all layers."""
        user = tenant.last("usr")
        teams = (await self.ask(tenant, "/v3/meta/team/list", {"user_id": user}))["items"]
        named = {"name": self.word(tenant), "owner_user_id": user}
        chosen = teams[0] if teams else await self.ask(tenant, "/v3/meta/team/create", named)
        team = {"team_id": tenant.prefer("team", chosen["team_id"])}
        agents = (await self.ask(tenant, "/v3/meta/agent/list", {**team, "status": "active"}))["items"]
        chosen = agents[0] if agents else await self.ask(tenant, "/v3/meta/agent/create", {**named, **team})
        tenant.prefer("agt", chosen["agent_id"])
        await self.ask(tenant, "/v3/meta/task/create", {**team, "title": self.word(tenant), "creator_user_id": user})
        scope = self.scope(tenant)
        said = [{"role": "user", "content": f"green tea {self.word(tenant)}"}]
        await self.ask(tenant, "/v3/conversation/add", {**scope, "messages": said})
        assert (await self.ask(tenant, "/v3/pipeline/flush", {**scope, "wait_seconds": 60}))["idle"]
        await self.ask(tenant, "/v3/core/write", {**scope, "content": self.word(tenant)})
        for path in ("/v3/atomic/query", "/v3/conversation/query"):
            await self.ask(tenant, path, scope)

    def scope(self, tenant: Party) -> dict[str, str]:
        return {"team_id": tenant.last("team"), "agent_id": tenant.last("agt"), "session_id": "s"}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def close(self) -> None:
        try:
            self.run(self.stack.aclose())
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    def word(self, party: Party) -> str:
        """Return a word that only this party has ever said."""
        word = new_canary(f"party {len(self.owners)}")
        self.owners[word] = party
        return word

    # Calls -----------------------------------------------------------------------------------------------------------

    async def ask(self, party: Party, path: str, body: Mapping[str, Any]) -> Any:
        """Make a request that must succeed."""
        response = await self.send(party, path, body)
        assert response.status_code == 200, (path, body, response.text)
        return response.json().get("data")

    async def send(
        self,
        party: Party,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        *,
        beside: bool = False,
    ) -> httpx.Response:
        """Make a request with a party's key, as bearer or `beside` the gateway's; look for what is not theirs."""
        who = {"authorization": f"Bearer {GATEWAY}", "x-tdai-user-key": party.key} if beside else {}
        own = {"authorization": f"Bearer {party.key}", "x-tdai-service-id": party.instance, **who}
        method = "GET" if path in ("/health", "/metrics") else "POST"
        response = await self.http.request(method, path, json=body, headers={**own, **(headers or {})})
        assert response.status_code < 500, (path, body, response.text)
        self.answered.add(path) if response.status_code == 200 else None
        self._heed(party, response.text, json.dumps([body, dict(headers or {})]))
        return response

    def _heed(self, party: Party, answer: str, request: str) -> None:
        sent = self.sent.setdefault(party, set())
        sent |= canaries_of(request) | {one for _, one in ids_of(request)}
        ids = dict.fromkeys(ids_of(answer))
        for word in (*canaries_of(answer), *(one for _, one in ids)):
            owner = self.owners.setdefault(word, party)
            assert party.may_know(owner) or word in sent, f"{word} of {owner} in an answer to {party}: {answer}"
            self.found += owner is party
        for kind, one in ids:
            if self.owners[one] is party and one not in party.ids[kind]:
                party.ids[kind].append(one)

    async def call(self, party: Party, path: str, other: Party, choices: random.Random) -> None:
        """Call a route with a body made for it. `other` is whose ids it names: one's own, or somebody else's."""
        if (path in UNDONE and other is party) or (path in SHARING and other is not party):
            return
        body = self._body(path, party, other, choices)
        headers: dict[str, str] = {}
        if path == MCP_PATH:
            tool = choices.choice(("memory_search", "conversation_search", "recall"))
            params = {"name": tool, "arguments": {"query": "green tea"}}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            headers = {f"x-tdai-{one}-id": other.last(kind) for one, kind in FORGED}
            headers["accept"] = "application/json, text/event-stream"
        elif other is not party and choices.random() < 0.3:
            body = {name: value for name, value in body.items() if name not in ("team_id", "agent_id", "user_id")}
            headers = {f"x-tdai-{one}-id": choices.choice([other, party]).last(kind) for one, kind in FORGED}
        await self.send(party, path, body, headers, beside=choices.random() < 0.5)

    async def forge(self, party: Party, path: str, other: Party, choices: random.Random) -> None:
        """Call a route with somebody else's ids; they must have afterwards what they had before."""
        before = await self.looks(other)
        await self.call(party, path, other, choices)
        if other.instance != party.instance:
            body = self._body(path, party, other, choices)
            foreign = await self.send(party, path, body, {"x-tdai-service-id": other.instance})
            assert foreign.status_code in (401, 404) or POLICY[path] == "nobody", (path, foreign.text)
        assert await self.looks(other) == before, (path, party, other)

    async def looks(self, party: Party) -> list[str]:
        """Return what a party sees of its own."""
        if party.runs:
            return []
        body = {**self.scope(party), "user_id": party.last("usr")}
        return [json.dumps((await self.send(party, path, body)).json().get("data")) for path in LOOKS]

    # Bodies ----------------------------------------------------------------------------------------------------------

    def _body(self, path: str, party: Party, other: Party, choices: random.Random) -> dict[str, Any]:
        body = {}
        for one in msgspec.structs.fields(REQUESTS.get(path, msgspec.Struct)):
            wanted = one.required or one.name in SCOPED or choices.random() < 0.5
            if wanted and (value := self._value(path, one.name, one.type, party, other, choices)) is not None:
                body[one.name] = value
        return body

    def _value(self, path: str, name: str, kind: Any, party: Party, other: Party, choices: random.Random) -> Any:
        if words := choices_of(kind):
            return choices.choice(words)
        if name in IDS:
            pool = other.ids["uuid" if "acl" in path and name == "id" else IDS[name]]
            newest = 1 if name in SCOPED and other is party else 3
            if choices.random() < (0.5 if name == "user_id" else 0.15):
                pool = party.ids[IDS[name]]
            one = choices.choice(pool[-newest:]) if pool else f"{name}-none"
            return [one] if name.endswith("s") else one
        made: dict[str, Callable[[], Any]] = {
            "asset_id": lambda: self.word(party) if "create" in path else other.memory,
            "source_type": lambda: "manual",
            "asset_ids": lambda: [other.memory],
            "bindings": lambda: [{"asset_id": other.memory, "asset_type": "chat_memory"}],
            "linked_agents": lambda: [{"agent_id": other.last("agt")}],
            "memory_ids": lambda: [other.memory if "clear" in path else other.last("m")],
            "messages": lambda: [{"role": "user", "content": f"green tea {self.word(party)}"}],
            "metadata_json": lambda: {"word": self.word(party)},
            "params": lambda: {"skill.enabled": "1"},
            "user_key": lambda: party.key if "verify" in path or "get" in path else f"chosen-{self.word(party)}",
            "path": lambda: "notes.md",
            "query": lambda: "green tea",
            "session_id": lambda: "s",
            "session_ids": lambda: ["s"],
            "module": lambda: "asset_type",
            "instance_id": lambda: other.instance,
            "confirm": lambda: True,
            "wait_seconds": lambda: 60,
            "limit": lambda: 100,
        }
        if name in made:
            return made[name]()
        if name in WORDS:
            return self.word(party)
        if "bool" in str(kind):
            return choices.random() < 0.5
        return 1 if "int" in str(kind) else None


SCOPED = ("team_id", "agent_id", "user_id", "session_id")
FORGED = (("team", "team"), ("agent", "agt"), ("user", "usr"))
IDS = {
    "team_id": "team",
    "team_ids": "team",
    "agent_id": "agt",
    "agent_ids": "agt",
    "user_id": "usr",
    "user_ids": "usr",
    "owner_user_id": "usr",
    "creator_user_id": "usr",
    "subject_id": "usr",
    "task_id": "task",
    "task_ids": "task",
    "key_id": "uky",
    "id": "m",
    "ids": "m",
    "memory_id": "m",
    "message_ids": "msg",
    "forgetting_id": "fgt",
    "memory_prompt_id": "mp",
    "memory_prompt_ids": "mp",
}
WORDS = (
    *("name", "title", "description", "content", "prompt", "summary", "username", "background", "line", "risk_level"),
    *("role_in_task", "source", "source_ref", "source_url", "content_ref", "idempotency_key"),
)


def choices_of(kind: Any) -> tuple[Any, ...]:
    """Return the words that a field can be."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return () if get_origin(kind) in (list, dict) else tuple(w for part in get_args(kind) for w in choices_of(part))


@contextmanager
def world() -> Iterator[World]:
    made = World()
    try:
        yield made
    finally:
        made.close()


class Parties(RuleBasedStateMachine):
    """Anybody calls anything about anybody, in any order."""

    @initialize()
    def open(self) -> None:
        self.world = World()

    def party(self, place: int) -> Party:
        everybody = [*self.world.tenants, *self.world.tenants, *self.world.admins]
        return everybody[place % len(everybody)]

    @rule(place=st.integers(0, 9), paths=st.lists(st.sampled_from(PATHS), min_size=1, max_size=8), seed=st.integers())
    def call_about_oneself(self, place: int, paths: list[str], seed: int) -> None:
        party, choices = self.party(place), random.Random(seed)
        for path in paths:
            self.world.run(self.world.call(party, path, party, choices))

    @rule(
        place=st.integers(0, 9),
        other=st.integers(0, 3),
        paths=st.lists(st.sampled_from(PATHS), min_size=1, max_size=4),
        seed=st.integers(),
    )
    def call_about_somebody_else(self, place: int, other: int, paths: list[str], seed: int) -> None:
        party, victim, choices = self.party(place), self.world.tenants[other], random.Random(seed)
        # An administrator may change much of their own instance; that nothing of it is told elsewhere is what counts.
        for path in paths:
            if party is not victim and not (party.runs and party.instance == victim.instance):
                self.world.run(self.world.forge(party, path, victim, choices))

    @rule(place=st.integers(0, 3))
    def settle(self, place: int) -> None:
        self.world.run(self.world.settle(self.world.tenants[place]))

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.close()


QUICK = settings(
    max_examples=15,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=60, stateful_step_count=50, derandomize=False, print_blob=True)


def test_no_answer_holds_what_is_somebody_elses() -> None:
    run_state_machine_as_test(Parties, settings=QUICK)


@pytest.mark.slow
def test_no_answer_holds_what_is_somebody_elses_in_long_random_runs() -> None:
    run_state_machine_as_test(Parties, settings=LONG)


@pytest.mark.slow
def test_every_route_is_called_by_everybody_about_everybody() -> None:
    with world() as made:
        choices = random.Random(5)
        ends = [path for path in PATHS if any(verb in path for verb in ENDING)]
        for path in [*(path for path in PATHS if path not in ends), *ends]:
            for other in made.tenants:
                reads = path.endswith(READING)
                before = [] if reads else made.run(made.looks(other))
                for party in (*made.tenants, *made.admins):
                    if other is not party and not (party.runs and party.instance == other.instance):
                        made.run(made.call(party, path, other, choices))
                assert reads or made.run(made.looks(other)) == before, path
            for party in (*made.tenants, *made.admins):
                for _ in range(TRIES):
                    made.run(made.call(party, path, party, choices))
                if (path in ends or "create" in path or "update" in path) and not party.runs:
                    made.run(made.settle(party))
        assert made.found > 1_000
        unanswered = {path for path in PATHS if POLICY[path] in ("scope", "owner", "target", "user_key")}
        unanswered -= made.answered | UNDONE | ALONE
        assert unanswered == set(), sorted(unanswered)
