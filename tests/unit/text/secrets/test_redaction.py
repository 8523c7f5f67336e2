"""What counts as a secret, measured on two lists that are kept beside this file, and how a text is left.

A `‖` in the list of secrets stands inside a provider's mark and is taken out first: what looks like a key of a provider is
reported, and refused, by those who keep repositories.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstrata.text.secrets import Secret, placeholders, redact, secrets_of

HERE = Path(__file__).parent
POSITIVES = [
    json.loads(line.replace("\u2016", "")) for line in (HERE / "positives.jsonl").read_text("utf-8").splitlines()
]
NEGATIVES = (HERE / "negatives.txt").read_text("utf-8").splitlines()
LENGTH = 250_000  # with quadratic work it would take hours


def test_the_lists_are_long_enough_to_measure_by() -> None:
    assert len(POSITIVES) >= 200
    assert len(NEGATIVES) >= 250


@pytest.mark.parametrize("given", POSITIVES, ids=range(len(POSITIVES)))
def test_a_secret_goes_and_what_stands_around_it_stays(given: dict[str, str]) -> None:
    found = redact(given["text"])

    assert given["secret"] not in found.text
    assert given.get("kind", found.kinds[0]) in found.kinds
    assert placeholders(found.text) == len(found.kinds)
    before, _, after = given["text"].partition(given["secret"])
    if len(found.kinds) == 1:
        assert found.text.startswith(before)
        assert found.text.endswith(after.lstrip("="))  # the padding of a base64 key goes with it


@pytest.mark.parametrize("text", NEGATIVES)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text).text == text


def test_several_secrets_go_each_with_its_kind() -> None:
    found = redact("DB_PASSWORD=hunter2\nmail me: postgres://lin:w0mbat@db/x, 密码是 abc123。")

    assert (
        found.text
        == "DB_PASSWORD=[redacted:password]\nmail me: postgres://lin:[redacted:url_password]@db/x, 密码是 [redacted:password]。"
    )
    assert found.kinds == ("password", "url_password", "password")


def test_a_secret_that_is_part_of_another_is_taken_out_once() -> None:
    key = "sk-mem-" + "aB3" * 12
    assert redact(f"API_KEY={key}").text in ("API_KEY=[redacted:memstrata_key]", "API_KEY=[redacted:api_key]")
    assert len(redact(f"Authorization: Bearer {key}").kinds) == 1


def test_what_was_taken_out_does_not_show_in_the_form_of_the_value() -> None:
    cleaned, secrets = secrets_of("my password is hunter2")

    assert secrets == (Secret("password", "hunter2"),)
    assert "hunter2" not in repr(secrets) + cleaned


_PIECES = st.sampled_from(
    [
        *(
            " ",
            "\n",
            "=",
            ":",
            '"',
            "'",
            "@",
            "://",
            "password",
            "密码",
            "是",
            "is",
            "token",
            "api_key",
            "パスワードは",
            "my ",
        ),
        *(
            "[redacted:password]",
            "hunter2",
            "sk-mem-",
            "sk-",
            "aB3aB3aB3aB3aB3aB3",
            "-----BEGIN PRIVATE KEY-----",
            "eyJ",
            ".",
        ),
        *("-----END PRIVATE KEY-----", "Authorization", "Bearer ", "从", "改成", "AKIA", "Z9", "从 abc1 改成 "),
    ]
)


@given(st.lists(_PIECES, max_size=24).map("".join))
@example("password=[redacted:password]abc123")
@example("password is [redacted:password] password is hunter2")
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once.text).text == once.text
    assert redact(once.text).kinds == ()


@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text: str) -> None:
    found = redact(text)
    assert (found.text == text) == (not found.kinds)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "sk-",
        "password ",
        "password=",
        "token:",
        "eyJaaaaaaaaaaaa.",
        "://a:b",
        "密码从a",
        "-----BEGIN PRIVATE KEY-----",
        "AKIA",
    ],
)
def test_a_long_text_made_to_lead_astray_is_read_to_its_end(piece: str) -> None:
    text = piece * (LENGTH // len(piece)) + " my password is hunter2"
    assert redact(text).text.endswith("[redacted:password]")
