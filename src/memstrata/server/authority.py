"""Which user, if one, stands behind a request of the data plane, and whether they may make it.

The order matters: the key is looked at before the body, and the ids before anything that they name. Source: DESIGN §9;
the table is `memstrata.server.policy`.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstrata.directory.access import not_allowed
from memstrata.errors import Unauthorized
from memstrata.records import Scope
from memstrata.records.audit import CLI, GATEWAY, Actor
from memstrata.records.people import User
from memstrata.server.meta.identity import user_key_in_bearer
from memstrata.server.policy import Identity
from memstrata.store.audit import actor

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["Authority", "actor_of", "bearer_key", "claimed_key"]

Headers = Mapping[bytes, bytes]


def claimed_key(headers: Headers, gateway_key: bytes) -> str | None:
    """Return the user's key that a request carries, checked or not; None where the gateway itself asks.

    Raises Unauthorized for the header of a user's key without one in it: whoever sends it means a user, and must not be
    taken for the gateway.
    """
    given = headers.get(b"x-tdai-user-key")
    if given is not None:
        key = given.decode("latin-1").strip()
        if not key:
            raise Unauthorized("unauthorized: missing_user_key")
        return key
    return bearer_key(headers, gateway_key)


def bearer_key(headers: Headers, gateway_key: bytes) -> str | None:
    """Return the user's key that came as bearer, in the place of the gateway's; None for any other bearer."""
    key = user_key_in_bearer(headers)
    if not key or (gateway_key and hmac.compare_digest(key.encode("latin-1"), gateway_key)):
        return None
    return key


def actor_of(user: User | None) -> Actor:
    """Return who acts, as the audit trail has it. A command line that answers itself is not the gateway."""
    if user is not None and user.user_id:
        return Actor("user", user.user_id)
    return CLI if actor() == CLI else GATEWAY


class Authority:
    """What one route requires."""

    def __init__(self, identity: Identity, memory: Memory, gateway_key: bytes) -> None:
        self._identity = identity
        self._memory = memory
        self._gateway_key = gateway_key

    async def user_behind(self, headers: Headers, instance: str, source: str) -> User | None:
        """Return who asks; None: the gateway. Raises Unauthorized for a wrong key, Forbidden where no user may ask."""
        key = claimed_key(headers, self._gateway_key)
        if key is None:
            return None
        user, _ = await self._memory.directory.people.caller(instance, key, source=source)
        if self._identity == "operator" and not user.is_admin:
            raise not_allowed()
        return user

    def narrowed_to(self, user: User | None) -> str | None:
        """Return whom the request may be about; None: anybody.

        The system administrator runs the instance, which is no leave to read what others said.
        """
        if user is None or (user.is_admin and self._identity in ("operator", "target")):
            return None
        return user.user_id

    async def admit(self, scope: Scope, user_id: str | None) -> None:
        """Raise Forbidden unless a request that is narrowed to a user may be about this scope."""
        if user_id is None:
            return
        if scope.user != user_id:
            raise not_allowed()
        access = self._memory.directory.access
        if self._identity == "owner" and self._memory.settings.pipeline.profile_scope == "agent":
            await access.require_change(scope.instance, user_id, scope.team, [scope.agent])
        elif self._identity != "target":
            await access.require_use(scope.instance, user_id, scope.team, scope.agent)
