from dataclasses import replace

import pytest

from memstrata.llm.dialects import DIALECTS, DialectName, dialect_of
from memstrata.llm.protocol import ChatMessage, ChatRequest, ToolSpec
from memstrata.llm.terms import Terms, concede

PLAIN = ChatRequest("extract", "system", (ChatMessage("user", "hello"),))
WITH_SCHEMA = replace(PLAIN, schema={"type": "object"})


def after(*refusals: str, request: ChatRequest = WITH_SCHEMA, dialect: DialectName = "generic") -> Terms | None:
    terms: Terms | None = Terms(DIALECTS[dialect])
    for refusal in refusals:
        assert terms is not None
        terms = concede(terms, request, refusal)
    return terms


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("http://127.0.0.1:11434/v1", "ollama"),
        ("http://gpu-box:1234/v1", "lmstudio"),
        ("http://gpu-box:8000/v1", "generic"),
        ("https://notdeepseek.com.evil.test/v1", "generic"),
    ],
)
def test_the_dialect_is_told_by_the_address(url: str, name: str) -> None:
    assert dialect_of(url).name == name


def test_the_form_goes_from_schema_to_object_to_plain_and_no_further() -> None:
    one = after("response_format is not supported")
    assert one is not None
    assert one.form(WITH_SCHEMA) == "json_object"
    two = concede(one, WITH_SCHEMA, "response_format is not supported")
    assert two is not None
    assert two.form(WITH_SCHEMA) == "plain"
    assert concede(two, WITH_SCHEMA, "response_format is not supported") is None


def test_what_the_refusal_names_goes_first() -> None:
    terms = after("Unsupported value: 'temperature' does not support 0", request=replace(WITH_SCHEMA, temperature=0.0))
    assert terms is not None
    assert not terms.send_temperature
    assert terms.form(WITH_SCHEMA) == "json_schema"


def test_the_other_name_of_the_token_limit_is_tried_once() -> None:
    said = "Unsupported parameter: 'max_tokens' is not supported, use 'max_completion_tokens' instead"
    terms = after(said)
    assert terms is not None
    assert terms.tokens_field == "max_completion_tokens"


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("openai", {"reasoning_effort": "none"}),
        ("deepseek", {"thinking": {"type": "disabled"}}),
        ("qwen", {"enable_thinking": False}),
        ("vllm", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("ollama", {"reasoning_effort": "none", "think": False}),
        ("anthropic", {"thinking": {"type": "disabled"}}),
        ("generic", {}),
    ],
)
def test_each_dialect_switches_thinking_off_in_its_own_way(name: DialectName, switch: dict[str, object]) -> None:
    assert Terms(DIALECTS[name]).thinking_switch == switch
    assert Terms(DIALECTS[name], think=True).thinking_switch == {}


def test_a_refused_effort_is_followed_by_the_next_lower_one_and_at_last_by_none() -> None:
    efforts = []
    terms: Terms | None = Terms(DIALECTS["openai"])
    while terms is not None and terms.thinking_switch:
        efforts.append(terms.thinking_switch["reasoning_effort"])
        terms = concede(terms, PLAIN, "Unsupported value: 'reasoning_effort'")
    assert efforts == ["none", "minimal", "low"]
    assert terms is not None


def test_a_refusal_that_names_nothing_ends_after_all_was_conceded() -> None:
    terms: Terms | None = Terms(DIALECTS["openai"])
    steps = 0
    while terms is not None:
        terms, steps = concede(terms, WITH_SCHEMA, "bad request"), steps + 1
    assert steps == 6


def test_with_tools_no_form_is_forced() -> None:
    tool = ToolSpec("read", "reads", {"type": "object"})
    assert Terms(DIALECTS["openai"]).form(replace(WITH_SCHEMA, tools=(tool,))) == "plain"
