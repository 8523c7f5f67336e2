"""Who may be imported: users and assistants. Other known roles are left out and counted; an unknown one is an error.

A misspelled role must not silently lose half of a conversation, which is why unknown and known-but-unwanted differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memstrata.records import Role
from memstrata.transfer.conversation import SkipReason
from memstrata.transfer.node import Node

__all__ = ["LeftOut", "read_role"]

_LEFT_OUT: Mapping[str, SkipReason] = {
    "system": "system message",
    "developer": "system message",
    "tool": "tool message",
    "function": "tool message",
}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A role that is known and not imported."""

    reason: SkipReason


def read_role(node: Node, roles: Mapping[str, Role]) -> Role | LeftOut:
    """Return the role that `node` names in a format whose own names are `roles`, in lower case.

    Raises InvalidRequest naming a role that no format has.
    """
    name = node.text()
    role = roles.get(name.lower())
    if role is not None:
        return role
    reason = _LEFT_OUT.get(name.lower())
    if reason is None:
        expected = ", ".join(f'"{known}"' for known in roles)
        raise node.place.error(f'unknown role "{name[:40]}" (expected {expected}; system and tool roles are left out)')
    return LeftOut(reason)
