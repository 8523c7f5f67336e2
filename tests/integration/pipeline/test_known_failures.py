"""Known failures of such systems (user needs, part B), end to end: over HTTP into the store, with the right value asserted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import from_iso
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.settings import LlmSettings, PipelineSettings, Settings
from memstrata.testing import FakeClock, HashEmbedder
from memstrata.testing.llm import RecordedRequest, Reply, ScriptedLLM
from memstrata.testing.malformed import MALFORMATIONS, malformed

Settled = Callable[[Memory, Scope], Awaitable[None]]
Open = Callable[..., AbstractAsyncContextManager[Memory]]

ARUN = Scope("default", "work", "assistant", "Arun")


@pytest.fixture
async def model() -> AsyncIterator[ScriptedLLM]:
    async with ScriptedLLM() as server:
        server.always("resolve", Reply('{"decisions": []}'))
        yield server


@pytest.fixture
def opened(open_memory: Open, tmp_path: Path, model: ScriptedLLM) -> Open:
    """Return a way to open the memory with the model; L1 after every message, L2 far away."""

    def build(embedder: HashEmbedder | None = None, **top: Any) -> AbstractAsyncContextManager[Memory]:
        pipeline = {"warmup": False, "every_n": 1, "l2_delay_seconds": 1e6, "attempts": 2, **top.pop("pipeline", {})}
        settings = Settings(
            data_dir=tmp_path,
            pipeline=PipelineSettings(**pipeline),
            llm=LlmSettings(base_url=model.base_url, model="scripted", timeout_seconds=20.0),
            **top,
        )
        return open_memory(settings=settings, distiller=None, embedder=embedder)

    return build


def item(content: str, *sources: str, **given: Any) -> dict[str, Any]:
    return {"content": content, "type": "persona", "priority": 80, "sources": sources or ("c1",), **given}


def answer(*items: dict[str, Any]) -> Reply:
    return Reply(json.dumps({"memories": items}, ensure_ascii=False))


def said(*texts: str, **given: Any) -> list[MessageInput]:
    return [MessageInput("user", text, **given) for text in texts]


async def contents(memory: Memory, scope: Scope) -> list[str]:
    return sorted(row.content for row in (await memory.memories(scope, limit=100)).items)


TEA = item("User drinks green tea.", scene="drinks")
FAILED = {
    "unclosed_think": "only_reasoning",
    "reasoning_only": "empty",
    "empty": "empty",
    "whitespace": "empty",
    "apology": "content_filter",
    "chinese_apology": "content_filter",
    "friendly_prose": "no_json",
    "schema_echo": "echo",
    "input_echo": "echo",
}


@pytest.mark.parametrize("name", [one.name for one in MALFORMATIONS.values() if one.fate == "items"])
async def test_an_answer_that_can_be_read_is_stored(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM, name: str
) -> None:
    """B09, B10, B13, A5."""
    model.script("extract", malformed(name, [TEA]))
    async with opened() as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await settled(memory, scope)

        assert await contents(memory, scope) == ["User drinks green tea."]
        assert (await memory.status(scope)).layers["l1"].pending == 0
        assert len(model.requests_of("extract")) == 1


@pytest.mark.parametrize(
    "name", [one.name for one in MALFORMATIONS.values() if one.fate == "failed" and one.name != "cut_tail"]
)
async def test_an_answer_that_cannot_be_read_loses_nothing_and_blocks_nobody_else(
    opened: Open, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM, name: str
) -> None:
    """B09, B12, B13: one re-ask, bounded tries, a dead letter that can be put back, and others go on."""
    other = replace(scope, user="max")
    model.always("extract", answer(item("Max drinks coffee.")))
    model.script(
        lambda request: "green tea" in request.last_user_text or len(request.messages) > 1,
        *[malformed(name, [TEA])] * 4,
    )
    async with opened() as memory:
        await memory.add(scope, "s1", said("I drink green tea"))
        await settled(memory, scope)
        assert len(model.requests_of("extract")) == 2
        await memory.add(other, "s1", said("I drink coffee"))
        await settled(memory, other)
        assert await contents(memory, other) == ["Max drinks coffee."]
        clock.advance(60)
        await settled(memory, scope)

        status = (await memory.status(scope)).layers["l1"]
        assert (status.state, status.pending) == ("dead", 1)
        assert status.last_error.split(":")[0] == FAILED[name]
        failures = await memory.generations.list("default", layer="l1", status="failed")
        assert len(failures.records) == 2  # what failed is in the generation log, too
        model.always("extract", answer(TEA))
        assert await memory.retry(scope) == 1
        await settled(memory, scope)
        assert await contents(memory, scope) == ["User drinks green tea."]


async def test_a_legal_empty_answer_moves_on_at_once(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B12."""
    model.script("extract", malformed("legal_empty", [TEA]))
    async with opened() as memory:
        await memory.add(scope, "s1", said("what a day"))
        await settled(memory, scope)

        status = (await memory.status(scope)).layers["l1"]
        assert (status.state, status.pending, status.last_outcome) == ("idle", 0, "nothing")
        assert len(model.requests) == 1


