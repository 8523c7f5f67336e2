"""What a diff shows of keys: how they begin at most."""

from __future__ import annotations

import pytest

from memstrata.setup.masking import masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            r'"H": "X-A: b\nx-tdai-user-key: sk-mem-abcdefgh\nX-C: d"',
            r'"H": "X-A: b\nx-tdai-user-key: sk-mem-…\nX-C: d"',
        ),
        ('x-tdai-user-key = "plain"', 'x-tdai-user-key = "…"'),
        ("X-TDAI-User-Key: plain", "X-TDAI-User-Key: …"),
        ('-    "ANTHROPIC_AUTH_TOKEN": "abc",', '-    "ANTHROPIC_AUTH_TOKEN": "…",'),
        ('+api_key = "sk-ant-0123456789"', '+api_key = "…"'),
        ('"apiKeyHelper": "echo sk-ant-api03-0123456789"', '"apiKeyHelper": "echo sk-ant-…"'),
        (r'"H": "Authorization: Bearer abc\/def\nX-Api-Key: ghi"', r'"H": "Authorization: Bearer …\nX-Api-Key: …"'),
        ('+  "model": "opus"', '+  "model": "opus"'),
        (
            '+base_url = "http://127.0.0.1:8420/codex/default/v1"',
            '+base_url = "http://127.0.0.1:8420/codex/default/v1"',
        ),
    ],
)
def test_keys_are_cut_and_nothing_else_is(text: str, shown: str) -> None:
    assert masked(text) == shown
