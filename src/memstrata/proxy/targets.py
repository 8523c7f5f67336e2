"""Where requests of an agent may go: a list that the operator wrote, and no word of a request's. Pure.

An agent's own entry goes before that of its protocol, `anthropic` or `openai`; those two are there without being
written. A key in the list takes the place of the client's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from memstrata.errors import Misconfigured
from memstrata.proxy.routes import Route
from memstrata.proxy.wire.request import WireName

__all__ = ["Target", "Targets", "url_at"]

_USUAL: Mapping[str, str] = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
_FAMILY: Mapping[WireName, str] = {"anthropic": "anthropic", "chat": "openai", "responses": "openai"}
_VERSIONED = re.compile(r"/v\d+[a-z0-9]*\Z")
_WHOLE = ("/messages", "/chat/completions", "/responses")


@dataclass(frozen=True, slots=True)
class Target:
    """An address without a slash at its end, and the key to use there, empty for the client's own."""

    base: str
    key: str = field(default="", repr=False)


class Targets:
    """The list by name. Raises Misconfigured for an entry that is no `name=value`, or no address."""

    def __init__(self, upstreams: Iterable[str], keys: Iterable[str]) -> None:
        addresses = {**_USUAL, **_entries(upstreams, "proxy.upstreams")}
        own = _entries(keys, "proxy.upstream_keys")
        if stray := sorted(own.keys() - addresses.keys()):
            raise Misconfigured(
                f"proxy.upstream_keys: {stray[0]} is no upstream; there are {', '.join(sorted(addresses))}"
            )
        self._targets = {name: Target(_address(name, url), own.get(name, "")) for name, url in addresses.items()}

    def of(self, route: Route) -> Target:
        """Return where a request goes."""
        found = self._targets.get(route.agent)
        return found if found is not None else self._targets[_FAMILY[route.wire]]


def url_at(target: Target, suffix: str, query: bytes) -> str:
    """Return the whole address of a request. `suffix` begins with a slash; `/v1` is not said twice.

    An address that names an endpoint already stands for it.
    """
    unversioned = suffix.removeprefix("/v1") if suffix.startswith("/v1/") else suffix
    base = target.base
    whole = next((end for end in _WHOLE if base.endswith(end)), "")
    if whole:
        base = base[: -len(whole)] if not unversioned.startswith(whole) else base
        path = unversioned.removeprefix(whole)
    else:
        path = unversioned if _VERSIONED.search(base) else suffix
    return f"{base}{path}?{query.decode('latin-1')}" if query else f"{base}{path}"


def _entries(given: Iterable[str], setting: str) -> dict[str, str]:
    entries: dict[str, str] = {}
    for entry in given:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not (name and equals and value):
            # The entry itself may be a key, so it is not repeated.
            raise Misconfigured(f"{setting}: every entry is name=value, such as anthropic=…")
        entries[name.lower()] = value
    return entries


def _address(name: str, url: str) -> str:
    try:
        split = urlsplit(url)
        plain = not (split.query or split.fragment or split.username) and split.port != 0
    except ValueError:
        plain, split = False, urlsplit("")
    if not plain or split.scheme not in ("http", "https") or not split.hostname:
        raise Misconfigured(
            f"proxy.upstreams: {name} needs an address such as https://api.example.com, nothing behind it"
        )
    return url.rstrip("/")
