"""What the command line says distills, without asking it."""

from __future__ import annotations

import pytest

from memstrata.cli.distilling import distiller_state
from memstrata.settings import LlmSettings, Settings


@pytest.mark.parametrize(
    ("llm", "words"),
    [
        (LlmSettings(), "no model set: distilling by rules (MEMSTRATA_LLM_BASE_URL and MEMSTRATA_LLM_MODEL set one)"),
        (LlmSettings(base_url="http://127.0.0.1:1/v1", model="small"), "distilling with small"),
        (
            LlmSettings(base_url="http://127.0.0.1:1/v1", model="small", portray_model="large"),
            "distilling with small, large",
        ),
    ],
)
def test_it_names_the_models_of_all_roles_or_what_would_set_one(llm: LlmSettings, words: str) -> None:
    assert distiller_state(Settings(llm=llm)) == words
