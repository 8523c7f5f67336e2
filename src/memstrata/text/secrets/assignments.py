"""Secrets that are assigned to a name: env lines, JSON, YAML, code, headers, form fields.

How much a value must look like a secret depends on the name before it: after `api_key` anything mixed is one, after
`token` or `secret`, which are words of other trades too, only what looks drawn by lot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secrets.place import Place
from memstrata.text.secrets.values import is_code, is_example, is_mixed, is_password, is_random

__all__ = ["assigned"]

_NAMES = re.compile(
    r"""(?ix)
    (?P<password> passwd | password | passphrase | passcode | (?<![a-z])pwd | (?<![a-z])pass(?=["']?[ ]?[:=]))
    | (?P<key> api[-_ ]?key | secret[-_ ]?(?:access[-_ ]?)?key | access[-_ ]?key(?:[-_ ]?secret)? | client[-_ ]?secret
        | app[-_ ]?secret | private[-_ ]?key | signing[-_ ]?key | encryption[-_ ]?key | auth[-_ ]?key | license[-_ ]?key
        | (?:auth|access|refresh|bot|api|session|id|personal[-_ ]access|deploy|bearer)[-_ ]?token | webhook[-_ ]?secret)
    | (?P<word> (?<![a-z])secret | (?<=[a-z_])secret | token | credentials? | 密钥 | 秘钥 | 令牌)
    """
)
_SEPARATOR = re.compile(r"""["'\]`]{0,2}[ \t]{0,3}(?P<sign>:=|=>|={1,2}|:|：)[ \t]{0,3}""")
_QUOTED = re.compile(r"""(?:[rbfu]{0,2})(?P<quote>\\?["'`])(?P<value>[^"'`\n\\]{1,256})(?P=quote)""")
_BARE = re.compile(r"""[^\s"'`,;&<>|\u3000-\u303f\u4e00-\u9fff\u3040-\u30ff\uff00-\uffef]{4,256}""")
_MARKS = ("pass", "pwd", "key", "secret", "token", "credential", "密钥", "秘钥", "令牌")
_TRAILING = ".,;:?)]}>"
_WORDS = re.compile(r"\w+(?: [\w'-]+){3,}")
_LABEL = re.compile(r"(?i)pass|enter|your|must|should|type|choose|required|forgot|please|the |密码|パスワード")


def assigned(text: str) -> Iterator[Place]:
    """Yield the values, without the names."""
    lower = text.lower()
    if not any(mark in lower for mark in _MARKS):
        return
    for name in _NAMES.finditer(text):
        separator = _SEPARATOR.match(text, name.end())
        if separator is None:
            continue
        kind = name.lastgroup or ""
        quoted = _QUOTED.match(text, separator.end())
        if quoted is not None:
            if _quoted_holds(kind, name[0], quoted["value"]):
                yield Place(*quoted.span("value"), _KINDS[kind])
            continue
        bare = _BARE.match(text, separator.end())
        if bare is None:
            continue
        value = bare[0].rstrip(_TRAILING)
        is_env = name[0].isupper() and separator[0] == "="
        if _bare_holds(kind, value, is_env=is_env):
            yield Place(bare.start(), bare.start() + len(value), _KINDS[kind])


_KINDS = {"password": "password", "key": "api_key", "word": "token"}


def _quoted_holds(kind: str, name: str, value: str) -> bool:
    if len(value) < 4 or is_example(value):
        return False
    if " " in value:
        return (
            kind == "password"
            and "phrase" in name.lower()
            and bool(_WORDS.fullmatch(value))
            and not _LABEL.search(value)
        )
    match kind:
        case "password":
            return (value.isascii() and not _LABEL.search(value)) or is_password(value)
        case "key":
            return value.isascii() and len(value) >= 8 and is_mixed(value)
        case _:
            return value.isascii() and is_random(value, least=12)


def _bare_holds(kind: str, value: str, *, is_env: bool) -> bool:
    if len(value) < 4 or is_example(value) or is_code(value):
        return False
    match kind:
        case "password":
            return is_password(value) or (is_env and value.isascii() and value.isalpha())
        case "key":
            return len(value) >= 8 and is_mixed(value) and (is_random(value) or not _is_compound(value))
        case _:
            return is_random(value, least=12)


def _is_compound(value: str) -> bool:
    """Say whether a value is a name of words and a number, as `primary-v2` is."""
    return bool(re.fullmatch(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*[-_./]?[vV]?[0-9]{0,3}", value))
