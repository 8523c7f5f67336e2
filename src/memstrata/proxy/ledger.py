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
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec

from memstrata.proxy.clients.client import Client
from memstrata.proxy.clients.spoken import spoken
from memstrata.proxy.wire.request import ProxyRequest, Said
from memstrata.records.proxy import LedgerEntry, ProxySession, ShownMemory

__all__ = ["Link", "Plan", "chain_of", "plan", "shown_before", "turn_id"]

_ROOT = b"memstrata chain 1"
_MEDIA = frozenset({"image", "document", "input_audio"})


@dataclass(frozen=True, slots=True)
class Link:
    """One message of a person, or the summary that stands for older ones.

    `at` is its place among the request's messages, `chain` the hash of the conversation up to and with it. `open`: the
    model has said nothing after it.
    """

    at: int
    chain: bytes
    text: str
    summary: bool
    open: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What to put back, by message; the link that memory may be asked for; the links that stay bare from now on."""

    blocks: tuple[tuple[int, bytes], ...]
    ask: Link | None
    bare: tuple[Link, ...]


def chain_of(request: ProxyRequest, client: Client) -> tuple[Link, ...]:
    """Return the links of a request, the oldest first. Messages of tools, of modes and of the runtime are none."""
    chain = hashlib.sha256(_ROOT + request.previous_response_id.encode()).digest()
    answered = max((at for at, said in enumerate(request.messages) if said.role == "assistant"), default=-1)
    links: list[Link] = []
    for at, said in enumerate(request.messages):
        told = spoken(said, client)
        if not told.text and told.runtime != "summary":
            continue
        chain = hashlib.sha256(chain + _fingerprint(said, told.text or _all_text(said))).digest()
        links.append(Link(at, chain, told.text, told.runtime == "summary", at > answered))
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
