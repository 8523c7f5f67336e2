"""Whether a word that stands where a secret would stand is one: what examples, names in code and plain words look like.

Only asked beside a keyword; nothing here would be enough by itself, since hashes, ids and order numbers are as random.
"""

from __future__ import annotations

import re

__all__ = ["is_code", "is_example", "is_mixed", "is_password", "is_random", "longest_run"]

_RUN = re.compile(r"[A-Za-z0-9]+")
_EXAMPLE = re.compile(
    r"""(?ix)
    [*•●xX#.…_?-]{3,} | \[.* | <.* | \$.* | \{.* | %[A-Z_]+%? | @.* | \(.* | &.*
    | (?:your|my|the|our|some|any|new|old|insert|enter|type)[-_ ].*
    | change[-_]?(?:me|it).* | replace[-_]?me.* | example.* | sample.* | placeholder.* | dummy.* | redacted.*
    | none | null | nil | true | false | yes | no | on | off | undefined | nan | void
    | required | optional | string | str | text | bool(?:ean)? | int(?:eger)? | number | any | object | bytes | varchar.*
    | (?:db_|user_|root_|admin_)?(?:password|passwd|pass|pwd|secret|token|key|api[-_]?key|passphrase|credentials?|pin)s?
    | todo | tbd | n/?a | hidden | masked | hashed | encrypted | process\.env.* | os\.(?:environ|getenv).* | env[.:(\[].*
    """
)
# Names of how secrets are made or carried; they follow the same words as secrets do.
_TERM = re.compile(
    r"""(?ix)
    (?: md ?[2-6] | sha[-_]?[0-9]{1,3}(?:[-_/][0-9]{3})? | bcrypt | scrypt | argon2(?:id|i|d)? | pbkdf2(?:[-_].*)?
    | hmac(?:[-_].*)? | aes(?:[-_]?[0-9]{3})?(?:[-_][a-z0-9]+)* | rsa[-_]?[0-9]{0,4} | ecdsa | ed25519 | x25519 | secp256k1
    | des | 3des | rc4 | chacha20.* | jwt | oauth ?[12]?(?:\.[0-9])? | oidc | saml[0-9.]* | totp | hotp | 2fa | mfa | fido2
    | u2f | webauthn | ldap | ssh | tls | ssl | base(?:16|32|58|62|64)(?:url)? | utf-?(?:8|16) | ascii | unicode | hex
    | uuid[-_]?v?[0-9]? | guid | url | json | html | http | https | api | i18n | l10n | k8s | s3 | win(?:dows)?[0-9]*
    | ios[0-9]* | v[0-9.]+ | p[0-9]{1,2} | gpt-?[0-9].* | wi-?fi | app | web | id
    | [0-9]+[-_ ]?(?:bits?|bytes?|chars?|characters?|digits?|letters?|words?|days?|hours?|minutes?|mins?|secs?|seconds?
      | s|ms|h|d|kb|mb|gb|k|m|b|st|nd|rd|th|x|times|weeks?|months?|years?)
    | [0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}.* | [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})? | [0-9]{1,4}[-–][0-9]{1,4}
    )"""
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CODE_MARKS = ("(", "[", "{", "->", "=>", "::")
_PATH = re.compile(
    r"(?:~?/|\.{1,2}/|[A-Za-z]:\\|file:|https?://|[\w-]+\.(?:pem|key|txt|json|ya?ml|env|py|js|ts|md|crt|toml)$)"
)
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")
_LONGEST_EXAMPLE = 64
_LONGEST_TERM = 40
_SPOKEN_SYMBOL = re.compile(r"[@#$%^&*!~+=]")
_CHANGES = re.compile(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])")


def longest_run(value: str) -> str:
    """Return the longest run of letters and digits."""
    return max(_RUN.findall(value), key=len, default="")


def is_mixed(value: str) -> bool:
    """Say whether letters and digits both stand in a value."""
    return bool(_DIGIT.search(value) and _LETTER.search(value))


def is_example(value: str) -> bool:
    """Say whether a value only shows where a secret would stand, or is code that fetches it from somewhere."""
    if len(value) <= _LONGEST_TERM and _TERM.fullmatch(value):
        return True
    return bool(_EXAMPLE.fullmatch(value[:_LONGEST_EXAMPLE]) or _PATH.match(value))


def is_code(value: str) -> bool:
    """Say whether a bare value is an expression."""
    return any(mark in value for mark in _CODE_MARKS) or bool(_DOTTED.fullmatch(value))


def is_password(value: str, *, digits: int = 4) -> bool:
    """Say whether a value that is said to be a password is one: no plain word, nor a number that is too short for one.

    A plain word is more often a remark about the password ("wrong", "expired") than the password.
    """
    if len(value) < 4 or is_example(value):
        return False
    if value.isdigit():
        return digits <= len(value) <= 16
    if is_mixed(value):
        return True
    has_symbol = bool(_LETTER.search(value) and _SPOKEN_SYMBOL.search(value.rstrip("!?*~")))
    return has_symbol or value.count("-") >= 3


def is_random(value: str, *, least: int = 8) -> bool:
    """Say whether a value that is said to be a key or a token looks drawn by lot: changes of kind within its runs.

    `least` is its least length. Hexadecimal and long mixed runs count; `my-app-v2` does not.
    """
    if len(value) < least or is_example(value) or not is_mixed(value):
        return False
    run = longest_run(value)
    return len(run) >= 16 or len(_CHANGES.findall(value)) >= 3
