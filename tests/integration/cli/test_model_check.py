"""`doctor --llm` against models over HTTP: what it finds, and which setting it names where something is wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.cli.check import Check
from memstrata.cli.doctor import doctor
from memstrata.cli.model_check import check_models, checks_of, cost_check
from memstrata.cli.model_exercise import Examined, examine_model
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.errors import Misconfigured
from memstrata.llm import MODEL_ROLES, ModelChoice, ToolCall
from memstrata.settings import LlmSettings
from memstrata.testing import FakeClock
from memstrata.testing.llm import Answer, Hang, RecordedRequest, Reply, ScriptedLLM, Slow, Status

KEY = "sk-very-secret"
PEANUTS = {"content": "用户对花生过敏。", "type": "persona", "priority": 95, "sources": ["c1"]}
HALCYON = {"content": "User works at Halcyon.", "type": "persona", "priority": 75, "sources": ["c3"]}
BERLIN = {"content": "User lives in Berlin.", "type": "persona", "priority": 75, "sources": ["c3", "c4"]}
REPLACED = {"item": "n1", "action": "update", "targets": ["m1"]}
Script = Answer | Callable[[RecordedRequest], Answer]


def memories(*items: Any) -> Reply:
    return Reply(json.dumps({"memories": items}, ensure_ascii=False))


def decisions(*items: Any) -> Reply:
    return Reply(json.dumps({"decisions": items}))


def scene(*aliases: str) -> Reply:
    arguments = {"path": "home.md", "content": "# Home\n\nBees and a cello.", "summary": "home", "memories": aliases}
    return Reply("FINISHED", tool_calls=(ToolCall("call_1", "write", json.dumps(arguments)),))


def well(model: ScriptedLLM, **others: Script) -> None:
    """Let the model answer all three questions rightly, but for those that are given."""
    usual: dict[str, Script] = {
        "extract": memories(PEANUTS, HALCYON),
        "resolve": decisions(REPLACED),
        "consolidate": scene("m1", "m2", "m3"),
    }
    for role, script in {**usual, **others}.items():
        model.always(role, script)


@pytest.fixture
async def model() -> AsyncIterator[ScriptedLLM]:
    async with ScriptedLLM() as server:
        yield server


@pytest.fixture
def settings(model: ScriptedLLM) -> LlmSettings:
    return LlmSettings(base_url=model.base_url, api_key=KEY, model="scripted", timeout_seconds=20.0)


@pytest.fixture
def check(clock: FakeClock) -> Callable[[LlmSettings], Any]:
    async def checked(settings: LlmSettings) -> dict[str, Check]:
        found = await check_models(settings, clock, lambda model: None)
        assert KEY not in repr(found)
        return {one.name.removeprefix("doctor.llm."): one for one in found}

    return checked


def states(found: dict[str, Check]) -> dict[str, str]:
    return {name: one.state for name, one in found.items() if one.state != "ok"}


async def test_a_model_that_does_all_is_well(model: ScriptedLLM, settings: LlmSettings, check: Any) -> None:
    well(model)
    found = await check(settings)
    assert states(found) == {}
    assert list(found) == [
        *("model", "reachable", "form", "extract", "resolve", "tools", "thinking", "speed", "cost"),
    ]
    assert found["model"].text.endswith("(dialect generic): extract, resolve, consolidate, portray")
    assert "2 of 2" in found["extract"].text
    assert "3 of 3" in found["tools"].text
    assert "schema" in found["form"].text
    assert found["speed"].text.startswith("3 calls, ")
    assert [request.role for request in model.requests] == ["extract", "resolve", "consolidate"]


async def test_the_cost_is_estimated_from_what_the_endpoint_billed(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    well(
        model,
        extract=replace(memories(PEANUTS, HALCYON), usage=(1_900, 100, 0)),
        resolve=replace(decisions(REPLACED), usage=(900, 100, 0)),
        consolidate=replace(scene("m1", "m2", "m3"), usage=(2_800, 200, 0)),
    )
    assert "64,000 tokens" in (await check(settings))["cost"].text  # 21 × 2,000 + 10 × 1,000 + (2 + 2) × 3,000


async def test_an_endpoint_without_structured_output_works_with_a_warning(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    def plain_only(answer: Reply) -> Callable[[RecordedRequest], Answer]:
        return lambda r: Status(400, "unknown field response_format") if "response_format" in r.body else answer

    well(model, extract=plain_only(memories(PEANUTS, HALCYON)), resolve=plain_only(decisions(REPLACED)))
    found = await check(settings)
    assert states(found) == {"form": "warning"}
    assert found["form"].text.startswith("plain text only")


@pytest.mark.parametrize(
    "refusal",
    [Status(400, "scripted does not support tools"), Reply("I would put them into one file.")],
)
async def test_a_model_without_tools_is_told_apart_from_one_that_cannot_be_used(
    model: ScriptedLLM, settings: LlmSettings, check: Any, refusal: Answer
) -> None:
    well(model, consolidate=refusal)
    found = await check(settings)
    assert states(found) == {"tools": "failed"}
    assert "llm.consolidate_model, llm.portray_model" in found["tools"].text


@pytest.mark.parametrize("inside", [True, False])
async def test_a_model_that_goes_on_thinking_works_with_a_warning(
    model: ScriptedLLM, settings: LlmSettings, check: Any, inside: bool
) -> None:
    right = memories(PEANUTS, HALCYON)
    thinking = replace(right, text=f"<think>Hm.</think>{right.text}") if inside else replace(right, reasoning="Hm.")
    well(model, extract=thinking)
    found = await check(settings)
    assert states(found) == {"thinking": "warning"}
    assert "llm.dialect (MEMSTRATA_LLM_DIALECT, now generic)" in found["thinking"].text


async def test_thinking_that_was_wanted_is_no_fault(model: ScriptedLLM, settings: LlmSettings, check: Any) -> None:
    well(model, extract=replace(memories(PEANUTS, HALCYON), reasoning="Hm."))
    found = await check(replace(settings, disable_thinking=False))
    assert states(found) == {}
    assert "llm.disable_thinking" in found["thinking"].text


async def test_thinking_is_noticed_on_the_other_wire_too(model: ScriptedLLM, settings: LlmSettings, check: Any) -> None:
    well(model, extract=replace(memories(PEANUTS, HALCYON), reasoning="Hm."))
    found = await check(replace(settings, dialect="anthropic"))
    assert states(found) == {"thinking": "warning"}


async def test_only_reasoning_instead_of_an_answer_names_the_dialect(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    well(model, extract=Reply("", reasoning=memories(PEANUTS).text))
    found = await check(settings)
    assert states(found) == {"extract": "failed", "thinking": "warning"}
    assert found["extract"].text.startswith("only reasoning came back")
    assert "llm.dialect (MEMSTRATA_LLM_DIALECT)" in found["extract"].text
    assert "cost" not in found


async def test_a_wrong_key_names_the_setting_and_asks_no_more(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    model.always("extract", Status(401, f"Incorrect API key provided: {KEY}"))
    found = await check(settings)
    assert states(found) == {"reachable": "failed"}
    assert found["reachable"].text.endswith("llm.api_key (MEMSTRATA_LLM_API_KEY)")
    assert len(model.requests) == 1


async def test_an_endpoint_that_is_not_there_names_the_address(settings: LlmSettings, check: Any) -> None:
    found = await check(replace(settings, base_url="http://127.0.0.1:9/v1"))
    assert states(found) == {"reachable": "failed"}
    assert found["reachable"].text.endswith("llm.base_url (MEMSTRATA_LLM_BASE_URL)")


async def test_an_unknown_model_names_model_and_address(model: ScriptedLLM, settings: LlmSettings, check: Any) -> None:
    model.always("extract", Status(404, "model 'scripted' not found"))
    found = await check(settings)
    assert states(found) == {"reachable": "failed"}
    assert "model 'scripted' not found" in found["reachable"].text
    assert "llm.model (MEMSTRATA_LLM_MODEL)" in found["reachable"].text


async def test_a_model_that_gives_no_answer_in_time_names_the_time(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    model.always("extract", Hang())
    found = await check(replace(settings, timeout_seconds=0.2))
    assert states(found) == {"reachable": "failed"}
    assert "llm.timeout_seconds (MEMSTRATA_LLM_TIMEOUT_SECONDS)" in found["reachable"].text


async def test_a_model_near_its_time_limit_is_slow(model: ScriptedLLM, settings: LlmSettings, clock: FakeClock) -> None:
    well(model, extract=Slow(memories(PEANUTS, HALCYON)))
    choice = ModelChoice(settings.base_url, "scripted", KEY)
    examined = await examine_model(choice, MODEL_ROLES, settings, clock)
    longest = max(reply.elapsed_ms for reply in examined.replies) / 1000
    by_limit = {
        share: next(
            c for c in checks_of(examined, replace(settings, timeout_seconds=longest / share)) if "speed" in c.name
        )
        for share in (0.4, 0.6)
    }
    assert [by_limit[0.4].state, by_limit[0.6].state] == ["ok", "warning"]
    assert "llm.timeout_seconds" in by_limit[0.6].text


@pytest.mark.parametrize(
    ("found_facts", "state", "words"),
    [
        ((HALCYON,), "warning", "1 of 2 planted facts"),
        ((), "failed", "0 of 2 planted facts"),
        ((PEANUTS, HALCYON, BERLIN), "warning", "took the assistant's guess for a fact"),
    ],
)
async def test_a_model_that_misses_facts_or_believes_guesses_is_too_weak(
    model: ScriptedLLM, settings: LlmSettings, check: Any, found_facts: Sequence[Any], state: str, words: str
) -> None:
    well(model, extract=memories(*found_facts))
    found = await check(settings)
    assert states(found) == {"extract": state}
    assert words in found["extract"].text
    assert "llm.model (MEMSTRATA_LLM_MODEL)" in found["extract"].text


async def test_a_fact_that_would_not_be_stored_is_not_found(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    well(model, extract=memories(PEANUTS, {**HALCYON, "priority": 20}))
    assert "1 of 2" in (await check(settings))["extract"].text


async def test_a_model_that_lets_an_old_value_stand_gets_a_warning(
    model: ScriptedLLM, settings: LlmSettings, check: Any
) -> None:
    well(model, resolve=decisions({"item": "n1", "action": "store", "targets": []}))
    found = await check(settings)
    assert states(found) == {"resolve": "warning"}


async def test_each_model_is_asked_what_its_roles_need_and_its_own_settings_are_named(
    model: ScriptedLLM, settings: LlmSettings, clock: FakeClock
) -> None:
    well(model, consolidate=Status(401, "no"))
    own = replace(settings, portray_model="large", portray_base_url=model.base_url, portray_api_key="sk-other")
    found = await check_models(own, clock, lambda name: None)
    assert [(one.subject, one.state) for one in found if one.name == "doctor.llm.reachable"] == [
        ("scripted", "ok"),
        ("large", "failed"),
    ]
    failed = next(one for one in found if one.subject == "large" and one.state == "failed")
    assert failed.text.endswith("llm.portray_api_key (MEMSTRATA_LLM_PORTRAY_API_KEY)")
    assert [request.role for request in model.requests] == ["extract", "resolve", "consolidate", "consolidate"]


async def test_a_cost_is_only_told_when_every_question_was_answered(
    model: ScriptedLLM, settings: LlmSettings, clock: FakeClock
) -> None:
    well(model)
    choice = ModelChoice(settings.base_url, "scripted", KEY)
    for roles, number in ((MODEL_ROLES, 1), (("extract", "resolve"), 0)):
        examined: Examined = await examine_model(choice, roles, settings, clock)
        assert len(list(cost_check([examined]))) == number


async def test_half_a_model_is_refused_before_anything_is_asked(settings: LlmSettings, check: Any) -> None:
    with pytest.raises(Misconfigured, match=r"llm\.model"):
        await check(replace(settings, model=""))


async def test_the_command_answers_with_its_code_and_changes_nothing(
    model: ScriptedLLM, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    well(model, extract=memories(PEANUTS))
    for name, value in {"BASE_URL": model.base_url, "MODEL": "scripted", "API_KEY": KEY}.items():
        monkeypatch.setenv(f"MEMSTRATA_LLM_{name}", value)
    place = Place(tmp_path / "data")

    def run(*, as_json: bool, asks_models: bool) -> tuple[int, str]:
        code = doctor(Screen(as_json=as_json), place, 0, asks_models=asks_models)
        return code, capsys.readouterr().out

    code, out = await asyncio.to_thread(run, as_json=False, asks_models=False)
    assert code == 0
    assert "distilling with scripted" in out
    assert model.requests == []

    code, out = await asyncio.to_thread(run, as_json=True, asks_models=True)
    report = json.loads(out)
    assert code == 0
    checks = {one["name"]: one for one in report["checks"]}
    assert (checks["llm.extract"]["state"], checks["llm.extract"]["subject"]) == ("warning", "scripted")

    model.clear()
    model.always("extract", Status(401, "no"))
    code, out = await asyncio.to_thread(run, as_json=False, asks_models=True)
    assert code == 3
    assert "✗ reachable" in out
    assert KEY not in out
    assert list(tmp_path.iterdir()) == []


def test_a_half_configured_model_is_found_without_asking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMSTRATA_LLM_MODEL", "scripted")
    assert doctor(Screen(), Place(tmp_path), 0) == 3
    assert "✗ distiller    llm.base_url: a model is named, but no endpoint" in capsys.readouterr().out


def test_without_a_model_there_is_nobody_to_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor(Screen(), Place(tmp_path), 0, asks_models=True) == 3
    assert "llm.base_url (MEMSTRATA_LLM_BASE_URL)" in capsys.readouterr().out
