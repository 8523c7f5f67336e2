"""People who ask a real server about its directory: the administrator, and as many users as a test needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest


@dataclass(frozen=True)
class Person:
    """Somebody with a key. `await person("team/create", name="kitchen")` is the answer's data."""

    http: httpx.AsyncClient
    user_id: str
    key: str
    instance: str = "default"

    async def __call__(self, route: str, /, **body: Any) -> Any:
        response = await self.ask(route, **body)
        assert (response.status_code, response.json()["code"]) == (200, 0), response.text
        return response.json().get("data")

    async def refused(self, route: str, /, **body: Any) -> tuple[int, str]:
        """Return status and code of an answer that must be an error, as `(404, "team_not_found")`."""
        response = await self.ask(route, **body)
        answer = response.json()
        assert response.status_code == answer["code"] != 0, response.text
        assert "data" not in answer
        return response.status_code, answer["message"].partition(":")[0]

    async def ask(self, route: str, /, **body: Any) -> httpx.Response:
        headers = {"x-tdai-user-key": self.key, "x-tdai-service-id": self.instance}
        return await self.http.post(f"/v3/meta/{route}", json=body, headers=headers)


NewPerson = Callable[..., Awaitable[Person]]


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client without any key."""
    async with httpx.AsyncClient(base_url=url) as client:
        yield client


@pytest.fixture
async def new_admin(http: httpx.AsyncClient) -> NewPerson:
    """Return a way to make the administrator of an instance: `await new_admin("other")`."""

    async def make(instance: str = "default") -> Person:
        response = await http.post(
            "/v3/internal/meta/user/init-admin", json={"username": "root"}, headers={"x-tdai-service-id": instance}
        )
        data = response.json()["data"]
        return Person(http, data["user_id"], data["user_key"], instance)

    return make


@pytest.fixture
async def admin(new_admin: NewPerson) -> Person:
    """The system administrator of the instance `default`."""
    return await new_admin()


@pytest.fixture
def new_user(admin: Person) -> NewPerson:
    """Return a way to add a user: `await new_user("lin")`."""

    async def make(username: str) -> Person:
        made = await admin("user/create", username=username)
        return Person(admin.http, made["user_id"], made["default_user_key"])

    return make


@pytest.fixture
async def lin(new_user: NewPerson) -> Person:
    """A user. Others are made by `new_user`."""
    return await new_user("lin")


@pytest.fixture
async def team(lin: Person) -> str:
    """The id of a team that `lin` owns."""
    made = await lin("team/create", name="kitchen", owner_user_id=lin.user_id)
    return str(made["team_id"])


@dataclass(frozen=True)
class Home:
    """The team `team_id`: lin owns it, mia is an admin of it, rex a member, ann nothing; root runs the instance.

    `client` speaks for the gateway. User ids are as the names.
    """

    team_id: str
    client: httpx.AsyncClient
    root: Person
    lin: Person
    mia: Person
    rex: Person
    ann: Person


@pytest.fixture
async def home(url: str, admin: Person) -> AsyncIterator[Home]:
    """A team with people in every place of it."""
    people = {}
    for name in ("lin", "mia", "rex", "ann"):
        made = await admin("user/create", username=name, user_id=name)
        people[name] = Person(admin.http, name, made["default_user_key"])
    lin = people["lin"]
    team_id = (await lin("team/create", name="home", owner_user_id="lin"))["team_id"]
    for name, role in (("mia", "admin"), ("rex", "member")):
        await lin("team-member/add", team_id=team_id, user_id=name, role=role)
    headers = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:
        yield Home(team_id, client, root=admin, **people)
