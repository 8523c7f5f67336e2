"""Chinese: how a user takes something back ("不是北京，是上海"; "我之前说一周两回，其实没那么多")."""

from __future__ import annotations

import re

from memstrata.distill.rules.reading import Correction, Reading
from memstrata.distill.rules.zh.words import LEAD, of_the_user

__all__ = ["correction_in"]

_LONGEST_VALUE = 8
_FORMS = (
    re.compile(
        r"我?(?:之前|刚才|刚刚|上次|前面)(?:跟你)?[说讲提](?:的是|的|过|错了?)?是?(?P<wrong>[^，,。]{1,30})[，,]\s?"
        r"(?:其实|实际上?|应该|准确地?说|更正)(?:应该)?是?(?P<right>[^。]{1,60})"
    ),
    re.compile(r"(?:不对[，,]\s?)?不是(?P<wrong>[^，,。]{1,20})[，,]\s?而?(?:应该)?是(?P<right>[^，,。]{1,30})$"),
    re.compile(
        r"(?:不对[，,]\s?|更正[，,:：]?\s?)?(?:应该)?是(?P<right>[^，,。]{1,20})[，,]\s?而?不是(?P<wrong>[^，,。]{1,20})$"
    ),
    re.compile(
        r"(?:不对|说错了|更正(?:一下)?)[，,：:]\s?把?(?P<wrong>[^，,。]{1,20})(?:改成|应该是|应为|要改成)"
        r"(?P<right>[^，,。]{1,30})$"
    ),
)
_NO_VALUE = re.compile(r"[没不那这也就]")
_AFTERTHOUGHT = re.compile(r"[，,](?:别当真|抱歉|不好意思|说错了).*$")


def correction_in(text: str) -> Correction | Reading | None:
    """Return the exchange of one value, or a statement that takes back an earlier one as a whole."""
    for form in _FORMS:
        match = form.match(LEAD.sub("", text, count=1)) or form.match(text)
        if match is None:
            continue
        wrong, right = match["wrong"].strip(), _AFTERTHOUGHT.sub("", match["right"]).strip()
        if _NO_VALUE.match(right) or len(wrong) > _LONGEST_VALUE:
            content = f"用户之前说{of_the_user(wrong)}，其实{of_the_user(right)}"
            return Reading(content, "persona", 65, corrects=wrong)
        return Correction(wrong, right)
    return None
