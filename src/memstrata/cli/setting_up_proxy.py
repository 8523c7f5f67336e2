"""`setup --with proxy`: what to set where no file is written, and whether requests get through to the provider.

What is asked costs nothing: whether the proxy is there, and the provider's list of models through it, without a credential of
the provider's. The user's key is never shown.
"""

from __future__ import annotations

from http import HTTPStatus

import httpx

from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.errors import InvalidRequest
from memstrata.proxy.headers import REFUSED_HEADER
from memstrata.proxy.routes import route_of
from memstrata.setup.change import Launch
from memstrata.setup.masking import masked
from memstrata.setup.proxy_entries import KEY_HEADER

__all__ = ["look_through", "tell_variables"]

_SECONDS = 5.0
_ADDS_VERSION = frozenset({"claude-code", "dsh"})  # these put `/v1` behind what they are given


def tell_variables(screen: Screen, launch: Launch, agent: str) -> int:
    """Say what to set in a client whose configuration is not written here. Raises InvalidRequest for a name that is none."""
    base = launch.proxied(agent)
    if route_of("GET", f"/{agent}/default/v1/models") is None:
        raise InvalidRequest(say("setup.proxy.no_name", client=agent))
    url = base if agent.lower() in _ADDS_VERSION else f"{base}/v1"
    screen.line(say("setup.proxy.variables", client=agent, url=url))
    if launch.user_key:
        screen.line(say("setup.proxy.header", header=masked(f"{KEY_HEADER}: {launch.user_key}")))
    look_through(screen, launch, agent)
    screen.json({"client": agent, "base_url": url, "written": False})
    return 0


def look_through(screen: Screen, launch: Launch, agent: str) -> None:
    """Say in a line whether the proxy is there, and in another what the provider behind it answers."""
    base = f"{launch.proxied(agent)}/v1"
    headers = {KEY_HEADER: launch.user_key} if launch.user_key else {}
    with httpx.Client(headers=headers, timeout=_SECONDS) as http:
        there = _asked(http, base)
        if there is None or there.status_code != HTTPStatus.OK:
            screen.line(say("setup.proxy.none", url=base))
            return
        screen.line(say("setup.proxy.there", url=base))
        screen.line(_provider(_asked(http, f"{base}/models")))


def _provider(answer: httpx.Response | None) -> str:
    if answer is None:
        return say("setup.proxy.silent", seconds=_SECONDS)
    if refused := answer.headers.get(REFUSED_HEADER):
        wants_user = answer.status_code == HTTPStatus.UNAUTHORIZED
        return say("setup.proxy.no_user") if wants_user else say("setup.proxy.refused", reason=refused)
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return say("setup.proxy.own_credential")
    failed = answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    return say("setup.proxy.no_provider" if failed else "setup.proxy.reached", status=answer.status_code)


def _asked(http: httpx.Client, url: str) -> httpx.Response | None:
    try:
        return http.get(url)
    except httpx.HTTPError:
        return None
