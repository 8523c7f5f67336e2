"""Which language a text is in, by its script: enough to choose the language of headings and prompts.

Han characters, kana and words of spaced scripts weigh the same, because each carries about one word: "用 FastAPI
写服务" is Chinese although most of its letters are Latin. Code, paths and addresses are no language and are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from memstrata.text.scripts import ARABIC, CYRILLIC, HAN, HANGUL, HEBREW, KANA, LATIN, THAI

__all__ = ["language_of", "main_language"]

_SAMPLE_CHARACTERS = 8_000
_NOT_PROSE = re.compile(
    r"```.*?(?:```|\Z)"  # fenced code, also when the fence stays open
    r"|`[^`\n]*`"
    r"|[A-Za-z][A-Za-z0-9+.-]{1,15}://[!-~]*"
    r"|(?<![!-~])[!-~]*[/\\_@][!-~]*",  # paths, identifiers, mail addresses
    re.DOTALL,
)
_UNIT = re.compile(
    rf"(?P<zh>[{HAN}])|(?P<ja>[{KANA}])|(?P<ko>[{HANGUL}]+)|(?P<th>[{THAI}]{{1,4}})|(?P<ru>[{CYRILLIC}]+)"
    rf"|(?P<ar>[{ARABIC}]+)|(?P<he>[{HEBREW}]+)|(?P<en>[{LATIN}]+)"
)


def language_of(text: str) -> str:
    """Return "zh", "ja", "ko", "th", "ru", "ar", "he", "en", or "und" for a text without words.

    Latin script counts as English. Only the first 8,000 characters are looked at.
    """
    return _measure(text)[0]


def main_language(texts: Iterable[str], default: str = "en") -> str:
    """Return the language that most of `texts` is in, each weighing as many words as it has; `default` if there are none."""
    weights: Counter[str] = Counter()
    for text in texts:
        language, weight = _measure(text)
        weights[language] += weight
    return max(weights, key=weights.__getitem__) if weights.total() else default


def _measure(text: str) -> tuple[str, int]:
    """Return the language and how many words or characters of it were seen."""
    prose = _NOT_PROSE.sub(" ", text[:_SAMPLE_CHARACTERS])
    counts = Counter(unit.lastgroup for unit in _UNIT.finditer(prose) if unit.lastgroup)
    # A の on a Chinese signboard makes no Japanese; Japanese prose is a third kana or more.
    han, kana = counts.pop("zh", 0), counts.pop("ja", 0)
    counts["ja" if kana and 10 * kana >= han else "zh"] = han + kana
    # English words are quoted in every language, so a draw goes to the other one.
    language = max(counts, key=lambda name: (counts[name], name != "en"))
    return (language, counts[language]) if counts[language] else ("und", 0)
