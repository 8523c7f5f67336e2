"""From a message to the sentences in which its author may state something.

Left out before any pattern looks: code, logs, quoted lines and tables, questions, and text that was only handed over to
be worked on ("translate this: …"). Quoted speech stays inside the sentence around it, so that a pattern which starts at
the sentence's beginning cannot take it for the user's own word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.distill.gate import readable
from memstrata.distill.rules.reading import Sentence

__all__ = ["MAX_SENTENCES", "MAX_SENTENCE_LENGTH", "sentences"]

MAX_SENTENCES = 120
"""Sentences looked at in one message; nobody states more about himself in one go, and it bounds the work."""

MAX_SENTENCE_LENGTH = 400
"""Code points. A longer stretch without an end is a paste, not a statement."""

_CLOSING = {"“": "”", '"': '"', "「": "」", "『": "』", "«": "»", "‘": "’", "（": "）", "(": ")"}
_ENDS = "。．！!？?…"
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|no|vs|etc|e\.g|i\.e|approx|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
    r"|[a-z](?:\.[a-z])*)$",
    re.IGNORECASE,
)

_BULLET = re.compile(r"\s*(?:[-*•·+]\s+|\(?\d{1,2}[.)、]\s*|[①-⑳]\s*)")
_NOT_PROSE = re.compile(
    r"\s*(?:[>|{}<]|\[\s*[\[{\"]|#!|//|/\*|\$ "
    r"|(?:import|from|def|class|function|const|let|var|return|SELECT|INSERT)\s.*[;({=:]\s*$)"
    r"|.*(?:[;{}]|=>|\)\s*:)\s*$"
)

_WORKED_ON = (
    r"(?:translat\w*|rewrite|rephrase|paraphrase|proofread|summari[sz]e|polish|improve|shorten|write|draft|compose|edit"
    r"|correct)"
)
_WORKED_ON_HAN = r"(?:翻译|改写|润色|校对|总结|概括|缩写|扩写|续写|仿写|修改|译成|翻成|写一[封篇段首]|翻譯|潤色)"
_HANDED_OVER = re.compile(
    rf"^\s*(?:please |can you |could you |help me )?{_WORKED_ON}\b[^\n:]{{0,100}}(?::|\b(?:below|following)\b[^\n]*$)"
    rf"|(?:^|(?<=[。，,！!]))\s*(?:请|請|麻烦|可以|能不能)?(?:帮我|帮忙)?(?:把[^\n：:，,]{{0,24}}?)?{_WORKED_ON_HAN}[^\n：:]{{0,60}}[:：]"
    r"|\b(?:the|this) (?:following )?(?:text|email|e-mail|letter|paragraph|sentence|essay|story|article|message|log|poem)\b"
    r"[^\n:]{0,40}:"
    r"|(?:以下|下面|下列|如下)[^\n：:]{0,24}(?:内容|文字|文章|邮件|日志|段落|代码|句子|对话|这段|这句)"
    r"[^\n：:]{0,24}(?:[:：]|$)"
    r"|(?:翻訳|訳して|添削|要約|校正|書き直)[^\n：:]{0,40}(?:[:：]|$)",
    re.IGNORECASE | re.MULTILINE,
)

_QUESTION = re.compile(
    r"(?:吗|嗎|么|麼)[。．.!！…~～\s]*$"
    r"|(?<!没)(?<!无论)(?<!不管)(?:什么|什麼)(?!都|也|的都)|哪里|哪儿|哪个|哪家|哪些|谁(?!都)"
    r"|(?<!不管)(?<!无论)怎么(?!也|都|样都)|为什么|多少钱"
    r"|是不是|有没有|能不能|会不会|要不要|可不可以|好不好|对不对|行不行|还记得我|知道我"
    r"|(?:です|ます|でした|ました|でしょう|だろう|の|ない)か[。．.!！\s]*$|かな[。\s]*$|かしら[。\s]*$"
    r"|(?:까|나요|가요|니)[.\s]*$"
)

_SUPPOSED = re.compile(
    r"(?:and |but |so |well,? |just )?(?:if|suppose|supposing|imagine|assume|assuming|let's say|what if|pretend"
    r"|hypothetically"
    r"|in theory|unless|when|whenever|every time|each time)\b"
    r"|(?:那|那么|比如说?)?(?:如果|假如|假设|要是|倘若|万一|设想|想象|假装|就算|即使|哪怕|当我|每当|每次)"
    r"|もし|仮に|たとえば|例えば|만약|만일|если\b|si (?:yo )?\w+(?:ara|iera|ase|iese)\b",
    re.IGNORECASE,
)
_SUPPOSED_INSIDE = re.compile(r"(?:としたら|だったら|であれば|なら)、")


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a message that may state something, at most MAX_SENTENCES."""
    seen = 0
    for line in _own_words(readable(text)).split("\n"):
        if _NOT_PROSE.match(line):
            continue
        bullet = _BULLET.match(line)
        for sentence in _split(line[bullet.end() :] if bullet else line):
            if seen == MAX_SENTENCES:
                return
            seen += 1
            if len(sentence) <= MAX_SENTENCE_LENGTH and not _is_question(sentence):
                supposed = bool(_SUPPOSED.match(sentence) or _SUPPOSED_INSIDE.search(sentence))
                yield Sentence(sentence, supposed)


def _own_words(text: str) -> str:
    """Return `text` up to where the user hands over something to be worked on."""
    handed_over = _HANDED_OVER.search(text)
    return text[: handed_over.start()] if handed_over else text


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \t\"'”」』)）~～").endswith(("?", "？")) or _QUESTION.search(sentence) is not None


def _split(line: str) -> Iterator[str]:
    """Yield the sentences of one line, ends kept. Quotes and brackets that close on the line hold together."""
    start = position = 0
    unclosed: set[str] = set()
    while position < len(line):
        character = line[position]
        closing = _CLOSING.get(character)
        if closing is not None and closing not in unclosed:
            end = line.find(closing, position + 1)
            if end < 0:
                unclosed.add(closing)
            else:
                position = end
        elif (
            character in _ENDS
            or (_EMOJI.match(character) and line[position + 1 : position + 2].isspace())
            or (character == "." and _ends_a_sentence(line, start, position))
        ):
            while position + 1 < len(line) and line[position + 1] in _ENDS + '.”"」』）)~～':
                position += 1
            if sentence := line[start : position + 1].strip():
                yield sentence
            start = position + 1
        position += 1
    if rest := line[start:].strip():
        yield rest


def _ends_a_sentence(line: str, start: int, position: int) -> bool:
    following = line[position + 1 : position + 2]
    if following and not following.isspace():
        return False
    return not following or _ABBREVIATION.search(line[max(start, position - 12) : position]) is None
