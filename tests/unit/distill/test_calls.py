"""What the questions to a model share."""

from __future__ import annotations

from hashlib import sha256

import pytest

from memstrata.distill.atoms.extract_prompt import extract_system
from memstrata.distill.atoms.identity import names_somebody_else
from memstrata.distill.atoms.resolve_prompt import RESOLVE_SYSTEM
from memstrata.distill.calls import BUILTIN_VERSIONS, new_mark
from memstrata.distill.persona.prompt import persona_system
from memstrata.distill.scenes.prompt import scene_system
from memstrata.records import Layer


def test_a_mark_is_neither_a_word_nor_a_year_and_no_name_of_the_user() -> None:
    marks = {new_mark() for _ in range(500)}
    assert not [mark for mark in marks if mark.isalpha() or mark.isdigit()]
    assert all(names_somebody_else(f"User ({mark}) likes tea", "Arun") for mark in marks)


@pytest.mark.parametrize(
    ("layer", "texts", "version", "digest"),
    [
        ("l1", [extract_system("chat"), extract_system("work"), RESOLVE_SYSTEM], 1, "429aee4e981cb93a"),
        ("l2", [scene_system("chat", None), scene_system("work", None)], 1, "ed36ab0af0f60757"),
        ("l3", [persona_system("chat", None), persona_system("work", None)], 1, "de7b71312dc091ba"),
    ],
)
def test_a_built_in_prompt_that_is_changed_gets_a_new_version(
    layer: Layer, texts: list[str], version: int, digest: str
) -> None:
    """A trace names a prompt by its version: where the digest is another one, raise BUILTIN_VERSIONS and write both here."""
    assert (BUILTIN_VERSIONS[layer], sha256("\0".join(texts).encode()).hexdigest()[:16]) == (version, digest)
