"""The cleaning table: what each rule takes, and what none of them may."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.client.turn import RULES, clean
from memstrata.client.turn.envelopes import HEADINGS
from memstrata.client.turn.envelopes import TAGS as ENVELOPES
from memstrata.client.turn.markers import TAGS
from memstrata.text import markers

PIXELS = "data:image/png;base64," + "iVBORw0KGgo" * 12 + "=="
METADATA = 'Conversation info (untrusted metadata):\n```json\n{"session": "x"}\n```\n'
TAKEN = {
    "NUL": ("user", "a\0b", "ab"),
    "own blocks": ("user", 'a\n<user-persona source="memstrata">\nx\n</user-persona>\nb', "a\n\nb"),
    "envelopes": ("user", f"<system-reminder>\nbe brief\n</system-reminder>\n{METADATA}hi", "hi"),
    "reply tag": ("assistant", "[[reply_to_current]] hi", "hi"),
    "channel tag": ("user", "¥¥[channel=7]¥¥hi", "hi"),
    "system event": ("user", "System: [2026-01-28 20:30:11 EST] Node connected\n\nhi", "hi"),
    "arrival time": ("user", "[Wed 2026-01-28 20:30 EST] hi", "hi"),
    "media note": ("user", "[media attached: /tmp/a.png (image/png)]\nhi", "[file]\nhi"),
    "image hint": ("user", "To send an image back, use MEDIA:path. Keep caption in the text body.\nhi", "hi"),
    "image in Markdown": ("assistant", f"see ![a plot]({PIXELS}) here", "see [image] here"),
    "image data": ("user", f"what is {PIXELS} ?", "what is [image] ?"),
    "assistant code": ("assistant", "Run:\n```sh\nrm x\n```\nDone.", "Run:\n[code]\nDone."),
    "noise": ("user", "(session bootstrap)", ""),
    "edges": ("user", "  hi\n", "hi"),
}


@pytest.mark.parametrize("rule", [rule.name for rule in RULES])
def test_each_rule_takes_what_a_runtime_wrote_and_leaves_what_was_said(rule: str) -> None:
    role, text, expected = TAKEN[rule]
    assert clean(role, text) == expected  # type: ignore[arg-type]
    others = [one for one in RULES if one.name != rule and role in one.speakers]
    for one in others:
        text = one.apply(text)
    assert text != expected, "another rule does the same"


@pytest.mark.parametrize(
    "text",
    [
        "[TODO] buy milk",
        "@ann can you look at this?",
        "/path/to/file is missing",
        "/path",
        "/new ideas for dinner",
        "[2026-01-02 10:00] is when the log starts",
        "System: how does yours work?",
        "ok",
        "？",
        '```json\n{"session": "mine"}\n```',
        "```python\nprint('hi')\n```",
        "I wrote <user-persona> into the prompt and </user-persona> after it",
        "<user-persona> opens it, </user-persona> closes it",
        "before\n<system-reminder>\nquoted\n</system-reminder>\nafter",
        "what does <system-reminder> mean?",
        "[[wikilink]] and [[reply to all]]",
        "Sender (untrusted) was the subject of the mail",
        "data:image/png;base64,abc is how it starts",
        "[media] was attached",
        "NO_REPLY is what the bot said",
        "我叫小李，住在里斯本。",
        "a\n\n\n\nb",
    ],
)
def test_what_a_user_wrote_stays_as_it_is(text: str) -> None:
    assert clean("user", text) == text


@pytest.mark.parametrize("text", ["/new", "/compact", "NO_REPLY", "A new session was started via /new.", " \n"])
def test_a_message_of_a_runtime_alone_is_nothing(text: str) -> None:
    assert clean("user", text) == ""


@pytest.mark.parametrize("heading", HEADINGS)
def test_metadata_in_front_of_a_message_goes_under_each_of_its_headings(heading: str) -> None:
    assert clean("user", f"{heading} (untrusted, for context):\n```json\n{{}}\n```\n\nhi") == "hi"


@pytest.mark.parametrize("tag", ENVELOPES)
def test_an_envelope_goes_at_either_edge_and_stays_when_it_is_not_closed(tag: str) -> None:
    assert clean("user", f"<{tag}>\nx\n</{tag}>\n\nhi\n<{tag}>\ny\n</{tag}>\n") == "hi"
    assert clean("user", f"<{tag}>\nhi") == f"<{tag}>\nhi"


def test_code_of_a_reply_is_kept_where_the_rules_say_so_and_a_users_always_is() -> None:
    text = "Try:\n~~~\nx = 1\n~~~"
    assert clean("assistant", text) == "Try:\n[code]"
    assert clean("assistant", text, code="keep") == text
    assert clean("user", text) == text


def test_an_unclosed_fence_runs_to_the_end_and_inner_fences_do_not_close_it() -> None:
    assert clean("assistant", "a\n````\n```\nb\n```\n````\nc\n```\nd") == "a\n[code]\nc\n[code]"


FRAGMENTS = st.sampled_from(
    [f'<{tag} source="memstrata">' for tag in TAGS]
    + [f"</{tag}>" for tag in TAGS]
    + ["<user-persona>", "hello ", "\n", "\r\n", "\n\n", " ", "记忆", "- item", "<", ">"]
)


@given(st.lists(FRAGMENTS, max_size=14).map("".join))
def test_the_client_finds_the_same_blocks_of_ours_as_the_server(text: str) -> None:
    server = markers.strip_injected(text)
    own = next(rule for rule in RULES if rule.name == "own blocks")

    assert TAGS == markers.TAGS
    assert re.sub(r"\s+", "", own.apply(text)) == re.sub(r"\s+", "", server)


@given(st.sampled_from(TAGS), st.text(), st.text())
def test_what_recall_renders_never_survives(tag: markers.Tag, memory: str, said: str) -> None:
    block = markers.wrap(tag, markers.escape(f"INJECTED {memory}"))
    assert "INJECTED" not in clean("user", f"{block}\n\n{said}")


@pytest.mark.parametrize(
    "text",
    [
        '<user-persona source="memstrata">' * 20_000,
        "<system-reminder>\n" * 40_000,
        "<system-reminder>\nx\n</system-reminder>\n" * 20_000,
        "x\n</system-reminder>" * 30_000,
        METADATA * 8_000,
        "Sender (untrusted):\n```json\n" * 20_000,
        "[[reply_to: " * 50_000,
        "System: [2026-01-01 x] y\n" * 20_000,
        "![" * 200_000,
        "data:image/png;base64," * 20_000,
        " " * 500_000 + "x",
        "```\n" * 100_000,
    ],
    ids=range(12),
)
def test_a_hostile_message_is_cleaned_in_time_that_grows_with_its_length(text: str) -> None:
    """Quadratic work on half a megabyte takes minutes; the test's own deadline would find it."""
    assert len(clean("user", text)) <= len(text)
    assert len(clean("assistant", text)) <= len(text) + len("[code]") * text.count("```")
