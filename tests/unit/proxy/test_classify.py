from dataclasses import replace

import pytest

from memstrata.proxy.classify import classify, fingerprints
from memstrata.proxy.clients.table import CLIENTS, client_named
from memstrata.proxy.wire.request import Block, ProxyRequest, Said, Span
from memstrata.records.proxy import MainPrompt

NOWHERE = Span(0, 0)
MESSAGES = "/v1/messages"


def say(text: str, role: str = "user", *, marked: bool = False, kind: str = "text") -> Said:
    return Said(role, (Block(kind, text, "", NOWHERE, marked),), NOWHERE, NOWHERE, plain=False)


def request(
    *said: Said, tools: tuple[str, ...] = ("Bash", "Read"), system: str = "You are a coding agent"
) -> ProxyRequest:
    return ProxyRequest(
        wire="anthropic",
        body=b"",
        model="m",
        stream=True,
        max_tokens=32_000,
        system=(Block("text", system, "", NOWHERE),),
        system_span=NOWHERE,
        system_plain=False,
        messages=said,
        tools=tools,
        tools_digest="/".join(tools),
        thinking="",
        metadata={},
        marks=0,
        structured=False,
        previous_response_id="",
    )


CLAUDE = CLIENTS["claude-code"]
MAIN = request(say("add a login page", marked=True))
KNOWN = fingerprints(MAIN, CLAUDE)


def kind(
    one: ProxyRequest,
    known: MainPrompt | None = KNOWN,
    client: str = "claude-code",
    suffix: str = MESSAGES,
    headers: dict[str, str] | None = None,
) -> str:
    verdict = classify(one, headers or {}, client_named(client), suffix, known)
    assert verdict.reason
    return verdict.kind


def test_a_question_and_each_step_of_its_tool_loop_are_main() -> None:
    loop = request(
        say("add a login page"), say("", "assistant", kind="tool_use"), say("ok", kind="tool_result", marked=True)
    )

    assert kind(MAIN, None) == "main"
    assert kind(MAIN) == "main"
    assert kind(loop) == "main"


@pytest.mark.parametrize(
    ("header", "value", "expected"),
    [
        ("x-claude-code-agent-id", "agent-1", "subagent"),
        ("x-claude-code-request-class", "subagent", "subagent"),
        ("x-claude-code-request-class", "workflow", "subagent"),
        ("x-claude-code-request-class", "compaction", "compaction"),
        ("x-claude-code-request-class", "auxiliary", "auxiliary"),
        ("x-claude-code-request-class", "main", "main"),
        ("x-claude-code-compaction", "auto", "compaction"),
        ("x-deepseek-harness-compact", "1", "compaction"),
        ("x-openai-memgen-request", "true", "auxiliary"),
        ("x-openai-subagent", "review", "subagent"),
        ("x-openai-subagent", "compact", "compaction"),
        ("x-codex-turn-metadata", '{"subagent_kind": "review"}', "subagent"),
        ("x-codex-turn-metadata", '{"thread_source": "memory_consolidation"}', "auxiliary"),
        ("x-codex-turn-metadata", "{broken", "main"),
        ("x-codex-turn-metadata", "[1]", "main"),
    ],
)
def test_a_header_that_says_what_it_is_is_believed(header: str, value: str, expected: str) -> None:
    assert kind(MAIN, headers={header: value}) == expected


@pytest.mark.parametrize(
    ("suffix", "expected"),
    [
        ("/v1/responses/compact", "compaction"),
        ("/responses/compact", "compaction"),
        ("/v1/memories/trace_summarize", "auxiliary"),
        ("/v1/embeddings", "auxiliary"),
        ("/v1/completions", "auxiliary"),
        ("/v1/chat/completions", "main"),
    ],
)
def test_a_path_says_what_it_is_for(suffix: str, expected: str) -> None:
    assert kind(MAIN, suffix=suffix) == expected


def test_one_token_is_a_probe() -> None:
    assert kind(replace(request(say("quota")), max_tokens=1), None) == "probe"
    assert kind(replace(request(say("quota")), max_tokens=2)) == "main"


@pytest.mark.parametrize(
    "text",
    [
        "CRITICAL: text only.\nYour task is to create a detailed summary of the conversation so far.",
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.",
    ],
)
def test_a_request_for_a_summary_is_a_compaction_and_its_result_is_not(text: str) -> None:
    asked = request(say("add a login page"), say("done", "assistant"), say(text, marked=True))
    after = request(say("This session is being continued from a previous conversation."), say("go on", marked=True))

    assert kind(asked) == "compaction"
    assert kind(after) == "main"


def test_a_title_is_told_by_its_prompt() -> None:
    titled = request(say("add a login page"), tools=(), system="Write a short title for this chat.")

    assert kind(titled, None) == "title"
    assert kind(replace(titled, max_tokens=64), None, client="dsh") == "title"
    assert (
        kind(replace(titled, max_tokens=64, system=(Block("text", "生成一个标题", "", NOWHERE),)), None, client="dsh")
        == "title"
    )
    assert kind(titled, None, client="my-agent") == "main"


def test_a_mark_before_the_newest_message_is_a_fork() -> None:
    forked = request(say("add a login page", marked=True), say("recap, please"))

    assert kind(forked) == "fork"
    assert kind(forked, None) == "fork"
    assert kind(request(say("[SUGGESTION MODE: what next?]", marked=True))) == "fork"
    assert kind(forked, client="my-agent") == "main"
    assert kind(replace(forked, tools_digest="others")) != "fork"


def test_no_tools_where_the_client_always_has_some_is_a_side_query() -> None:
    assert kind(request(say("is this a new topic?"), tools=(), system="Check.")) == "side"
    assert kind(request(say("hello"), tools=()), None, client="my-agent") == "main"


def test_another_prompt_other_tools_and_another_beginning_are_a_subagent() -> None:
    explorer = request(say("find all tests", marked=True), tools=("Read",), system="You explore code")

    assert kind(explorer) == "subagent"
    assert kind(explorer, None) == "main"


@pytest.mark.parametrize(
    "changed",
    [
        request(say("add a login page", marked=True), tools=("Bash", "Read", "mcp__x"), system="You are a newer agent"),
        request(say("something else", marked=True), tools=("Bash", "Read", "mcp__x")),
        request(say("something else", marked=True), system="You are a newer agent"),
    ],
)
def test_a_session_that_changes_stays_the_session(changed: ProxyRequest) -> None:
    assert kind(changed) == "main"


def test_an_attribution_that_changes_is_no_other_prompt() -> None:
    first, second = (
        replace(MAIN, system=(Block("text", f"x-anthropic-billing-header: v={n}", "", NOWHERE), *MAIN.system))
        for n in (1, 2)
    )

    assert fingerprints(first, CLAUDE) == fingerprints(second, CLAUDE)
