"""The `conversations.json` of a Claude data export: a list of conversations, each with its messages in order.

A message has a flat `text` and, in newer exports, a `content` list of typed blocks. The blocks are preferred, because
the flat text also holds placeholders for what a device could not show. Files and images are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memstrata.records import Role
from memstrata.transfer.builder import ImportBuilder, SessionBuilder
from memstrata.transfer.conversation import ImportFile, SkipReason
from memstrata.transfer.node import Node
from memstrata.transfer.roles import LeftOut, read_role
from memstrata.transfer.times import read_time

__all__ = ["read"]

_ROLES: Mapping[str, Role] = {"human": "user", "assistant": "assistant"}
_BLOCKS_LEFT_OUT: Mapping[str, SkipReason] = {
    "tool_use": "tool call",
    "tool_result": "tool message",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "image": "image",
}
# Bookkeeping between the blocks, which nobody said.
_BLOCKS_WITHOUT_CONTENT = frozenset({"token_budget", "flag"})


def read(values: Iterable[Node]) -> ImportFile:
    """Read lists of conversations, or single ones. Raises InvalidRequest naming the place where the form is broken."""
    builder = ImportBuilder("claude")
    for value in values:
        for conversation in value.items() if value.is_list() else (value,):
            _read_conversation(conversation, builder)
    return builder.build()


def _read_conversation(conversation: Node, builder: ImportBuilder) -> None:
    session = builder.session(conversation.name("uuid"), conversation.name("name") or "")
    for message in conversation.need("chat_messages").items():
        _read_message(message, builder, session)


def _read_message(message: Node, builder: ImportBuilder, session: SessionBuilder) -> None:
    role = read_role(message.need("sender"), _ROLES)
    if isinstance(role, LeftOut):
        builder.skip(role.reason)
        return
    for key in ("attachments", "files"):
        files = message.get(key)
        if files is not None:
            builder.skip("attachment", sum(1 for _ in files.items()))
    text = _text(message, builder)
    if text is not None:
        session.add(role, text, read_time(message.get("created_at")), message.name("uuid"))


def _text(message: Node, builder: ImportBuilder) -> str | None:
    """Return the text of a message; None if it holds only blocks that are left out, which have then been counted."""
    content, flat = message.get("content"), message.get("text")
    if content is None:
        if flat is None:
            raise message.place.error('no "text" and no "content"')
        return flat.text()
    texts = []
    left_out: list[SkipReason] = []
    for block in content.items():
        kind = block.need("type").text()
        if kind == "text":
            texts.append(block.need("text").text())
        elif kind not in _BLOCKS_WITHOUT_CONTENT:
            left_out.append(_BLOCKS_LEFT_OUT.get(kind, "attachment"))
    for reason in left_out:
        builder.skip(reason)
    if texts:
        return "\n".join(texts)
    if left_out:
        return None
    return flat.text() if flat else ""