@pytest.mark.parametrize("name", [one.name for one in MALFORMATIONS.values() if one.case == "B15"])
async def test_targets_that_were_not_shown_destroy_nothing(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM, name: str
) -> None:
    """B15: the new fact is stored as new, the old and another tenant's stay, and the trace tells of it."""
    other = replace(scope, user="max")
    async with opened() as memory:
        for owner, city in ((other, "Rome"), (scope, "Lisbon")):
            model.script("extract", answer(item(f"User lives in the city of {city}.")))
            await memory.add(owner, "s1", said(f"I live in {city}"))
            await settled(memory, owner)
        model.script("extract", answer(item("User lives in the city of Braga.")))
        model.script("resolve", malformed(name, [{"item": "n1", "action": "update", "targets": []}]))
        await memory.add(scope, "s1", said("I live in Braga"))
        await settled(memory, scope)

        assert await contents(memory, scope) == [
            "User lives in the city of Braga.",
            "User lives in the city of Lisbon.",
        ]
        assert await contents(memory, other) == ["User lives in the city of Rome."]
        new = next(row for row in (await memory.memories(scope)).items if "Braga" in row.content)
        (derivation,) = (await memory.trace(scope, new.memory_id)).derivations
        assert derivation.action == "store"
        assert derivation.note


