"""Keys that are known by their shape alone: the marks that providers put on them so that they can be found.

Each pattern is tried only where its mark stands in the text. Runs are matched possessively and begin at a boundary, so a
pass is linear whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memstrata.text.secrets.place import Place
from memstrata.text.secrets.values import is_mixed, longest_run

__all__ = ["keys"]

_EDGE = r"(?<![A-Za-z0-9_-])"
_WORD = r"[A-Za-z0-9_-]"


def _always(_value: str) -> bool:
    return True


def _is_random(value: str) -> bool:
    """Say whether a value with a common mark is a key: a name like `sk-loading-circle-2` is made of short words."""
    run = longest_run(value)
    return len(run) >= 16 and is_mixed(run)


@dataclass(frozen=True, slots=True)
class _Shape:
    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = _always


def _shape(kind: str, marks: str, pattern: str, holds: Callable[[str], bool] = _always) -> _Shape:
    return _Shape(kind, tuple(marks.split()), re.compile(_EDGE + pattern), holds)


_SHAPES = (
    _shape("memstrata_key", "sk-mem-", rf"sk-mem-{_WORD}{{16,}}+"),
    _shape("anthropic_key", "sk-ant-", rf"sk-ant-{_WORD}{{16,}}+"),
    _shape("openai_key", "sk-", rf"sk-(?!mem-|ant-){_WORD}{{20,}}+", _is_random),
    _shape("aws_access_key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9_])"),
    _shape("tencent_key", "AKID", r"AKID[A-Za-z0-9]{28,}+", is_mixed),
    _shape("alibaba_key", "LTAI", r"LTAI[A-Za-z0-9]{12,}+", is_mixed),
    _shape("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    _shape("github_token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}+"),
    _shape("gitlab_token", "gl", rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|oas)-{_WORD}{{20,}}+"),
    _shape("slack_token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,}+", is_mixed),
    _shape("slack_token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}+"),
    _shape("google_key", "AIza", rf"AIza{_WORD}{{30,}}+"),
    _shape("google_key", "GOCSPX-", rf"GOCSPX-{_WORD}{{20,}}+"),
    _shape("google_key", "ya29.", r"ya29\.[A-Za-z0-9_.-]{20,}+"),
    _shape("azure_secret", "Q~", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}+"),
    _shape("stripe_key", "_live_ _test_", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}+"),
    _shape("stripe_key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    _shape("huggingface_token", "hf_", r"hf_[A-Za-z0-9]{30,}+"),
    _shape("npm_token", "npm_", r"npm_[A-Za-z0-9]{36,}+"),
    _shape("pypi_token", "pypi-", rf"pypi-{_WORD}{{32,}}+", _is_random),
    _shape("telegram_token", ":AA", rf"[0-9]{{8,10}}:AA{_WORD}{{32,}}+"),
    _shape("jwt", "eyJ", rf"eyJ{_WORD}{{10,}}+\.eyJ{_WORD}{{8,}}+(?:\.{_WORD}*+)?"),
    _shape("sendgrid_key", "SG.", rf"SG\.{_WORD}{{16,}}+\.{_WORD}{{16,}}+"),
    _shape("digitalocean_token", "_v1_", r"do[opr]_v1_[a-f0-9]{40,}+"),
    _shape("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}+"),
    _shape("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{32,}+"),
    _shape("xai_key", "xai-", r"xai-[A-Za-z0-9]{32,}+"),
    _shape("replicate_token", "r8_", r"r8_[A-Za-z0-9]{32,}+"),
    _shape("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{32,}+"),
    _shape("atlassian_token", "ATATT3", rf"ATATT3{_WORD}{{40,}}+=?[A-Z0-9]*+"),
    _shape("linear_key", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}+"),
    _shape("databricks_token", "dapi", r"dapi[a-f0-9]{32}(?![a-f0-9])"),
    _shape("age_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{40,}+"),
    _shape(
        "slack_webhook", "hooks.slack.com", r"hooks\.slack\.com/services/[A-Z0-9]{6,}+/[A-Z0-9]{6,}+/[A-Za-z0-9]{16,}+"
    ),
)
_ANY_MARK = re.compile("|".join(re.escape(mark) for shape in _SHAPES for mark in shape.marks))
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_AWS_PAIR = 160  # characters after an access key in which its secret is looked for


def keys(text: str) -> Iterator[Place]:
    """Yield the keys that stand in a text."""
    if _ANY_MARK.search(text) is None:
        return
    for shape in _SHAPES:
        if not any(mark in text for mark in shape.marks):
            continue
        for match in shape.pattern.finditer(text):
            if shape.holds(match[0]):
                yield Place(match.start(), match.end(), shape.kind)
                if shape.kind == "aws_access_key":
                    yield from _secret_beside(text, match.end())


def _secret_beside(text: str, start: int) -> Iterator[Place]:
    """Yield the secret that belongs to an access key: it has no mark, but stands beside it."""
    for match in _AWS_SECRET.finditer(text, start, start + _AWS_PAIR):
        if is_mixed(match[0]) and match[0].lower() != match[0]:
            yield Place(match.start(), match.end(), "aws_secret_key")
