"""The gate measured through the real library."""

from __future__ import annotations

from dataclasses import replace

from memstrata.evals.dataset import Corpus, Dataset, Question, Unit
from memstrata.evals.report import loss_table, silence_table
from memstrata.evals.silence import measure_silence
from memstrata.settings import RecallSettings, Settings

SAID = ("我对花生过敏，也不吃虾。", "周五发布新版本，由王敏负责。", "我的猫叫豆豆，今年三岁。", "the rent is due now")
DATASET = Dataset(
    "made",
    (
        Corpus("small", "small", (Unit("x", "nothing of the kind", "user", 0, "s"),)),
        Corpus("c", "c", tuple(Unit(str(n), text, "user", n * 60_000, "s") for n, text in enumerate(SAID))),
    ),
    (
        Question("1", "c", "我的猫叫什么", frozenset(["2"]), "words"),
        Question("2", "c", "could you now show me the hotel by the harbour", frozenset(["3"]), "accident"),
    ),
    (),
    {},
)


async def test_nonsense_finds_nothing_and_what_the_gate_costs_is_told_beside_it() -> None:
    report = await measure_silence(DATASET, Settings(), seed=0, number=20)
    shares = {one.family: one.share for one in report.families}
    assert [one.queries for one in report.families] == [20] * 5
    assert shares["random letters"] == shares["random characters"] == shares["daily characters"] == 1.0
    assert shares["words of the store"] < 0.5  # the hard part stays visible
    groups = {one.group: (one.gated, one.open, one.lost) for one in report.groups}
    assert groups == {"all": (0.5, 1.0, 0.5), "words": (1.0, 1.0, 0.0), "accident": (0.0, 1.0, 1.0)}


async def test_both_sides_are_measured_even_where_the_settings_have_the_gate_off() -> None:
    off = replace(Settings(), recall=RecallSettings(gate=False))
    report = await measure_silence(DATASET, off, seed=0, number=2)
    assert {one.group: one.lost for one in report.groups}["accident"] == 1.0
    assert report.protocol.settings == {"recall.gate": "False"}


async def test_tables_and_json_have_every_family_and_group() -> None:
    report = await measure_silence(DATASET, Settings(), seed=3, number=2)
    head, *families = silence_table(report)
    assert head == ("", "queries", "found nothing", "results")
    assert [row[0] for row in families] == [one.family for one in report.families]
    assert [row[0] for row in loss_table(report)[1:]] == ["all", "accident", "words"]
    assert loss_table(report)[1][-1] == "+0.500"
    made = report.as_json()
    assert made["seed"] == 3
    assert len(made["families"]) == 5  # type: ignore[arg-type]