async def test_another_tenants_real_id_is_no_target(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B15."""
    other = replace(scope, team="rivals")
    async with opened() as memory:
        for owner, city in ((other, "Rome"), (scope, "Lisbon")):
            model.script("extract", answer(item(f"User lives in the city of {city}.")))
            await memory.add(owner, "s1", said(f"I live in {city}"))
            await settled(memory, owner)
        (foreign,) = (await memory.memories(other)).items
        targets = [foreign.memory_id, foreign.seq, str(foreign.seq)]
        model.script("extract", answer(item("User lives in the city of Braga.")))
        model.script(
            "resolve", Reply(json.dumps({"decisions": [{"item": "n1", "action": "update", "targets": targets}]}))
        )
        await memory.add(scope, "s1", said("I live in Braga"))
        await settled(memory, scope)

        assert len(model.requests_of("resolve")) == 1
        assert (await memory.memories(other)).items == (foreign,)
        assert await contents(memory, scope) == [
            "User lives in the city of Braga.",
            "User lives in the city of Lisbon.",
        ]


@pytest.mark.parametrize("name", [one.name for one in MALFORMATIONS.values() if one.case == "B18"])
async def test_degenerate_text_is_never_stored(
    opened: Open, scope: Scope, clock: FakeClock, settled: Settled, model: ScriptedLLM, name: str
) -> None:
    """B18, when a memory is made and when two are merged."""
    async with opened() as memory:
        model.script("extract", malformed(name, [TEA]), malformed(name, [TEA]))
        await memory.add(scope, "s1", said("I drink green tea"))
        await settled(memory, scope)
        assert await contents(memory, scope) == []

        model.script("extract", answer(TEA))
        await memory.add(scope, "s2", said("I drink green tea"))
        await settled(memory, scope)
        model.script("extract", answer(item("User drinks green tea with honey.")))
        merge = {"item": "n1", "action": "merge", "targets": ["m1"], "content": "tea"}
        model.script("resolve", *[malformed(name, [merge])] * 4)
        await memory.add(scope, "s2", said("with honey"))
        await settled(memory, scope)
        clock.advance(60)
        await settled(memory, scope)
        assert await contents(memory, scope) in (
            ["User drinks green tea with honey.", "User drinks green tea."],
            ["User drinks green tea."],
        )


@pytest.mark.parametrize("embedder", [None, HashEmbedder()], ids=["by words", "with vectors"])
async def test_what_is_said_again_and_again_is_one_memory_that_gains_sources(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM, embedder: HashEmbedder | None
) -> None:
    """B19: five times over three sessions, then paraphrases; for the second the model wants the old one deleted."""
    model.always("extract", answer(TEA))
    async with opened(embedder=embedder) as memory:
        for session in ("s1", "s1", "s2", "s2", "s3"):
            await memory.add(scope, session, said("I drink green tea"))
            await settled(memory, scope)
        assert await contents(memory, scope) == ["User drinks green tea."]
        assert model.requests_of("resolve") == []

        for content, action in (("User likes to drink green tea.", "skip"), ("User drinks green tea.", "delete")):
            model.script("extract", answer(item(content)))
            model.script(
                "resolve", Reply(json.dumps({"decisions": [{"item": "n1", "action": action, "targets": ["m1"]}]}))
            )
            await memory.add(scope, "s3", said("green tea is what I drink"))
            await settled(memory, scope)

        (row,) = (await memory.memories(scope)).items
        assert row.content == "User drinks green tea."
        assert len((await memory.trace(scope, row.memory_id)).messages) == 7
        assert len(model.requests_of("resolve")) == 1  # equal words are not even asked about


async def test_a_wish_for_one_check_does_not_become_a_rule_by_merging(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B21."""
    dot = item("The assistant answers with a single dot.", type="instruction", priority=75, applies_to="scene")
    style = item("The assistant answers with more examples.", type="instruction", priority=75, applies_to="always")
    model.script("extract", answer(dot), answer(style))
    merge = {
        "item": "n1",
        "action": "merge",
        "targets": ["m1"],
        "priority": 90,
        "content": "The assistant answers with a dot and examples.",
    }
    model.always("resolve", Reply(json.dumps({"decisions": [merge]})))
    async with opened() as memory:
        await memory.add(scope, "s1", said("for this check answer with a single dot"))
        await settled(memory, scope)
        await memory.add(scope, "s2", said("from now on use more examples"))
        await settled(memory, scope)

        rows = {row.content: row for row in (await memory.memories(scope)).items}
        assert set(rows) == {dot["content"], style["content"]}
        assert rows[dot["content"]].applies_to == "scene"
        assert {row.priority for row in rows.values()} == {75}


async def test_a_rule_of_the_team_is_not_pinned_on_the_user_under_a_foreign_name(
    opened: Open, settled: Settled, model: ScriptedLLM
) -> None:
    """B22: identity says that the user is Arun."""
    wrong = item("User (Lina) freezes merges on Thursdays.")
    right = item("The team of User (Arun) freezes merges on Thursdays.", subject="project", subject_name="Arun's team")
    lina = item("Lina owns the release.", subject="person", subject_name="Lina")
    model.script("extract", answer(wrong, lina), answer(right, lina))
    async with opened() as memory:
        await memory.add(ARUN, "s1", said("our team freezes merges on Thursdays; Lina owns the release"))
        await settled(memory, ARUN)

        assert await contents(memory, ARUN) == [lina["content"], right["content"]]
        first, second = model.requests_of("extract")
        assert "user: Arun" in first.last_user_text
        assert "Lina" not in second.system
        subjects = {row.content: row.metadata["subject"] for row in (await memory.memories(ARUN)).items}
        assert subjects == {right["content"]: "project", lina["content"]: "person"}


async def test_recalled_text_that_comes_back_and_invented_people_make_no_memory(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B23, five rounds."""
    async with opened() as memory:
        model.script("extract", answer(TEA))
        await memory.add(scope, "s1", said("I drink green tea"))
        await settled(memory, scope)
        petra = item("User is Petra, 41, a pilot.", "c9")
        path = item("The configuration lies in /etc/wrong.", "c2")
        model.always("extract", answer(petra, path))
        for _ in range(5):
            block = (await memory.recall(scope, "green tea?")).prepend_context
            assert "green tea" in block
            turn = [
                MessageInput("user", f"{block}\nwhere is the configuration?"),
                MessageInput("assistant", "in /etc/wrong"),
            ]
            await memory.add(scope, "s1", turn)
            await settled(memory, scope)

        assert await contents(memory, scope) == ["User drinks green tea."]
        found = (await memory.search_messages(scope, "green tea", limit=20)).hits
        assert [hit.item.content for hit in found] == ["I drink green tea"]  # the block never reached L0
        assert not any("green tea" in request.last_user_text for request in model.requests_of("extract")[6:])


@pytest.mark.parametrize(
    ("zone", "instant", "shown"),
    [
        ("Asia/Shanghai", "2026-02-11T01:20:00Z", "2026-02-11 09:20+08:00"),
        ("America/St_Johns", "2026-03-08T04:00:00Z", "2026-03-08 00:30-03:30"),
        ("America/St_Johns", "2026-03-08T12:00:00Z", "2026-03-08 09:30-02:30"),
        ("UTC", "2999-01-01T00:00:00Z", "2999-01-01 00:00+00:00"),
        ("UTC", "1970-01-01T00:00:00Z", "1970-01-01 00:00+00:00"),
    ],
)
@pytest.mark.parametrize("server_zone", ["UTC", "America/New_York", "Asia/Tokyo"])
async def test_times_are_shown_with_the_users_offset_whatever_the_servers_zone(
    opened: Open,
    scope: Scope,
    settled: Settled,
    model: ScriptedLLM,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    instant: str,
    shown: str,
    server_zone: str,
) -> None:
    """B25."""
    import time

    monkeypatch.setenv("TZ", server_zone)
    time.tzset()
    model.script("extract", answer(item("User was there.", start=shown[:10])))
    try:
        async with opened(time_zone=zone) as memory:
            await memory.add(scope, "s1", said("I was there", said_at=from_iso(instant)))
            await settled(memory, scope)
            (row,) = (await memory.memories(scope)).items
    finally:
        monkeypatch.undo()
        time.tzset()

    assert shown in model.requests[0].last_user_text
    assert row.happened_from is not None
    assert 0 <= from_iso(instant) - row.happened_from < 86_400_000


async def test_a_sentence_late_in_a_long_paste_is_read(
    opened: Open, scope: Scope, settled: Settled, model: ScriptedLLM
) -> None:
    """B07: 60,000 characters, one sentence at 55,000. L0 takes 8,192 a message; what is longer comes in pieces."""
    wish = "From now on send me release notes in Portuguese."
    line = "The river rose again that year and the miller wrote it down in his book, page {}.\n"
    text = "".join(line.format(number) for number in range(700))
    text = text[:55_000] + f"\n{wish}\n" + text[55_000:60_000]

    def extract(request: RecordedRequest) -> Reply:
        shown = request.last_user_text
        if wish not in shown:
            return Reply("[]")
        head = shown[: shown.index(wish)].rsplit(" c", 1)[1]
        alias = "c" + head.split()[0]
        return answer(item("The assistant writes release notes in Portuguese.", alias, type="instruction", priority=85))

    model.always("extract", extract)
    pieces = [text[start : start + 8_192] for start in range(0, len(text), 8_192)]
    async with opened(pipeline={"every_n": len(pieces)}) as memory:
        await memory.add(scope, "s1", said(*pieces))
        await settled(memory, scope)

        assert await contents(memory, scope) == ["The assistant writes release notes in Portuguese."]
        read = "".join(request.last_user_text for request in model.requests_of("extract"))
        assert all(f"page {number}." in read for number in (0, 350, 690))
