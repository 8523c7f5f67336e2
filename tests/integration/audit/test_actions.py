"""Every change leaves exactly one row, made with it: what was done, to whose data, by whom; and no word of what it said."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.distill.protocol import Decision, Decisions, Extraction, MessageBatch, Poison, ResolveRequest, Retry
from memstrata.errors import MemstrataError
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.records.audit import AuditFilter, AuditRow, mark
from memstrata.records.forgetting import Forgetting
from memstrata.settings import MirrorSettings, PipelineSettings, RetentionSettings, Settings
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]

TEA, BOTH = "Lin drinks quillfeather tea", "Both: quillfeather tea and moonpetal coffee"
PLANTED = ("quillfeather", "moonpetal", "月瓣咖啡", "notes.md", "trip-to-yangshuo", "lin@example.org", "said-by-lin")
USER, SESSION = "lin@example.org", "trip-to-yangshuo"


class Joining(EchoDistiller):
    """Joins all that is there when a statement begins with "Both"; everything else it stores."""

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        found = await super().extract(batch)
        assert isinstance(found, Extraction)
        return replace(found, drafts=tuple(replace(draft, slot="drinks") for draft in found.drafts))

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        targets = tuple(row.seq for row in request.pool)
        joins = [draft.content.startswith("Both") and bool(targets) for draft in request.drafts]
        return Decisions(
            tuple(
                Decision("merge", draft, targets) if join else Decision("store", draft)
                for draft, join in zip(request.drafts, joins, strict=True)
            )
        )


@pytest.fixture
def scope() -> Scope:
    return Scope("default", "home", "assistant", USER)


async def rows(memory: Memory, instance: str = "default") -> list[AuditRow]:
    await memory.audit.flush()
    return list(reversed(await memory.audit.page(AuditFilter(instance), limit=1_000)))


async def row_of(memory: Memory, call: Callable[[], Awaitable[Any]], instance: str = "default") -> AuditRow:
    """Make a call and return the one row that it left."""
    before = await rows(memory, instance)
    await call()
    after = await rows(memory, instance)
    assert len(after) == len(before) + 1, [row.entry.action for row in after[len(before) :]]
    return after[-1]


async def say(memory: Memory, scope: Scope, *texts: str) -> None:
    for text in texts:
        await memory.add(scope, SESSION, [MessageInput("user", text)])
        await memory.flush(scope)


def subject(row: AuditRow) -> Any:
    return json.loads(row.entry.subject)


async def test_a_write_leaves_a_row_and_a_repetition_none(open_memory: Open, scope: Scope, clock: FakeClock) -> None:
    async with open_memory(enabled=False) as memory:
        messages = [MessageInput("user", TEA, message_id="said-by-lin"), MessageInput("assistant", "Noted.")]
        row = await row_of(memory, lambda: memory.add(scope, SESSION, messages, idempotency_key="k"))
        again = await memory.add(scope, SESSION, messages, idempotency_key="k")

        assert (row.entry.action, row.entry.actor, row.entry.at) == ("message.add", "library", clock.now())
        assert json.loads(row.entry.owner) == ["home", "assistant", mark("default", USER)]
        assert subject(row) == {
            "session": [mark("default", SESSION)],
            "message": [mark("default", "said-by-lin"), again.message_ids[1]],
            "messages": 2,
        }
        assert len(await rows(memory)) == 1


async def test_what_is_refused_leaves_no_row(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        for call in (
            lambda: memory.update_memory(scope, "m_none", "x"),
            lambda: memory.restore_scene(scope, "none.md", 1),
            lambda: memory.clear("default", ["chat_memory-none-none"]),
            lambda: memory.undo(scope, "m_none"),
        ):
            with pytest.raises(MemstrataError):
                await call()
        await memory.delete_messages(scope, message_ids=["none"])
        await memory.delete_memories(scope, ["none"])
        await memory.remove_scene(scope, "none.md")
        assert await rows(memory) == []


async def test_the_pipeline_leaves_a_row_for_each_memory_scene_and_portrait(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory(distiller=Joining(), every_n=1, l2_delay_seconds=0.0, l2_min_interval_seconds=0.0) as memory:
        await say(memory, scope, TEA)
        tea = (await memory.memories(scope)).items[0]
        await say(memory, scope, TEA, BOTH)
        made = [row for row in await rows(memory) if row.entry.actor == "pipeline"]
        actions = [row.entry.action for row in made]

        assert actions.count("memory.store") == 1
        assert actions.count("memory.support") == 1
        assert actions.count("memory.merge") == 1
        assert {"scene.write", "persona.write"} <= set(actions)
        merge = made[actions.index("memory.merge")]
        both = next(one for one in (await memory.memories(scope)).items if one.content == BOTH)
        assert subject(merge) == {
            "memory": [f"{both.memory_id}@{both.version}"],
            "replaced": [f"{tea.memory_id}@{tea.version}"],
            "inputs": 1,
        }
        assert json.loads(made[actions.index("scene.write")].entry.owner) == ["home", "assistant", ""]


async def test_what_people_change_leaves_a_row_each(open_memory: Open, scope: Scope) -> None:
    async with open_memory(every_n=1, l2_delay_seconds=0.0) as memory:
        await say(memory, scope, TEA, "She plays the moonpetal cello")
        first, second = (await memory.memories(scope)).items
        path = (await memory.scenes(scope))[0].path
        await memory.flush(scope)

        calls: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("memory.correct", lambda: memory.update_memory(scope, first.memory_id, "月瓣咖啡")),
            ("memory.undo", lambda: memory.undo(scope, first.memory_id)),
            ("scene.edit", lambda: memory.write_scene(scope, path, "## 月瓣咖啡")),
            ("scene.create", lambda: memory.create_scene(scope, "moonpetal.md", "## 月瓣咖啡")),
            ("scene.remove", lambda: memory.remove_scene(scope, path)),
            ("scene.restore", lambda: memory.restore_scene(scope, path, 1)),
            ("persona.edit", lambda: memory.write_persona(scope, "moonpetal")),
            ("persona.restore", lambda: memory.restore_persona(scope, 1)),
            ("memory.delete", lambda: memory.delete_memories(scope, [second.memory_id])),
            ("message.delete", lambda: memory.delete_messages(scope, session_ids=[SESSION])),
        ]
    still = Settings(data_dir=memory.settings.data_dir, pipeline=PipelineSettings(enabled=False))
    async with open_memory(settings=still) as memory:
        for action, call in calls:
            row = await row_of(memory, call)
            assert (row.entry.action, row.entry.actor) == (action, "library")
            assert subject(row), action


async def test_forgetting_clearing_and_expiry_leave_a_row_with_counts(
    open_memory: Open, scope: Scope, clock: FakeClock, tmp_path: Path, eventually: Callable[..., Awaitable[None]]
) -> None:
    settings = Settings(
        data_dir=tmp_path, pipeline=PipelineSettings(enabled=False), retention=RetentionSettings(l0_l1_days=1)
    )
    async with open_memory(settings=settings) as memory:
        for user in (USER, "max"):
            await memory.add(replace(scope, user=user), SESSION, [MessageInput("user", TEA)])
        forgotten = await row_of(memory, lambda: memory.forget(Forgetting("default", user=USER)))
        cleared = await row_of(memory, lambda: memory.clear("default", ["chat_memory-home-assistant"]))
        await memory.add(scope, SESSION, [MessageInput("user", TEA)])
        before = len(await rows(memory))
        clock.advance(3 * 86_400)

        async def expired() -> bool:
            return len(await rows(memory)) > before

        await eventually(expired)
        last = (await rows(memory))[-1]

    assert (forgotten.entry.action, subject(forgotten)["messages"]) == ("memory.forget", 1)
    assert json.loads(forgotten.entry.owner) == ["", "", mark("default", USER)]
    assert subject(forgotten)["forgetting"][0].startswith("fgt-")
    assert (cleared.entry.action, subject(cleared)["messages"]) == ("agent.clear", 1)
    assert (last.entry.action, last.entry.actor, subject(last)["messages"]) == ("memory.expire", "pipeline", 1)


async def test_rules_and_prompts_leave_a_row_each(open_memory: Open) -> None:
    async with open_memory(enabled=False) as memory:
        prompt = await memory.prompts.create("default", name="moonpetal", layer="l1", prompt="quillfeather")
        one = prompt.prompt_id
        calls: list[tuple[str, Callable[[], Awaitable[Any]]]] = [
            ("policy.set", lambda: memory.policies.set("default", user=USER, retention_days=3)),
            ("prompt.create", lambda: memory.prompts.create("default", name="n", layer="l1", prompt="p")),
            ("prompt.update", lambda: memory.prompts.update("default", one, prompt="月瓣咖啡")),
            ("prompt.apply", lambda: memory.prompts.apply("default", one, "l1", team="home", agents=["assistant"])),
            ("prompt.clear", lambda: memory.prompts.clear("default", "l1", team="home", agents=["assistant"])),
            ("prompt.delete", lambda: memory.prompts.delete("default", [one])),
        ]
        for action, call in calls:
            assert (await row_of(memory, call)).entry.action == action
        kept = len(await rows(memory))
        other = await memory.prompts.create("default", name="n", layer="l1", prompt="p")
        await memory.prompts.update("default", other.prompt_id, prompt="p")
        await memory.prompts.clear("default", "l1")
        assert len(await rows(memory)) == kept + 1


async def test_secrets_that_are_taken_out_later_leave_a_row(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.policies.set("default", redact_secrets=False)
        await memory.add(scope, SESSION, [MessageInput("user", "My password is hunter2zz.")])
        await memory.policies.set("default", redact_secrets=True)
        row = await row_of(memory, lambda: memory.scan_secrets(fix=True))
        assert (row.entry.action, subject(row)) == ("secret.remove", {"message": 1})


async def test_no_row_holds_a_word_of_what_was_said_or_a_name_that_was_chosen(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        pipeline=PipelineSettings(every_n=1, l2_delay_seconds=0.0, profile_scope="agent_user"),
        mirror=MirrorSettings(enabled=False),
    )
    async with open_memory(settings=settings) as memory:
        await memory.add(scope, SESSION, [MessageInput("user", "我喝月瓣咖啡", message_id="said-by-lin")])
        await say(memory, scope, TEA, BOTH)
        await memory.recall(scope, "quillfeather tea")
        await memory.update_memory(scope, (await memory.memories(scope)).items[0].memory_id, "月瓣咖啡")
        await memory.write_persona(scope, "moonpetal")
        await memory.delete_messages(scope, message_ids=["said-by-lin"])
        await memory.policies.set("default", user=USER, retention_days=3)
        await memory.forget(Forgetting("default", user=USER))
        kept = await rows(memory)

    assert {row.entry.action.partition(".")[0] for row in kept} >= {"message", "memory", "scene", "persona", "recall"}
    text = "\n".join(str(row.entry) for row in kept)
    assert [one for one in PLANTED if one in text] == []
    data = b"".join(file.read_bytes() for file in tmp_path.glob(f"{DATABASE_NAME}*"))
    assert b"message.add" in data
