from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memstrata import __version__
from memstrata.evals.dataset import Dataset, Question, Unit
from memstrata.evals.protocol import protocol_of, search_settings
from memstrata.evals.report import protocol_lines
from memstrata.settings import Settings


def test_the_protocol_says_what_a_figure_depends_on(
    unit: Callable[..., Unit], question: Callable[..., Question], dataset: Callable[..., Dataset]
) -> None:
    made = dataset(
        {"c": [unit("1"), unit("2"), unit("3")], "d": [unit("1")]},
        [question("q", {"1"}), question("r", {"2"}), question("s", {"1"}, "d")],
    )
    protocol = protocol_of(made, "separate", Settings(), {"asking": 1.25}, {"queries cut": 2, "nothing": 0})
    assert protocol.units_per_query == (1, 7 / 3, 3)
    assert protocol.counts == {"queries cut": 2}
    lines = "\n".join(protocol_lines(protocol))
    for told in ("made for a test", "queries cut: 2", "1 to 3, mean 2.3", __version__, protocol.commit, "asking 1.2 s"):
        assert told in lines
    assert "embedder: none (keyword only)" in lines


def test_settings_of_the_search_that_were_changed_are_told_without_secrets() -> None:
    usual = Settings()
    changed = replace(
        usual,
        recall=replace(usual.recall, floor=0.2),
        server=replace(usual.server, port=1),
        embedding=replace(usual.embedding, model="tiny", api_key="sk-secret", base_url="http://example.test/v1"),
    )
    assert search_settings(usual) == {}
    assert search_settings(changed) == {"recall.floor": "0.2", "embedding.model": "tiny"}
