"""Which block goes into which message of a conversation, so that what was put there once stands there for ever. Pure.

A client sends its history again and again without what was put into it. The messages of people form a chain of hashes; the
ledger keeps, by link, the bytes that went out. They are put back into every later request, so the provider finds the prefix
it knows. What people typed decides alone: cache marks, reminders, a string or a list around it, what tools said in between
leave a link as it is, while an edit or a rewind gives another chain, for which nothing is kept.

A message without an entry that is not the newest went out bare, so it stays bare: it gets an empty entry. A change of what
counts as typed (`clients.spoken`) breaks every chain once; a test holds it still. Source: `reference/proxy.md` §11.3.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import msgspec

from memstrata.proxy.clients.client import Client
from memstrata.proxy.clients.spoken import spoken
from memstrata.proxy.wire.request import ProxyRequest, Said
from memstrata.records.proxy import LedgerEntry, ProxySession, ShownMemory

__all__ = ["Link", "Plan", "Typed", "TypedMemo", "chain_of", "plan", "shown_before", "turn_id", "typed"]

_ROOT = b"memstrata chain 1"
_MEDIA = frozenset({"image", "document", "input_audio"})
_TYPED = _MEDIA | {"text"}


@dataclass(frozen=True, slots=True)
class Link:
    """One message of a person, or the summary that stands for older ones.

    `at` is its place among the request's messages, `chain` the hash of the conversation up to and with it, `text` what was
    typed, of the newest link alone. `open`: the model has said nothing after it.
    """

    at: int
    chain: bytes
    text: str
    summary: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Typed:
    """What a message gives to the chain: the hash of what was typed."""

    fingerprint: bytes
    summary: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What to put back, by message; the link that memory may be asked for; the links that stay bare from now on."""

    blocks: tuple[tuple[int, bytes], ...]
    ask: Link | None
    bare: tuple[Link, ...]


def typed(said: Said, client: Client) -> Typed | None:
    """Return what a message gives to the chain; None for those of tools, of modes and of the runtime."""
    if not any(block.kind in _TYPED for block in said.blocks):
        return None
    told = spoken(said, client)
    is_summary = not told.text and told.runtime == "summary"
    if not told.text and not is_summary:
        return None
    return Typed(_fingerprint(said, told.text or _all_text(said)), is_summary)


class TypedMemo:
    """`typed`, remembered by the bytes of a message: nearly all of a request was in the one before it. For one thread."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._known: OrderedDict[bytes, Typed | None] = OrderedDict()

    def of(self, request: ProxyRequest, said: Said, client: Client) -> Typed | None:
        raw = request.body[said.span.start : said.span.end]
        key = hashlib.sha256(f"{request.wire} {client.name} ".encode() + raw).digest()
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        found = self._known[key] = typed(said, client)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return found


def chain_of(request: ProxyRequest, client: Client, memo: TypedMemo | None = None) -> tuple[Link, ...]:
    """Return the links of a request, the oldest first."""
    memo = memo or TypedMemo()
    chain = hashlib.sha256(_ROOT + request.previous_response_id.encode()).digest()
    answered = max((at for at, said in enumerate(request.messages) if said.role == "assistant"), default=-1)
    links: list[Link] = []
    for at, said in enumerate(request.messages):
        found = memo.of(request, said, client) if said.role == "user" else None
        if found is not None:
            chain = hashlib.sha256(chain + found.fingerprint).digest()
            links.append(Link(at, chain, "", found.summary, at > answered))
    if links:
        links[-1] = replace(links[-1], text=spoken(request.messages[links[-1].at], client).text)
    return tuple(links)


def plan(
    links: Collection[Link], entries: Mapping[bytes, LedgerEntry], *, may_ask: bool, sent_bare: Collection[bytes] = ()
) -> Plan:
    """Return what to do, given the entries that are known for these links.

    Memory may be asked for the last link alone, if nothing was answered to it yet and it did not go out without a block
    before; never for a summary.
    """
    blocks = tuple((link.at, entries[link.chain].block) for link in links if link.chain in entries)
    missing = [link for link in links if link.chain not in entries]
    newest = list(links)[-1] if links else None
    ask = None
    if may_ask and newest is not None and newest in missing and newest.open and not newest.summary:
        ask = None if newest.chain in sent_bare else newest
    return Plan(tuple(one for one in blocks if one[1]), ask, tuple(link for link in missing if link is not ask))


def shown_before(links: Collection[Link], entries: Mapping[bytes, LedgerEntry]) -> frozenset[ShownMemory]:
    """Return the memories that the conversation shows already."""
    return frozenset(one for link in links if link.chain in entries for one in entries[link.chain].shown)


def turn_id(session: ProxySession, link: Link) -> str:
    """Return the id of the turn that a link begins: the same for every request of it, and for each retry."""
    parts = (session.instance, session.user, session.client, session.session, link.chain.hex())
    return f"turn-{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:40]}"


def _fingerprint(said: Said, text: str) -> bytes:
    media = [block.digest for block in said.blocks if block.kind in _MEDIA]
    results = [block.id for block in said.blocks if block.kind == "tool_result"]
    return hashlib.sha256(msgspec.json.encode((text, media, results))).digest()


def _all_text(said: Said) -> str:
    return "\n".join(block.text.strip() for block in said.blocks if block.kind == "text")
