"""What a key looks like, and what is kept and shown of it."""

from __future__ import annotations

import hashlib
import re

import pytest

from memstrata.directory.key_text import check_chosen_key, digest_of, mask_of, new_key
from memstrata.errors import InvalidRequest


def test_keys_are_of_the_contracts_form_and_never_the_same() -> None:
    keys = {new_key() for _ in range(200)}

    assert len(keys) == 200
    assert all(re.fullmatch(r"sk-mem-[A-Za-z0-9_-]{32}", key) for key in keys)


def test_what_is_kept_is_a_hash_of_the_whole_key() -> None:
    assert digest_of("sk-mem-密") == hashlib.sha256("sk-mem-密".encode()).digest()
    assert len(digest_of("\ud800")) == 32
    assert digest_of("") != digest_of("\0")


def test_what_is_shown_is_the_end() -> None:
    assert mask_of("sk-mem-abcdefgh") == "sk-mem-****efgh"


def test_a_chosen_key_is_taken_as_it_is() -> None:
    assert check_chosen_key("~sixteen-letters") == "~sixteen-letters"


@pytest.mark.parametrize("key", ["k" * 15, "k" * 513, "with a space 1234", "tab\there12345678", "é" * 16, "\0" * 16])
def test_a_chosen_key_that_is_short_or_fits_no_header_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequest, match="user_key"):
        check_chosen_key(key)
