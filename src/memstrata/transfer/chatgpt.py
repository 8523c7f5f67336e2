"""The `conversations.json` of a ChatGPT data export: each conversation is a tree of messages.

Editing a question or regenerating an answer makes a branch. What the user saw last is the path from `current_node` up
to the root, so that is what is imported; abandoned branches are not part of the conversation any more. Messages hidden
from the user, tool traffic and reasoning are left out and counted.
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

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}
_CONTENT_LEFT_OUT: Mapping[str, SkipReason] = {
    "user_editable_context": "system message",
    "model_editable_context": "system message",
    "thoughts": "reasoning",
    "reasoning_recap": "reasoning",
}


def read(values: Iterable[Node]) -> ImportFile:
    """Read lists of conversations, or single ones. Raises InvalidRequest naming the place where the form is broken."""
    builder = ImportBuilder("chatgpt")
    for value in values:
        for conversation in value.items() if value.is_list() else (value,):
            _read_conversation(conversation, builder)
    return builder.build()


def _read_conversation(conversation: Node, builder: ImportBuilder) -> None:
    session = builder.session(conversation.name("conversation_id", "id"), conversation.name("title") or "")
    for node_id, node in _path(conversation):
        message = node.get("message")
        if message is not None:
            _read_message(node_id, message, builder, session)


def _path(conversation: Node) -> list[tuple[str, Node]]:
    """Return the nodes from the root to the current one. Raises InvalidRequest where the tree is broken."""
    mapping = conversation.need("mapping")
    nodes = mapping.fields()
    current = conversation.get("current_node")
    here = current.text() if current else _last_leaf(nodes)
    place = current.place if current else mapping.place
    path: dict[str, Node] = {}
    while here:
        if here not in nodes:
            raise place.error(f'names the node "{here[:60]}", which is not in "mapping"')
        if here in path:
            raise place.error(f'leads back to the node "{here[:60]}": the conversation has no beginning')
        path[here] = nodes[here]
        parent = nodes[here].get("parent")
        if parent is None:
            break
        here, place = parent.text(), parent.place
    return list(reversed(path.items()))


def _last_leaf(nodes: Mapping[str, Node]) -> str:
    """Return the last node without children: the best guess where an export does not say which one is current."""
    leaf = ""
    for node_id, node in nodes.items():
        children = node.get("children")
        if children is None or not any(True for _ in children.items()):
            leaf = node_id
    return leaf


def _read_message(node_id: str, message: Node, builder: ImportBuilder, session: SessionBuilder) -> None:
    role = read_role(message.need("author").need("role"), _ROLES)
    if isinstance(role, LeftOut):
        builder.skip(role.reason)
        return
    content = message.need("content")
    reason = _left_out(message, content)
    if reason is not None:
        builder.skip(reason)
        return
    text = _text(content, builder)
    if text is not None:
        session.add(role, text, read_time(message.get("create_time")), message.name("id") or node_id)


def _left_out(message: Node, content: Node) -> SkipReason | None:
    metadata, recipient = message.get("metadata"), message.get("recipient")
    hidden = metadata.get("is_visually_hidden_from_conversation") if metadata else None
    if hidden is not None and hidden.value is True:
        return "system message"
    if recipient is not None and recipient.text() != "all":
        return "tool call"
    kind = content.get("content_type")
    return _CONTENT_LEFT_OUT.get(kind.text()) if kind else None


def _text(content: Node, builder: ImportBuilder) -> str | None:
    """Return the text of a message; None if it holds only what is left out, which has then been counted."""
    parts = content.get("parts")
    if parts is None:
        # Code and quotations have a `text` instead of parts.
        text = content.get("text")
        return text.text() if text else ""
    texts = []
    left_out: list[SkipReason] = []
    for part in parts.items():
        if part.value is None:
            continue
        if part.is_text():
            texts.append(part.text())
            continue
        transcript = part.get("text")
        if transcript is not None:
            texts.append(transcript.text())
        else:
            left_out.append(_asset(part))
    for reason in left_out:
        builder.skip(reason)
    return None if left_out and not any(text.strip() for text in texts) else "\n".join(texts)


def _asset(part: Node) -> SkipReason:
    kind = part.need("content_type").text()
    if "image" in kind:
        return "image"
    return "audio" if "audio" in kind else "attachment"
