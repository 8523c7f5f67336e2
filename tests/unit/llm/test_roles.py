import pytest

from memstrata.errors import Misconfigured
from memstrata.llm.roles import ModelChoice, RoleModels

SMALL = ModelChoice("http://127.0.0.1:1/v1/", "small", api_key="sk-secret-1")


def test_a_role_that_is_not_named_has_the_common_model() -> None:
    large = ModelChoice("http://127.0.0.1:1/v1", "large")
    models = RoleModels.all(SMALL, portray=large)
    assert models.of("extract") is SMALL
    assert models.of("portray") is large


def test_the_key_is_not_shown() -> None:
    assert "sk-secret-1" not in repr(RoleModels.all(SMALL))


def test_a_trailing_slash_makes_no_difference() -> None:
    assert SMALL.base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    "url", ["", "api.openai.com/v1", "ftp://host/v1", "http://user:pw@host/v1", "http://host/v1?key=abc", "http://"]
)
def test_an_address_that_is_more_or_less_than_one_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        ModelChoice(url, "model")
    assert "pw" not in str(refused.value)
    assert "abc" not in str(refused.value)


def test_a_model_without_a_name_is_refused() -> None:
    with pytest.raises(Misconfigured):
        ModelChoice("http://127.0.0.1:1/v1", " ")


@pytest.mark.parametrize("key", ["sk-secret-1\n", "sk-\0", "sk-\ud83d"])
def test_a_key_that_no_header_can_carry_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(Misconfigured, match="key") as caught:
        ModelChoice("http://127.0.0.1:1/v1", "model", key)
    assert "sk-" not in str(caught.value)
