"""What users can set for themselves, and what holds for a whole instance: modules of named text values.

Source: wire contract §5.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memstrata.clock import Clock
from memstrata.errors import Forbidden, InvalidRequest
from memstrata.records.audit import Change
from memstrata.records.people import User
from memstrata.settings import DirectorySettings
from memstrata.store.audit import audited
from memstrata.store.protocol import Repositories, Store

__all__ = ["Configuration", "Module", "Param"]

MAX_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Param:
    """One value. `default` is in force until the user sets another one."""

    name: str
    description: str
    default: str


@dataclass(frozen=True, slots=True)
class Module:
    """A group of values. Users set those of a module with `choices`; the others are the operator's."""

    name: str
    description: str
    params: tuple[Param, ...]
    choices: tuple[str, ...] = ()

    def param(self, name: str) -> Param:
        """Return a value's definition. Raises InvalidRequest."""
        for param in self.params:
            if param.name == name:
                return param
        raise InvalidRequest(f"invalid_param_key: {self.name} has no {name[:MAX_SHOWN]}")


class Configuration:
    """All that can be done with settings of users. A user's settings are the user's own business."""

    def __init__(self, store: Store, clock: Clock, settings: DirectorySettings) -> None:
        self._store = store
        self._clock = clock
        self.quota: Mapping[str, int] = {
            "max_users_per_instance": settings.max_users,
            "max_teams_per_instance": settings.max_teams,
        }
        self._modules = {module.name: module for module in (_quota(self.quota), _ASSET_TYPES)}

    async def get(
        self, instance: str, caller: User, user_id: str, module: str, name: str | None = None
    ) -> tuple[Module, tuple[tuple[Param, str], ...]]:
        """Return a module and its values, or one of them. Raises Forbidden, InvalidRequest for what is not there."""
        _require_oneself(caller, user_id)
        found = self._module(module)
        wanted = found.params if name is None else (found.param(name),)
        own = await self._store.read(lambda r: r.params.of(instance, user_id, module))
        return found, tuple((param, own.get(param.name, param.default)) for param in wanted)

    async def set(self, instance: str, caller: User, user_id: str, module: str, values: Mapping[str, str]) -> None:
        """Set values, all or none. Raises Forbidden, InvalidRequest for a value that cannot be, or not be set."""
        _require_oneself(caller, user_id)
        found = self._module(module)
        if not found.choices:
            raise InvalidRequest(f"invalid_param_scope: {module} holds for the whole instance")
        for name, value in values.items():
            param = found.param(name)
            if value not in found.choices:
                raise InvalidRequest(f"invalid_param_value: {param.name} is one of {', '.join(found.choices)}")

        def work(r: Repositories) -> None:
            r.params.put(instance, user_id, module, values)

        own = Change(instance, "configuration.set", user=user_id)
        await self._store.write(audited(work, self._clock.now(), own))

    def _module(self, name: str) -> Module:
        module = self._modules.get(name)
        if module is None:
            raise InvalidRequest(f"unknown_module: there is none of that name, only {', '.join(self._modules)}")
        return module


def _quota(limits: Mapping[str, int]) -> Module:
    about = {
        "max_users_per_instance": "Most users of an instance",
        "max_teams_per_instance": "Most teams of an instance",
    }
    params = tuple(Param(name, about[name], str(limit)) for name, limit in limits.items())
    return Module("quota", "How much an instance may hold", params)


_ASSET_TYPES = Module(
    "asset_type",
    "Which kinds of assets are offered to a user's agents",
    tuple(
        Param(f"{kind}.enabled", f"{what}: 1 on, 0 off", "1")
        for kind, what in (
            ("skill", "Skills"),
            ("llm_wiki", "Wikis"),
            ("code_graph", "Code graphs"),
            ("chat_memory", "Memories of conversations"),
        )
    ),
    choices=("0", "1"),
)


def _require_oneself(caller: User, user_id: str) -> None:
    if user_id != caller.user_id:
        raise Forbidden("permission_denied: settings of users are their own business")
