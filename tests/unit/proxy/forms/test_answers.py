import json

import pytest

from memstrata.proxy.forms.answers import read_answer
from memstrata.proxy.forms.pages import Option

QUESTION = "Which agent is this session for? (answer skip for no memory)"
OPTIONS = (
    Option("agt-aaaaaaaa", "Search (aaaaaaaa)"),
    Option("agt-bbbbbbbb", "Search team (bbbbbbbb)"),
    Option("agt-cccccccc", "写作助手 (cccccccc)"),
)


@pytest.mark.parametrize(
    "result",
    [
        f'User has answered your questions: "{QUESTION}"="Search team (bbbbbbbb)". You can now continue.',
        f'User has answered your questions: "{QUESTION}"="Search team (bbbbbbbb)" user notes: the "new" one, please.',
        f'Your questions have been answered: "{QUESTION}"="Search team (bbbbbbbb)".\n<system-reminder>x</system-reminder>',
        json.dumps({"answers": {QUESTION: "Search team (bbbbbbbb)"}}),
        json.dumps({"answers": {"agent": {"answers": ["Search team (bbbbbbbb)"]}}}),
        json.dumps({"multi_question_result": {"questions": [{"question": QUESTION, "selectedOption": "Search team"}]}}),
        json.dumps([{"id": "agent", "value": "Search team"}]),
        "Search team (bbbbbbbb)",
        "search TEAM",
        "the one called Search team",
        "(bbbbbbbb)",
    ],
)
def test_the_option_is_found_in_each_form_of_an_answer(result: str) -> None:
    answer = read_answer(result, QUESTION, "agent", OPTIONS)

    assert answer.kind == "chosen"
    assert answer.option == OPTIONS[1]


@pytest.mark.parametrize("given", ["skip", "跳过", "不关联", "Skip"])
def test_a_skip_word_declines(given: str) -> None:
    result = f'User has answered your questions: "{QUESTION}"="{given}".'

    assert read_answer(result, QUESTION, "agent", OPTIONS).kind == "declined"


@pytest.mark.parametrize(
    "result",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "User declined to answer questions",
        "The user wants to clarify these questions.",
    ],
)
def test_a_rejected_question_declines(result: str) -> None:
    assert read_answer(result, QUESTION, "agent", OPTIONS).kind == "declined"


@pytest.mark.parametrize(
    "result",
    [
        "",
        "{",
        "42",
        f"You asked: {QUESTION}",  # an echo of the question, with its skip word, is no answer
        f'User has answered your questions: "{QUESTION}"="Search (aaaaaaaa) or 写作助手 (cccccccc)".',
        f'User has answered your questions: "{QUESTION}"="neither".',
        "[" * 10_000,
        json.dumps({"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"answers": "Search"}}}}}}}}}}),
    ],
)
def test_what_names_no_option_or_two_is_unclear(result: str) -> None:
    assert read_answer(result, QUESTION, "agent", OPTIONS).kind == "unclear"


def test_a_client_that_cannot_ask_says_so() -> None:
    result = "request_user_input is unavailable in Default mode"

    assert read_answer(result, QUESTION, "agent", OPTIONS).kind == "unavailable"


@pytest.mark.parametrize(("given", "chosen"), [("yes", "yes"), ("no", "no"), ("不启用", "no"), ("启用记忆", "yes")])
def test_consent_is_read_from_its_label_or_its_id(given: str, chosen: str) -> None:
    options = (Option("yes", "启用记忆"), Option("no", "不启用"))

    answer = read_answer(given, "本次会话要启用记忆吗？", "consent", options)

    assert answer.option is not None
    assert answer.option.id == chosen


def test_words_that_hold_yes_and_no_are_unclear() -> None:
    options = (Option("yes", "启用记忆"), Option("no", "不启用"))

    assert read_answer("不启用记忆", "本次会话要启用记忆吗？", "consent", options).kind == "unclear"
