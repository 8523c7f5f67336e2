from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from memstrata.proxy.clients.table import CLIENTS
from memstrata.proxy.ledger import Link, TypedMemo, chain_of, plan, shown_before, turn_id
from memstrata.proxy.wire.request import ProxyRequest
from memstrata.proxy.wire.wires import WIRES
from memstrata.records.proxy import LedgerEntry, ProxySession, ShownMemory

CLAUDE = CLIENTS["claude-code"]
SUMMARY = "This session is being continued from a previous conversation that ran out of context. They fixed a test."


def request(*messages: dict[str, Any], **more: Any) -> ProxyRequest:
    return WIRES["anthropic"].read(json.dumps({"model": "m", "messages": messages, **more}).encode())


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def assistant(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def result(ident: str = "c1") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": ident, "content": "files"}


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def last(*messages: dict[str, Any]) -> bytes:
    return chain_of(request(*messages), CLAUDE)[-1].chain


def entry(link: Link, block: bytes = b"block") -> LedgerEntry:
    return LedgerEntry(link.chain, block, (ShownMemory(f"m{link.at}", "x"),), 1)


@pytest.mark.parametrize(
    "content",
    [
        [text("fix it")],
        [text("fix it", cache_control={"type": "ephemeral"})],
        [text("<system-reminder>\nMonday\n</system-reminder>"), text("fix it")],
        [text("fix it"), text("<system-reminder>\nTuesday\n</system-reminder>")],
        "  fix it\n",
    ],
    ids=["list", "mark", "reminder before", "reminder after", "blanks"],
)
def test_what_a_client_writes_around_a_message_leaves_its_link_as_it_is(content: Any) -> None:
    assert last(user(content)) == last(user("fix it"))


@pytest.mark.parametrize(
    "content",
    [
        "fix it now",
        [text("fix it"), image("AAAA")],
        [result(), text("fix it")],
    ],
    ids=["words", "image", "tool result"],
)
def test_what_a_person_sent_is_what_a_link_is_made_of(content: Any) -> None:
    assert last(user(content)) != last(user("fix it"))


def test_two_pictures_with_the_same_words_are_two_links() -> None:
    assert last(user([text("what is it"), image("AAAA")])) != last(user([text("what is it"), image("BBBB")]))


def test_what_the_model_and_its_tools_said_in_between_is_left_out() -> None:
    short = last(user("first"), assistant("a"), user("second"))
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}]}
    long = last(user("first"), call, user([result()]), assistant("a, at length"), user("second"))
    assert short == long


def test_the_same_words_at_another_place_are_another_link() -> None:
    links = chain_of(request(user("continue"), assistant("a"), user("continue")), CLAUDE)
    assert len({link.chain for link in links}) == 2
    assert last(user("edited"), assistant("a"), user("continue")) != links[-1].chain


def test_a_conversation_that_the_provider_keeps_begins_another_chain() -> None:
    kept = WIRES["responses"].read(
        json.dumps({"model": "m", "input": "continue", "previous_response_id": "r1"}).encode()
    )
    other = replace(kept, previous_response_id="r2")
    assert chain_of(kept, CLAUDE)[-1].chain != chain_of(other, CLAUDE)[-1].chain


def test_messages_of_tools_and_of_modes_are_no_links() -> None:
    said = (user("go"), assistant("a"), user([result()]), user("[SUGGESTION MODE: what comes next?]"))
    assert [link.at for link in chain_of(request(*said), CLAUDE)] == [0]


def test_a_summary_is_a_link_and_its_wording_counts() -> None:
    (link,) = chain_of(request(user(SUMMARY)), CLAUDE)
    assert (link.summary, link.text) == (True, "")
    assert last(user(SUMMARY), user("go")) != last(user("go"))
    assert last(user(SUMMARY), user("go")) != last(user(f"{SUMMARY} And more."), user("go"))


