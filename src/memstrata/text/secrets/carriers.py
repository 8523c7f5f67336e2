"""Secrets that a notation carries: the password of a URL, an Authorization header, a connection string, a command line.

What stands around the secret stays: whose account it is and where is worth remembering.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from memstrata.text.secrets.place import Place
from memstrata.text.secrets.values import is_code, is_example, is_mixed, is_random

__all__ = ["carried"]

# A password may hold `@`: the last one before the path ends it.
_URL = re.compile(r"""://([^\s/:@?#"'<>`]{0,128}):([^\s/?"'<>`]{1,256})@(?=[\w\[])""")
_URL_TOKEN = re.compile(r"""://([A-Za-z0-9_.~-]{20,256})@(?=[\w\[])""")
_AUTHORIZATION = re.compile(
    r"""(?ix)\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:bearer|basic|token|apikey|api-key|bot|digest)\s{1,3})?
    ([A-Za-z0-9._~+/=:-]{8,}+)"""
)
_BEARER = re.compile(r"(?i)\bbearer\s{1,3}([A-Za-z0-9._~+/=-]{12,}+)")
_ACCOUNT_KEY = re.compile(r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=([A-Za-z0-9+/]{20,}+={0,2})")
_SIGNATURE = re.compile(r"(?i)[?&;](?:sig|x-amz-signature|x-amz-security-token)=([A-Za-z0-9%+/=_-]{20,}+)")
_CURL_USER = re.compile(r"""\s(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"']{4,128})""")
_OPTION = re.compile(
    r"""(?x)(?<![\w-])--?(?:password|passwd|pass|passphrase|token|secret|api-?key|auth-?token|access-?token|client-?secret)
    \s{1,2}["']?([^\s"'-][^\s"']{3,200})"""
)
_SQL = re.compile(
    r"""(?ix)\b(?:identified\s{1,3}(?:with\s{1,3}\w{1,40}\s{1,3})?by|(?:with|encrypted)\s{1,3}password)\s{1,3}'([^'\n]{1,128})'"""
)


def carried(text: str) -> Iterator[Place]:
    """Yield the secrets alone, without what carries them."""
    lower = text.lower()
    if "://" in text and "@" in text:
        yield from _of(_URL, text, "url_password", 2, lambda value: not is_example(value))
        yield from _of(_URL_TOKEN, text, "url_password", 1, lambda value: is_random(value, least=20))
    if "authorization" in lower:
        yield from _of(_AUTHORIZATION, text, "authorization", 1, lambda value: is_mixed(value) or len(value) >= 24)
    if "bearer" in lower:
        yield from _of(_BEARER, text, "authorization", 1, is_random)
    if "AccountKey=" in text or "SharedAccessKey=" in text or "SharedSecretValue=" in text:
        yield from _of(_ACCOUNT_KEY, text, "azure_secret", 1, is_mixed)
    if "sig=" in lower or "x-amz-" in lower:
        yield from _of(_SIGNATURE, text, "signature", 1, is_mixed)
    if " -u" in text or "--user" in text:
        yield from _of(_CURL_USER, text, "password", 1, lambda value: not (is_example(value) or value.isdigit()))
    if "-" in text:
        yield from _of(_OPTION, text, "password", 1, _is_argument)
    if "identified" in lower or "password" in lower:
        yield from _of(_SQL, text, "password", 1, lambda value: not is_example(value))


def _is_argument(value: str) -> bool:
    return is_mixed(value) and not (is_example(value) or is_code(value))


def _of(pattern: re.Pattern[str], text: str, kind: str, group: int, holds: Callable[[str], bool]) -> Iterator[Place]:
    for match in pattern.finditer(text):
        if holds(match[group]):
            yield Place(match.start(group), match.end(group), kind)
