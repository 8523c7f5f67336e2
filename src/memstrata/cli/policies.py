"""`policy`: what is set for a part of an instance, and what holds there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.client import AsyncMemoryClient, Policy, PolicyState

__all__ = ["list_policies", "set_policy", "show_policy"]

_PAGE = 100


def show_policy(screen: Screen, place: Place, part: Mapping[str, str | None]) -> None:
    """Show what is set for a part, and what holds there."""
    team, agent, user = part["team"], part["agent"], part["user"]
    _tell(screen, place, lambda client: client.policy(team=team, agent=agent, user=user))


def set_policy(
    screen: Screen, place: Place, part: Mapping[str, str | None], redacts: bool | None, days: int | None
) -> None:
    """Set both rules of a part, and show what holds then."""
    team, agent, user = part["team"], part["agent"], part["user"]
    _tell(
        screen,
        place,
        lambda client: client.set_policy(
            team=team, agent=agent, user=user, redact_secrets=redacts, retention_days=days
        ),
    )


def list_policies(screen: Screen, place: Place) -> None:
    """Show all that is set."""
    write_logs("warning")
    found = asyncio.run(_all(place))
    for policy in found:
        screen.bullet(f"{_part(policy)} · {_rules(policy.retention_days, policy.redact_secrets)}")
    if not found:
        screen.line(say("policy.none"))
    screen.json({"policies": [asdict(policy) for policy in found]})


async def _all(place: Place) -> list[Policy]:
    found: list[Policy] = []
    async with connected(place) as connection:
        while True:
            page = await connection.client.policies(limit=_PAGE, offset=len(found))
            found += page.items
            if not page.items or len(found) >= page.total:
                return found


def _tell(screen: Screen, place: Place, ask: Callable[[AsyncMemoryClient], Awaitable[PolicyState]]) -> None:
    async def asked() -> PolicyState:
        async with connected(place) as connection:
            return await ask(connection.client)

    write_logs("warning")
    state = asyncio.run(asked())
    policy = state.policy
    screen.item(
        say("policy.set"),
        say("policy.none") if policy is None else _rules(policy.retention_days, policy.redact_secrets),
    )
    screen.item(say("policy.holds"), _rules(state.retention_days, state.redact_secrets))
    report: dict[str, Any] = {
        "policy": None if policy is None else asdict(policy),
        "in_force": {"redact_secrets": state.redact_secrets, "retention_days": state.retention_days},
    }
    screen.json(report)


def _part(policy: Policy) -> str:
    names = {name: getattr(policy, name) or say("policy.all") for name in ("team", "agent", "user")}
    return say("policy.part", **names)


def _rules(days: int | None, redacts: bool | None) -> str:
    wider = say("policy.wider")
    kept = wider if days is None else say("policy.days", days=days) if days else say("policy.for_ever")
    secrets = wider if redacts is None else say("policy.redacted") if redacts else say("policy.left")
    return say("policy.rules", days=kept, secrets=secrets)
