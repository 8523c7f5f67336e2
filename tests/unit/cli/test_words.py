"""What the command line says: in both languages, with the same places to fill, and nothing that is never said."""

import re
import string
from pathlib import Path
from typing import get_args

import pytest

import memstrata.cli
from memstrata.cli.phrases import NOUNS, PHRASES
from memstrata.cli.words import Language, Words, terminal_language
from memstrata.hooks.handle import OUTCOMES
from memstrata.setup.clients.table import CLIENTS
from memstrata.transfer.conversation import SkipReason

CODE = "\n".join(
    file.read_text(encoding="utf-8")
    for file in sorted(Path(memstrata.cli.__file__).parent.glob("*.py"))
    if not file.name.endswith("phrases.py")
)
# Their last part is a value: a kind of error, a reason, a state.
COMPUTED = ("error.", "skip.", "status.state.", "status.layer.", "setup.advice.", "hooks.outcome.")


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("name", PHRASES)
def test_a_phrase_has_the_same_places_in_both_languages(name: str) -> None:
    english, chinese = PHRASES[name]
    assert english.strip()
    assert chinese.strip()
    assert places(english) == places(chinese)


def test_every_phrase_that_is_said_exists() -> None:
    assert set(re.findall(r'say\(\s*"([^"]+)"', CODE)) <= set(PHRASES)


def test_every_phrase_that_exists_is_said() -> None:
    assert not [
        name
        for name in PHRASES
        if not re.search(rf"""["']{re.escape(name)}["']""", CODE) and not name.startswith(COMPUTED)
    ]


@pytest.mark.parametrize("reason", get_args(SkipReason))
def test_every_reason_for_leaving_something_out_can_be_said(reason: str) -> None:
    assert f"skip.{reason}" in PHRASES


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "zh_TW", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "en_US.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "zh_CN", "LANG": "C"}, "zh"),
        ({"LC_CTYPE": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_first_locale_variable_that_is_set_decides(environ: dict[str, str], language: Language) -> None:
    assert terminal_language(environ) == language


def test_one_of_a_thing_is_counted_as_one() -> None:
    english, chinese = Words("en"), Words("zh")
    assert [english.count("memory", number) for number in (0, 1, 1200)] == ["0 memories", "1 memory", "1,200 memories"]
    assert chinese.count("memory", 1) == "1 条记忆"
    assert all(len(set(forms)) == 3 for forms in NOUNS.values())


def test_every_outcome_of_a_hook_and_every_advice_of_a_client_can_be_said() -> None:
    wanted = {f"hooks.outcome.{outcome}" for outcome in OUTCOMES}
    wanted |= {
        f"setup.advice.{advice}" for client in CLIENTS.values() for advice in (*client.advice, *client.proxy_advice)
    }
    assert wanted == {name for name in PHRASES if name.startswith(("hooks.outcome.", "setup.advice."))}
