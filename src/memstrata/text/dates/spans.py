"""Stretches of time that a question asks for and that explain no statement: seasons, and "the last three weeks".

Kept apart from the dates that the distiller writes behind a statement: a season has no exact days, so it may help to find
a memory, but it is never written down as when something happened. Seasons are those of the northern half of the earth.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from memstrata.text.dates import english, han
from memstrata.text.dates.days import Days, Form, Tense, month_from, month_of

__all__ = ["FORMS"]

_FIRST_MONTH = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12}
_ENGLISH = r"(?P<season>spring|summer|autumn|fall|winter)"
_HAN = r"(?P<season>[春夏秋冬])(?:天|季|日)?"
_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_HAN_YEARS = {"前年": -2, "去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1}
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "週": "week", "年": "year"}


def _season(season: str, year: int) -> Days:
    """Return the season that begins in a year; winter lasts into the next one."""
    first = month_of(year, _FIRST_MONTH[season.lower()]).first
    return Days(first, month_from(first, 2).last)


def _season_turn(found: re.Match[str], today: date, tense: Tense | None) -> Days:
    seasons = [_season(found["season"], today.year + years) for years in range(-2, 3)]
    match found["turn"].lower():
        case "last":
            return max((days for days in seasons if days.last < today), key=lambda days: days.last)
        case "next":
            return next(days for days in seasons if days.first > today)
        case _:
            return next((days for days in seasons if days.first <= today <= days.last), seasons[2])


def _season_of_year(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return _season(match["season"], int(match["year"]))


def _season_of_word(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return _season(match["season"], today.year + _HAN_YEARS[match["word"]])


def _back(today: date, count: int, unit: str) -> Days:
    days = {"day": count, "week": 7 * count, "month": 30 * count, "year": 365 * count}[unit]
    return Days(today - timedelta(days=days), today)


def _english_back(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    count = match["count"]
    return _back(today, english.count(count) if count else 1, match["unit"].lower())


def _han_back(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return _back(today, han.number(match["count"]), "month" if "月" in match["unit"] else _UNITS[match["unit"]])


FORMS = (
    Form(re.compile(rf"\b(?P<turn>last|this|next) {_ENGLISH}\b", re.IGNORECASE), _season_turn),
    Form(re.compile(rf"\b(?:the )?{_ENGLISH}(?: of)? {_YEAR4}\b", re.IGNORECASE), _season_of_year, explicit=True),
    Form(re.compile(rf"{_YEAR4}\s?年?の?的?{_HAN}"), _season_of_year, explicit=True),
    Form(re.compile(rf"(?P<word>{'|'.join(_HAN_YEARS)})[の的]?{_HAN}"), _season_of_word),
    Form(
        re.compile(
            rf"\b(?:past|last(?= \w+ \w+s\b))(?: {english.COUNT_WORD})? (?P<unit>day|week|month|year)s?\b",
            re.IGNORECASE,
        ),
        _english_back,
    ),
    Form(
        re.compile(
            rf"(?:最近|过去|過去|近|这|這|ここ|この)の?(?P<count>{han.NUMBER})\s?"
            r"(?P<unit>天|日|周|星期|礼拜|週|[个個ヶかカ]?月|年)(?:间|間)?(?![前后後])"
        ),
        _han_back,
    ),
)
