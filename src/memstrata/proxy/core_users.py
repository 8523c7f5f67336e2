"""Asking the core whose key it is, with an answer for everything that can come back."""

from __future__ import annotations

from memstrata.client import InvalidRequest, MemstrataClientError, NotFound
from memstrata.proxy.choices import MetadataFor
from memstrata.proxy.verification import CoreSilent, UserOf

__all__ = ["users_of"]


def users_of(metadata: MetadataFor) -> UserOf:
    """Return the question to a core. A key that the core cannot even read is nobody's."""

    async def user_of(instance: str, user_key: str) -> str:
        try:
            said = await metadata(instance, "").verify_auth(user_key)
        except (InvalidRequest, NotFound):
            return ""
        except MemstrataClientError as error:
            raise CoreSilent(type(error).__name__) from error
        user = said["user"]
        return user["user_id"] if said["valid"] and user is not None else ""

    return user_of
