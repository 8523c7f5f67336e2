"""`memstrata eval` from the shell, on tiny data sets."""

from __future__ import annotations

import json

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

PAIRS = "l\ten\tI live in Lisbon\twhere in Lisbon do I live\np\tzh\t我对花生过敏\t晚饭不能放什么\n"


def test_figures_are_shown_under_their_protocol_and_rankings_are_kept(memstrata: Shell) -> None:
    memstrata.write("own.tsv", PAIRS)
    done = memstrata("eval", "retrieval", "--path", "own.tsv", "--out", "raw.jsonl")
    assert done.code == 0, done
    for told in ("unit: one statement", "2 questions", "embedder: none", "recall@10", "shared words", "raw.jsonl"):
        assert told in done.out
    head, *lines = (memstrata.folder / "raw.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(head)["reports"][0]["protocol"]["questions"] == 2
    assert [json.loads(line)["question"] for line in lines] == ["1", "2"]
    assert json.loads(lines[0])["ranked"][0][0] == "1"
    assert not (memstrata.folder / ".memstrata").exists()


def test_a_program_gets_every_metric_and_the_same_again_for_the_same_seed(memstrata: Shell) -> None:
    memstrata.write("own.tsv", PAIRS)
    first, again = (
        memstrata("eval", "retrieval", "--path", "own.tsv", "--json", "--out", out).json for out in ("a", "b")
    )
    assert first["reports"][0]["groups"] == again["reports"][0]["groups"]
    everything = first["reports"][0]["groups"][0]
    assert everything["metrics"]["recall@1"] == 0.5
    assert everything["intervals"]["recall@10"] == [0.0, 1.0]


def test_a_set_of_several_corpora_is_measured_alone_and_pooled(memstrata: Shell) -> None:
    def trajectory(tid: int, text: str, question: str) -> dict[str, object]:
        return {
            "tid": tid,
            "message_list": [{"mid": 0, "message": text, "time": "2024年04月01日 周一 08:30", "place": "深圳"}],
            "question_list": [{"qid": 0, "question": question, "target_step_id": [0]}],
        }

    both = [trajectory(0, "我表弟住在杭州。", "谁住在杭州？"), trajectory(1, "我养了一只鹦鹉。", "我养了什么鹦鹉？")]
    memstrata.write("01_simple_roles.json", json.dumps(both))
    answer = memstrata("eval", "retrieval", "--dataset", "memdaily", "--path", ".", "--json").json
    views = [(one["protocol"]["view"], one["protocol"]["corpora"]) for one in answer["reports"]]
    assert views == [("separate", 2), ("pooled", 1)]
    assert [one["groups"][0]["metrics"]["recall@1"] for one in answer["reports"]] == [1.0, 1.0]
    assert (memstrata.folder / answer["rankings"]).is_file()
    assert answer["rankings"].startswith("eval-retrieval-memdaily-")


def test_layers_are_compared_with_search(memstrata: Shell) -> None:
    memstrata.write("own.tsv", "l\ten\tRemember that I live in Lisbon.\twhere in Lisbon do I live\n")
    done = memstrata("eval", "layered", "--path", "own.tsv", "--out", "raw.jsonl")
    assert done.code == 0, done
    assert "distilled by rules: L1 1" in done.out
    assert "L1+L2+L3 messages" in done.out
    report = json.loads((memstrata.folder / "raw.jsonl").read_text(encoding="utf-8").splitlines()[0])["report"]
    assert [one["context_recall"] for one in report["groups"] if one["group"] == "all"] == [1.0] * 3


def test_nonsense_and_what_silence_costs_are_shown_and_kept(memstrata: Shell) -> None:
    memstrata.write("own.tsv", PAIRS)
    done = memstrata("eval", "nonsense", "--path", "own.tsv", "--queries", "4", "--out", "raw.jsonl")
    assert done.code == 0, done
    for told in ("daily characters", "found nothing", "without gate", "raw.jsonl"):
        assert told in done.out
    report = json.loads((memstrata.folder / "raw.jsonl").read_text(encoding="utf-8"))["report"]
    assert [one["queries"] for one in report["families"]] == [4] * 5


def test_what_cannot_be_measured_is_one_line(memstrata: Shell) -> None:
    memstrata.write("bad.json", '[{"sample_id": "x", "conversation": {}}]')
    for arguments, told in (
        (("--dataset", "squad"), "expected one of ours"),
        (("--dataset", "locomo"), "give its path"),
        (("--dataset", "locomo", "--path", "bad.json"), 'bad.json [0]: no "qa"'),
        (("--path", "bad.json"), "bad.json line 1"),
        (("--out", "bad.json"), "is there already"),
    ):
        done = memstrata("eval", "retrieval", *arguments)
        assert (done.code, done.out) == (2, ""), done
        assert done.err.count("\n") == 1
        assert told in done.err


def test_the_command_speaks_chinese_where_the_terminal_does(memstrata: Shell) -> None:
    memstrata.write("own.tsv", PAIRS)
    done = memstrata("eval", "retrieval", "--path", "own.tsv", env={"LC_ALL": "zh_CN.UTF-8"})
    assert "各语料单独" in done.out
    assert "原始排序" in done.out
