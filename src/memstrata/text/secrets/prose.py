"""Passwords that somebody tells in a sentence: English, Chinese, Japanese, Korean.

A keyword, few words between, a verb, and then what could be the secret: one word of ASCII, since that is what passwords
are typed in. A plain word after the verb is a remark about the password far more often than the password, unless it is
quoted, or stands alone in a Chinese or Japanese sentence. What lies between keyword and verb is a list of what may lie
there, so that 密码学, 密码长度 and "password policy" do not begin such a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secrets.place import Place
from memstrata.text.secrets.values import is_code, is_example, is_mixed, is_password, is_random

__all__ = ["told"]

_QUOTES = r"""["'“”‘’「『《`*]{0,3}"""
_VALUE = rf"(?P<open>{_QUOTES})(?P<value>[!#-&(-_a-~]{{3,128}})"
_EN = re.compile(
    rf"""(?ix)\b(?:
      (?P<password> password | passcode | passphrase | pass\s phrase | passwd | pwd | login\s code | door\s code | alarm\s code)
      | (?P<pin> (?:my|your|his|her|our|card|bank|door|alarm|sim|phone|atm|debit|credit|unlock|the)\s
        pin(?:\s (?:code|number))?)
      | (?P<key> api\s?key | secret\s?key | access\s?key | access\s?token | auth\s?token | api\s?token | secret | token
        | private\s?key)
    )
    (?:\s{{1,2}}(?:for|to|of|on|at|in)(?:\s{{1,2}}[^\s,.;:!?]{{1,30}}){{1,6}}?)?
    \s{{1,2}}(?:is|was|are|will\s be|=|(?:has\s been\s|was\s|is\s|got\s)?(?:changed|set|reset|updated)\s to)
    (?:\s (?:now|still|just|currently|always|again|simply))?\s{{0,2}}:?\s{{1,2}}{_VALUE}"""
)
_EN_CHANGE = re.compile(
    rf"""(?ix)\b(?:changed?|set|reset|updated?)\s(?:my|the|our|your|his|her|its|their)\s(?:[\w'-]{{1,30}}\s){{0,4}}?
    (?P<password>password|passcode|passphrase|pin)\s(?:from\s\S{{4,64}}\s)?to\s{_VALUE}"""
)
_EN_USE = re.compile(
    rf"""(?ix)\b(?:(?:log\s?in|sign\s?in|logged\s in|connect)\s(?:\S{{1,40}}\s){{0,6}}?)?(?:with|using|use|and|,)\s
    (?:the\s|my\s)?(?P<password>password|passcode|passphrase|pwd)\s{_VALUE}"""
)
_HAN_KEY = r"密\s?码|口令|密钥|秘钥|令牌|暗号|通行码|PIN\s?码|密碼|金鑰|通關密語|(?:api|secret|access)[ \t_-]?key|token"
_HAN_GAP = (
    r"现在|目前|现|还|仍然|仍|已经|已|都|也|就|又|统一|暂时|默认|临时|初始|刚刚|剛|被|给你|的话|了"
    r"|应该|可能|好像|我|现時|現在|已經|還"
)
_HAN_VERB = r"""从\s?(?P<old>[!-~]{4,64}?)\s?(?:改成了?|换成了?|改为|变成了?)|是[:：]?|为[:：]?|為|就是[:：]?|叫
    |改成了?|改为|改為|换成了?|換成了?|设成了?|設成|设为|设置为|设置成|设的是|变成了?|[:：=]|\s{1,2}|(?=[A-Za-z0-9])"""
_ZH = re.compile(rf"(?ix)(?P<word>{_HAN_KEY})[ \t]?(?:(?:{_HAN_GAP}){{0,4}})(?P<verb>{_HAN_VERB})[ \t]{{0,2}}{_VALUE}")
_ZH_PHRASE = re.compile(
    r"(?:口令|暗号|通关密语|密语)(?:就)?(?:是|为|：|:)\s{0,2}[“「『\"](?P<value>[\u4e00-\u9fff]{3,20})[”」』\"]"
)
_JA_KEY = r"""パスワード|パスフレーズ|パスコード|暗証番号|合言葉|合い言葉|API\s?キー|シークレットキー|シークレット
    |アクセストークン|トークン|秘密鍵"""
_JA = re.compile(
    rf"""(?ix)(?P<word>{_JA_KEY})(?:(?:も|は今|は現在|は、)?)
    (?P<verb>は、?|を|が|：|:|=|＝|も|\s{{1,2}}|(?=[A-Za-z0-9]))[ \t　]{{0,2}}{_VALUE}"""
)
_KO = re.compile(
    rf"""(?ix)(?P<word>비밀번호|패스워드|암호|비번|API\s?키|토큰)
    (?P<verb>는|은|가|이|를|을|[:：=]|\s{{1,2}})[ \t]{{0,2}}{_VALUE}"""
)
_TRAILING = re.compile(r"""[.,;:?)\]}>"'`*]+\Z""")
_ENDS_HERE = re.compile(
    r"""["'”’」』》`*]{0,3}\s{0,2}(?:$|[\n。，,.！!？?；;、)）]|です|だよ|だ[。\n]|でした|に(?:変|し|設)|입니다|이야|예요|이에요)"""
)
_EN_MARKS = ("pass", "pwd", "pin", "key", "token", "code", "secret")
_ZH_MARKS = ("码", "口令", "密钥", "秘钥", "令牌", "暗号", "密碼", "金鑰", "通關", "密语")
_ZH_VERBS = ("是", "为", "為", "：")
_JA_MARKS = ("パス", "暗証", "合", "キー", "トークン", "シークレット", "秘密鍵")
_KO_MARKS = ("비", "패스", "암호", "키", "토큰")
_NO_VERB = re.compile(r"\s{0,2}")
_KEY_WORDS = re.compile(r"(?i)密钥|秘钥|令牌|金鑰|key|token|キー|トークン|シークレット|秘密鍵|키|토큰")


def told(text: str) -> Iterator[Place]:
    """Yield the secrets that a sentence tells."""
    lower = text.lower()
    if _any(_EN_MARKS, lower):
        yield from _english(text)
    if text.isascii():
        return
    if _any(_ZH_MARKS, text) or (_any(_ZH_VERBS, text) and _any(("key", "token"), lower)):
        yield from _eastern(_ZH, text)
        for match in _ZH_PHRASE.finditer(text):
            yield Place(*match.span("value"), "password")
    if _any(_JA_MARKS, text):
        yield from _eastern(_JA, text)
    if _any(_KO_MARKS, text):
        yield from _eastern(_KO, text)


def _any(marks: tuple[str, ...], text: str) -> bool:
    return any(mark in text for mark in marks)


def _english(text: str) -> Iterator[Place]:
    for pattern in (_EN, _EN_CHANGE, _EN_USE):
        for match in pattern.finditer(text):
            value = _trimmed(match)
            named = {name for name, found in match.groupdict().items() if found}
            if "pin" in named:
                holds, kind = value.isdigit() and 4 <= len(value) <= 8, "pin"
            elif "key" in named:
                holds, kind = is_random(value, least=12) and not is_code(value), "token"
            elif match["open"]:
                holds, kind = len(value) >= 4 and not is_example(value), "password"
            else:
                holds, kind = is_password(value) and not is_code(value), "password"
            if holds:
                yield _place(match, value, kind)


def _eastern(pattern: re.Pattern[str], text: str) -> Iterator[Place]:
    for match in pattern.finditer(text):
        if (old := match.groupdict().get("old")) is not None and is_password(old):
            yield Place(*match.span("old"), "password")
        value = _trimmed(match)
        is_key = bool(_KEY_WORDS.search(match["word"]))
        kind = "token" if is_key else "password"
        if is_key:
            holds = is_random(value) and not is_code(value)
        elif match["open"].strip("* "):
            holds = len(value) >= 4 and not is_example(value)
        elif _NO_VERB.fullmatch(match["verb"]):  # nothing says that it is the password
            holds = len(value) >= 6 and is_password(value) and (is_mixed(value) or value.isdigit())
        else:
            after = _ENDS_HERE.match(text, match.start("value") + len(value))
            is_word = value.isalpha() and len(value) >= 4 and not is_example(value)
            holds = is_password(value) or (is_word and after is not None and value.isascii())
        if holds and not is_code(value):
            yield _place(match, value, kind)


def _trimmed(match: re.Match[str]) -> str:
    return _TRAILING.sub("", match["value"])


def _place(match: re.Match[str], value: str, kind: str) -> Place:
    start = match.start("value")
    return Place(start, start + len(value), kind)