def test_the_chain_of_a_known_conversation_is_what_it_was_in_every_version() -> None:
    """Another value here loses every ledger that is kept: what counts as typed, or how it is hashed, has changed."""
    said = (user("把登录页加上"), assistant("好"), user([result(), text("now <b>tests</b>\n\n```\ncat -n\n```")]))
    assert [link.chain.hex()[:16] for link in chain_of(request(*said), CLAUDE)] == [
        "b42e294302890899",
        "e7a827ee1d16774d",
    ]


def test_a_memo_gives_the_links_that_would_be_found_without_it() -> None:
    said = [user("first"), assistant("a"), user([result()]), user(SUMMARY), user([text("second"), image("AAAA")])]
    memo = TypedMemo(most=2)
    for end in (*range(1, 6), 3):
        body = request(*said[:end])
        assert chain_of(body, CLAUDE, memo) == chain_of(body, CLAUDE)
    other = CLIENTS["codex"]
    wrapped = request(user("<environment_context>\nlinux\n</environment_context>"))
    assert len(chain_of(wrapped, CLAUDE, memo)) == 1
    assert chain_of(wrapped, other, memo) == ()


def test_memory_is_asked_for_the_newest_message_alone() -> None:
    links = chain_of(request(user("first"), assistant("a"), user("second")), CLAUDE)

    decided = plan(links, {}, may_ask=True)

    assert decided.ask == links[1]
    assert decided.bare == links[:1]
    assert decided.blocks == ()


def test_what_is_in_the_ledger_is_put_back_and_never_asked_for_again() -> None:
    links = chain_of(request(user("first"), assistant("a"), user("second")), CLAUDE)
    entries = {links[0].chain: entry(links[0]), links[1].chain: entry(links[1], b"")}

    decided = plan(links, entries, may_ask=True)

    assert decided.blocks == ((0, b"block"),)
    assert (decided.ask, decided.bare) == (None, ())


@pytest.mark.parametrize(
    "said",
    [
        (user("first"), assistant("a")),
        (user(SUMMARY),),
        (user("first"), assistant("a"), user([result()])),
    ],
    ids=["answered", "summary", "tool loop"],
)
def test_a_message_that_went_out_without_the_ledger_stays_bare(said: tuple[dict[str, Any], ...]) -> None:
    links = chain_of(request(*said), CLAUDE)
    decided = plan(links, {}, may_ask=True)
    assert (decided.ask, decided.bare) == (None, links)


def test_a_message_that_went_out_bare_while_the_store_failed_stays_bare() -> None:
    links = chain_of(request(user("first")), CLAUDE)
    assert plan(links, {}, may_ask=True, sent_bare={links[0].chain}).ask is None


def test_a_fork_puts_nothing_new_in() -> None:
    links = chain_of(request(user("first"), assistant("a"), user("summarise")), CLAUDE)
    decided = plan(links, {links[0].chain: entry(links[0])}, may_ask=False)
    assert (decided.blocks, decided.ask, decided.bare) == (((0, b"block"),), None, links[1:])


def test_memories_of_the_same_conversation_alone_are_shown_already() -> None:
    links = chain_of(request(user("first"), assistant("a"), user("second")), CLAUDE)
    stranger = replace(links[0], chain=b"0" * 32)
    entries = {one.chain: entry(one) for one in (links[0], replace(stranger, at=9))}
    assert shown_before(links, entries) == {ShownMemory("m0", "x")}


def test_a_turn_is_the_same_for_a_retry_and_another_in_another_session() -> None:
    session = ProxySession("default", "lin", "claude-code", "s1")
    (link,) = chain_of(request(user("fix it")), CLAUDE)
    (again,) = chain_of(request(user([text("fix it")]), stream=True), CLAUDE)

    assert turn_id(session, link) == turn_id(session, again)
    others = [replace(session, **{part: "other"}) for part in ("instance", "user", "client", "session")]
    assert len({turn_id(one, link) for one in (session, *others)}) == 5
    assert len(turn_id(session, link)) == 45
