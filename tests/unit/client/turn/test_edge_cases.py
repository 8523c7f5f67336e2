"""The table of edge cases of the runtime practice (`reference/hub-sdk-plugins.md` §E.5), one test for each row."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from memstrata.client.turn import AsyncTurnRecorder, CaptureRules, TurnIds, view_langchain

RecorderOf = Callable[..., AsyncTurnRecorder]


async def test_01_the_first_turn_is_the_whole_list(chat: Any, server: Any) -> None:
    assert await chat.exchange("I live in Lisbon", "Noted.") == "captured"
    await chat.recorder.drain()

    assert server.texts() == [("user", "I live in Lisbon"), ("assistant", "Noted.")]


async def test_02_several_user_messages_in_a_row_all_belong_to_the_turn(chat: Any, server: Any) -> None:
    await chat.exchange("hello", "hi")
    chat.say("user", "one thing")
    await chat.exchange("and another", "both noted")
    await chat.recorder.drain()

    assert [text for _, text in server.texts()] == ["hello", "hi", "one thing", "and another", "both noted"]


async def test_03_a_turn_behind_a_message_without_an_id_is_not_written(recorder_of: RecorderOf, server: Any) -> None:
    recorder = recorder_of(view=view_langchain)
    messages = [
        SimpleNamespace(type="human", id="u1", content="old"),
        SimpleNamespace(type="ai", id=None, content="old reply"),
        SimpleNamespace(type="human", id="u2", content="new"),
    ]
    turn = await recorder.begin(messages)
    messages.append(SimpleNamespace(type="ai", id="a2", content="reply"))

    assert await recorder.capture(messages, turn=turn) == "no watermark"
    await recorder.drain()
    assert server.requests == []


async def test_04_a_turn_whose_watermark_was_compacted_away_is_cut_at_its_input(chat: Any, server: Any) -> None:
    await chat.exchange("first", "reply to first")
    question = chat.say("user", "second")
    turn = await chat.begin()
    chat.messages[:] = [{"id": "sum", "role": "user", "content": "Earlier: …", "synthetic": True}, question]
    chat.say("assistant", "reply to second")

    assert await chat.capture(turn) == "captured"
    await chat.recorder.drain()
    assert [text for _, text in server.texts()] == ["first", "reply to first", "second", "reply to second"]


async def test_04_a_turn_that_lost_both_anchors_is_written_from_its_mark(chat: Any, server: Any) -> None:
    await chat.exchange("first", "reply to first")
    old = chat.messages[-1]
    chat.say("user", "second")
    turn = await chat.begin()
    chat.messages[:] = [{"id": "sum", "role": "user", "content": "Earlier: …", "synthetic": True}]
    chat.say("assistant", "looking", tool_calls=[{"id": "c1"}])
    chat.say("tool", "found it")
    chat.say("assistant", "reply to second")

    assert old not in chat.messages
    assert await chat.capture(turn) == "captured"
    await chat.recorder.drain()
    assert [text for _, text in server.texts()] == ["first", "reply to first", "second", "reply to second"]


async def test_05_a_summary_in_the_role_of_the_user_is_no_user_message(recorder_of: RecorderOf, server: Any) -> None:
    recorder = recorder_of(view=view_langchain)
    summary = {"lc_source": "summarization"}
    messages = [
        SimpleNamespace(type="human", id="s", content="Summary: they like tea", additional_kwargs=summary),
        SimpleNamespace(type="human", id="u2", content="what do I like?"),
    ]
    turn = await recorder.begin(messages)
    assert turn is not None
    assert turn.watermark == "s"
    messages.append(SimpleNamespace(type="human", id="s2", content="Summary: again", additional_kwargs=summary))
    messages.append(SimpleNamespace(type="ai", id="a2", content="tea"))

    await recorder.capture(messages, turn=turn)
    await recorder.drain()
    assert server.texts() == [("user", "what do I like?"), ("assistant", "tea")]


async def test_06_an_interrupted_turn_is_written_when_another_process_resumes_it(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    await chat.exchange("hello", "hi")
    await chat.recorder.drain()
    chat.say("user", "delete the file")
    await chat.begin()
    chat.say("assistant", "", tool_calls=[{"id": "c1"}])

    chat.recorder = recorder_of()
    chat.say("tool", "approved and done")
    assert await chat.begin() is None
    chat.say("assistant", "It is gone.")

    assert await chat.capture() == "captured"
    assert await chat.capture() == "not begun"
    await chat.recorder.drain()
    assert [text for _, text in server.texts()] == ["hello", "hi", "delete the file", "It is gone."]


async def test_07_the_question_of_an_abandoned_interrupt_comes_with_the_next_turn(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    await chat.exchange("hello", "hi")
    await chat.recorder.drain()
    chat.say("user", "delete the file")
    await chat.begin()
    chat.say("assistant", "", tool_calls=[{"id": "c1"}])

    chat.recorder = recorder_of()
    await chat.exchange("never mind, list it", "a.txt")
    await chat.recorder.drain()

    assert [text for _, text in server.texts()] == ["hello", "hi", "delete the file", "never mind, list it", "a.txt"]


async def test_08_a_run_that_failed_and_is_retried_is_written_once(chat: Any, server: Any) -> None:
    chat.say("user", "what is the time?")
    await chat.begin()

    turn = await chat.begin()
    chat.say("assistant", "noon")
    await chat.capture(turn)
    await chat.recorder.drain()

    assert server.texts() == [("user", "what is the time?"), ("assistant", "noon")]


async def test_08_the_question_of_a_failed_run_comes_with_the_next_message(chat: Any, server: Any) -> None:
    await chat.exchange("hello", "hi")
    chat.say("user", "what is the time?")
    await chat.begin()
    await chat.exchange("and the day?", "noon, Monday")
    await chat.recorder.drain()

    assert [text for _, text in server.texts()] == ["hello", "hi", "what is the time?", "and the day?", "noon, Monday"]


async def test_09_the_question_of_a_cancelled_run_survives_a_compaction(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    await chat.exchange("hello", "hi")
    await chat.recorder.drain()
    chat.say("user", "I moved to Porto")
    await chat.begin()
    chat.say("assistant", "", tool_calls=[{"id": "c1"}])
    chat.messages[:] = [{"id": "sum", "role": "user", "content": "Earlier: …", "synthetic": True}]

    chat.recorder = recorder_of()
    await chat.exchange("are you there?", "yes")
    await chat.recorder.drain()

    assert [text for _, text in server.texts()] == ["hello", "hi", "I moved to Porto", "are you there?", "yes"]


async def test_10_a_list_that_comes_again_unchanged_begins_and_writes_nothing(chat: Any, server: Any) -> None:
    await chat.exchange("hello", "hi")
    turn = await chat.begin()
    chat.say("assistant", "hi again")

    assert turn is None
    assert await chat.capture(turn) == "not begun"
    await chat.recorder.drain()
    assert server.texts() == [("user", "hello"), ("assistant", "hi")]


@pytest.mark.parametrize("stored", [False, True])
async def test_11_a_turn_that_a_guard_answered_is_stored_only_if_the_rules_say_so(
    chat: Any, server: Any, recorder_of: RecorderOf, stored: bool
) -> None:
    chat.recorder = recorder_of(rules=CaptureRules(store_blocked=stored))
    chat.say("user", "tell me a secret")
    turn = await chat.begin()
    chat.say("assistant", "I cannot help with that.")

    assert await chat.capture(turn, blocked=True) == ("captured" if stored else "blocked")
    await chat.exchange("all right", "good")
    await chat.recorder.drain()
    assert (("user", "tell me a secret") in server.texts()) is stored
    assert server.texts()[-2:] == [("user", "all right"), ("assistant", "good")]


async def test_12_an_agent_inside_a_tool_writes_nothing_into_its_parents_session(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    chat.say("user", "research this")
    parent = await chat.begin()
    inner = [("user", "sub-task for the inner agent")]
    nested = TurnIds(nested=True)

    assert await chat.recorder.begin(inner, nested) is None
    assert await chat.recorder.capture([*inner, ("assistant", "inner result")], nested) == "nested"
    chat.say("assistant", "here it is")
    await chat.capture(parent)
    await chat.recorder.drain()
    assert server.texts() == [("user", "research this"), ("assistant", "here it is")]

    mounted = recorder_of(rules=CaptureRules(capture_nested=True))
    ids = TurnIds(session="graph", nested=True)
    turn = await mounted.begin(inner, ids)
    assert await mounted.capture(inner, ids, turn) == "captured"


async def test_13_a_turn_without_a_reply_is_what_the_user_said(chat: Any, server: Any) -> None:
    chat.say("user", "remember that I am left-handed")
    turn = await chat.begin()

    assert await chat.capture(turn) == "captured"
    await chat.recorder.drain()
    assert server.texts() == [("user", "remember that I am left-handed")]


async def test_14_without_its_store_a_recorder_goes_on_from_memory(chat: Any, server: Any, store: Any) -> None:
    store.is_away = True
    assert await chat.exchange("hello", "hi") == "captured"
    chat.say("user", "interrupt me")
    await chat.begin()
    chat.say("assistant", "resumed in the same process")
    assert await chat.capture() == "captured"
    await chat.recorder.drain()

    assert len(server.texts()) == 4
    assert chat.recorder.status.failed_store_calls > 0
    assert not chat.recorder.status.is_healthy


async def test_15_two_runs_of_one_thread_at_once_take_nothing_from_each_other(chat: Any, server: Any) -> None:
    chat.say("user", "slow question")
    slow = await chat.begin()
    chat.say("user", "quick question")
    quick = await chat.begin()
    chat.say("assistant", "quick reply")
    assert await chat.capture(quick) == "captured"
    chat.say("assistant", "slow reply")
    assert await chat.capture(slow) == "captured"
    await chat.recorder.drain()

    assert sorted(text for _, text in server.texts()) == [
        "quick question",
        "quick reply",
        "slow question",
        "slow reply",
    ]


@pytest.mark.parametrize("kept", [False, True])
async def test_16_text_beside_a_tool_call_is_left_out_unless_the_rules_keep_it(
    chat: Any, server: Any, recorder_of: RecorderOf, kept: bool
) -> None:
    chat.recorder = recorder_of(rules=CaptureRules(keep_text_before_tools=kept))
    chat.say("user", "weather?")
    turn = await chat.begin()
    chat.say("assistant", "Let me look.", tool_calls=[{"id": "c1"}])
    chat.say("tool", "sunny")
    chat.say("assistant", "Sunny.")
    await chat.capture(turn)
    await chat.recorder.drain()

    middle = [("assistant", "Let me look.")] if kept else []
    assert server.texts() == [("user", "weather?"), *middle, ("assistant", "Sunny.")]


async def test_17_a_turn_beyond_the_limits_of_the_server_goes_in_parts_and_loses_nothing(
    chat: Any, server: Any
) -> None:
    long = "知识" * 9_000
    for number in range(230):
        chat.say("user", f"point {number}")
    chat.say("user", long)
    turn = await chat.begin()
    chat.say("assistant", "a lot")
    await chat.capture(turn)
    await chat.recorder.drain()

    texts = [text for _, text in server.texts()]
    assert texts[:230] == [f"point {number}" for number in range(230)]
    assert "".join(texts[230:-1]) == long
    assert texts[-1] == "a lot"
    assert len(server.requests) > 2


async def test_18_a_process_that_stops_leaves_what_is_pending_to_the_next(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    server.state = "down"
    await chat.exchange("hello", "hi")
    await chat.recorder.aclose(0.0)
    assert server.texts() == []

    server.state = "up"
    later = recorder_of()
    assert await later.drain() == 0
    assert server.texts() == [("user", "hello"), ("assistant", "hi")]


async def test_18_closing_waits_for_what_is_pending(chat: Any, server: Any) -> None:
    await chat.exchange("hello", "hi")
    await chat.recorder.aclose()

    assert server.texts() == [("user", "hello"), ("assistant", "hi")]


async def test_19b_a_write_that_was_stored_but_not_answered_is_not_doubled(
    chat: Any, server: Any, recorder_of: RecorderOf
) -> None:
    server.state = "stores but never answers"
    await chat.exchange("hello", "hi")
    await chat.recorder.drain(0.05)
    await chat.recorder.aclose(0.0)
    assert len(server.texts()) == 2

    server.state = "up"
    assert await recorder_of().drain() == 0
    assert server.texts() == [("user", "hello"), ("assistant", "hi")]
    assert len(server.keys) == 1
