"""Dates in Chinese and Japanese words: their calendar words are close enough for one table."""

from __future__ import annotations

import re
from datetime import date, timedelta

from memstrata.text.dates.days import (
    Days,
    Form,
    Tense,
    month_from,
    month_of,
    moved,
    nearest,
    one_day,
    week_of,
    weekday_at,
    year_of,
)

__all__ = ["FORMS", "NUMBER", "number"]

_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2, "十": 10}
NUMBER = r"(?:\d{1,3}|[一二两兩三四五六七八九十]{1,3})"
_DAYS = {
    "大前天": -3,
    "前天": -2,
    "一昨日": -2,
    "おととい": -2,
    "昨天": -1,
    "昨晚": -1,
    "昨日": -1,
    "昨夜": -1,
    "きのう": -1,
    "今天": 0,
    "今晚": 0,
    "今早": 0,
    "今日": 0,
    "本日": 0,
    "今朝": 0,
    "明天": 1,
    "明晚": 1,
    "明日": 1,
    "あした": 1,
    "后天": 2,
    "後天": 2,
    "明後日": 2,
    "大后天": 3,
}
_YEARS = {"前年": -2, "一昨年": -2, "去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1, "後年": 2, "后年": 2}
_TURNS = {
    "上上": -2,
    "上": -1,
    "先": -1,
    "这": 0,
    "這": 0,
    "本": 0,
    "今": 0,
    "下": 1,
    "来": 1,
    "下下": 2,
    "再来": 2,
}
_WEEKDAYS = {name: number for number, name in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_WEEKDAYS |= {name: number for number, name in enumerate("月火水木金土")}
_UNITS = {
    "天": "day",
    "日": "day",
    "周": "week",
    "星期": "week",
    "礼拜": "week",
    "週": "week",
    "週間": "week",
    "年": "year",
}
_NOT_EVERY = r"(?<![每毎])(?<![每毎]年)(?<![每毎]个)"


def number(text: str) -> int:
    """Return the number that `NUMBER` matched. Raises ValueError for digits that make none: 三五 is "three to five"."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.partition("十")
    if ten and (tens in _DIGITS or not tens) and (ones in _DIGITS or not ones):
        return _DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0)
    if text in _DIGITS:
        return _DIGITS[text]
    raise ValueError(f"{text} is no number")


def _written(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return _within_year(int(match["year"]), match)


def _year_word(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return _within_year(today.year + _YEARS[match["word"]], match)


def _within_year(year: int, match: re.Match[str]) -> Days:
    if not match["month"]:
        return year_of(year)
    month = number(match["month"])
    return one_day(date(year, month, number(match["day"]))) if match["day"] else month_of(year, month)


def _date(match: re.Match[str], today: date, tense: Tense | None) -> Days | None:
    return nearest(lambda year: _within_year(year, match), today, tense)


def _month_turn(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    days = month_from(today, _TURNS[match["turn"]])
    return one_day(days.first.replace(day=number(match["day"]))) if match["day"] else days


def _week_turn(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    days = week_of(today + timedelta(weeks=_TURNS[match["turn"]]))
    if not match["weekday"]:
        return days
    first = days.first + timedelta(days=_WEEKDAYS[match["weekday"]])
    return Days(first, days.last) if match["weekday"] == "末" else one_day(first)


def _distance(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    sign = -1 if "前" in match["way"] else 1
    unit = "month" if "月" in match["unit"] else _UNITS[match["unit"]]
    return moved(today, sign * number(match["count"]), unit)


_MONTH = rf"(?P<month>{NUMBER})月(?:份)?(?:(?P<day>{NUMBER})[日号號])?"
FORMS = (
    Form(re.compile(rf"(?P<year>(?:19|20)\d\d)\s?年(?:\s?{_MONTH})?"), _written, explicit=True),
    Form(
        re.compile(rf"(?P<word>{'|'.join(sorted(_YEARS, key=len, reverse=True))})の?(?:{_MONTH})?"),
        _year_word,
    ),
    Form(re.compile(rf"{_NOT_EVERY}(?<![\d个個ヶか年上下本这月]){_MONTH}(?![前后後内间間])"), _date),
    Form(
        re.compile("|".join(sorted(_DAYS, key=len, reverse=True))),
        lambda match, today, tense: moved(today, _DAYS[match[0]], "day"),
    ),
    Form(
        re.compile(rf"(?P<turn>上上|下下|再来|[上这這本下先今来])[个個]?月(?:の?(?P<day>{NUMBER})[日号號])?(?![份球])"),
        _month_turn,
    ),
    Form(
        re.compile(
            r"(?P<turn>上上|下下|再来|[上这這本下先今来])[个個]?(?:周|星期|礼拜|週)(?:の?(?P<weekday>[一二三四五六日天末月火水木金土])(?:曜日?)?)?"
        ),
        _week_turn,
    ),
    Form(
        re.compile(r"(?<![每毎上下这本])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?!天)"),
        lambda match, today, tense: weekday_at(_WEEKDAYS[match["weekday"]], today, tense),
    ),
    Form(
        re.compile(
            rf"(?P<count>{NUMBER})\s?(?P<unit>天|日|周|星期|礼拜|週間|[个個ヶかカ]?月|年)(?P<way>之前|以前|前|之后|以后|后|後)"
        ),
        _distance,
    ),
)
