"""Chinese: what a user states about himself, plans, did, and asks for.

Every pattern starts at a clause's beginning, which keeps out what others are, say and like; lengths in patterns are
bounded, so reading is linear in the text. The content keeps the user's words with 我 as 用户.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memstrata.distill.rules.reading import Emphasis, Finding, Reader, Reading, Sentence
from memstrata.distill.rules.zh.corrections import correction_in
from memstrata.distill.rules.zh.facts import facts_in
from memstrata.distill.rules.zh.orders import ONE_OFF, order_told, orders_in
from memstrata.distill.rules.zh.words import DEICTIC, TIME, of_the_user, only_leads, tidied

__all__ = ["READER"]

_REMEMBERED = 80
_REMEMBER = re.compile(
    r"(?:请|麻烦|你要|你得|一定要|千万|帮我|务必|要|先)?(?:记住|记一下|记下来?|记着|记好|牢记|别忘了?|不要忘记)"
    r"(?:了|哦|喔|啊|呀|哈|一下|这一?点|这个|这件事)?[\s，,：:、]*"
)
_WHAT_WAS_SAID = re.compile(r".{0,6}(?:记住|记一下|记下来?|记着|别忘了?)(?:了|哦|啊)?(?:这个|这一?点|这件事|这些)")
_HOW_TO_ACT = re.compile(r"(?:要|不要|别|不能|先|用|把|给)")
_BARE_OUTCOME = re.compile(r"[\u4e00-\u9fff]{1,3}[完到过成定]了")
_TIME_FIRST = re.compile(rf"(?:{TIME})")


def _read(sentence: Sentence) -> tuple[Finding, ...]:
    text = tidied(sentence.text)
    said_before = _WHAT_WAS_SAID.match(text) is not None
    remember = _REMEMBER.search(text[:16])
    if remember is not None and only_leads(text[: remember.start()]):
        text = text[remember.end() :]
        if not text:
            return (Emphasis(),)
    else:
        remember = None
    findings: tuple[Finding, ...] = (Emphasis(),) if said_before else ()
    if (correction := correction_in(text)) is not None:
        return (correction,)
    if (orders := orders_in(text)) is not None:
        return (*findings, *orders)
    if sentence.supposed or ONE_OFF.search(text):
        return findings
    facts = list(facts_in(text))
    if remember is not None:
        if not facts and not said_before and not DEICTIC.match(text):
            facts = [_note(text)]
        facts = [replace(reading, priority=max(reading.priority, _REMEMBERED)) for reading in facts]
    return (*findings, *facts)


def _join(first: str, second: str) -> str | None:
    """Join a bare "跑完了！" with the sentence that says when and what: "昨天跑完了湘湖半马"."""
    bare, time = tidied(first), _TIME_FIRST.match(second)
    if time is not None and _BARE_OUTCOME.fullmatch(bare):
        return f"{time[0]}{bare}{second[time.end() :]}"
    return None


def _note(text: str) -> Reading:
    """Return what the user asked to remember although no pattern knows it."""
    if _HOW_TO_ACT.match(text):
        return order_told(text, _REMEMBERED)
    return Reading(f"用户要求记住：{of_the_user(text)}", "persona", 70)


READER = Reader("zh", _read, _join)
