"""Dates in English words, and numeric dates, which all languages share."""

from __future__ import annotations

import re
from datetime import date, timedelta

from memstrata.text.dates.days import (
    Days,
    Form,
    Tense,
    month_of,
    moved,
    nearest,
    one_day,
    week_of,
    weekday_at,
    year_of,
)

__all__ = ["COUNT_WORD", "FORMS", "count"]

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
_MONTH_NAMES = (*_MONTHS, "december")
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH_NUMBER |= {name[:3]: number for name, number in _MONTH_NUMBER.items()} | {"sept": 9}
_MONTH_WORD = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_WORD = rf"(?P<weekday>{'|'.join(name.capitalize() for name in _WEEKDAYS)})"
_ANY_WEEKDAY = rf"(?:(?:last|this|next|on) )?(?:(?:{'|'.join(_WEEKDAYS)}),? (?:the )?)?"
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT = {name: number for number, name in enumerate(_COUNTS, 1)} | {"a": 1, "an": 1}
COUNT_WORD = rf"(?P<count>\d{{1,3}}|an?|{'|'.join(_COUNTS)})"
_TURN = {"last": -1, "this": 0, "next": 1}
_DAY_WORDS = {
    "the day before yesterday": -2,
    **dict.fromkeys(("yesterday", "last night"), -1),
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening"), 0),
    "tomorrow": 1,
    "the day after tomorrow": 2,
}


def _english(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


def count(text: str) -> int:
    """Return the number that `COUNT_WORD` matched."""
    return int(text) if text.isdigit() else _COUNT[text.lower()]


def _month_number(match: re.Match[str]) -> int:
    return _MONTH_NUMBER[match["month"].lower()]


def _english_day(match: re.Match[str], today: date, tense: Tense | None) -> Days | None:
    month, day = _month_number(match), int(match["day"])
    return nearest(lambda year: one_day(date(year, month, day)), today, tense)


def _english_month(match: re.Match[str], today: date, tense: Tense | None) -> Days | None:
    if match["month"] == "may":  # the verb
        return None
    month = _month_number(match)
    return nearest(lambda year: month_of(year, month), today, tense)


def _written_day(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return one_day(date(int(match["year"]), _month_number(match), int(match["day"])))


def _written_month(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return month_of(int(match["year"]), _month_number(match))


def _numeric_day(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return one_day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _turn(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    turn, unit = _TURN[match["turn"].lower()], match["unit"].lower()
    if unit == "weekend":
        monday = week_of(today).first + timedelta(weeks=turn)
        return Days(monday + timedelta(days=5), monday + timedelta(days=6))
    return moved(today, turn, unit)


def _english_weekday(match: re.Match[str], today: date, tense: Tense | None) -> Days | None:
    weekday, lead = _WEEKDAYS.index(match["weekday"].lower()), match["lead"].lower()
    if lead == "last":
        return weekday_at(weekday, today - timedelta(days=1), "past")
    return weekday_at(weekday, today, "future" if lead == "this" else tense)


def _year_of(match: re.Match[str], today: date, tense: Tense | None) -> Days:
    return year_of(int(match["year"]))


_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_DAY2 = r"(?P<day>\d{1,2})"

FORMS = (
    Form(
        re.compile(
            r"(?<![\d.])(?P<year>(?:19|20)\d\d)(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d.])"
        ),
        _numeric_day,
        explicit=True,
    ),
    Form(_english(rf"{_MONTH_WORD}\.? {_DAY2}(?:st|nd|rd|th)?,? {_YEAR4}"), _written_day, explicit=True),
    Form(_english(rf"{_DAY2}(?:st|nd|rd|th)?(?: of)? {_MONTH_WORD},? {_YEAR4}"), _written_day, explicit=True),
    Form(
        _english(rf"(?<!\d )(?<!st )(?<!nd )(?<!rd )(?<!th ){_MONTH_WORD},?(?: of)? {_YEAR4}"),
        _written_month,
        explicit=True,
    ),
    Form(_english(rf"{_ANY_WEEKDAY}{_MONTH_WORD}\.? {_DAY2}(?:st|nd|rd|th)?"), _english_day),
    Form(_english(rf"{_ANY_WEEKDAY}{_DAY2}(?:st|nd|rd|th)?(?: of)? {_MONTH_WORD}"), _english_day),
    Form(
        _english(rf"(?:in|since|until|by|last|this|next|early|late|mid|from) {_MONTH_WORD}(?!\.? \d)"), _english_month
    ),
    Form(_english(rf"(?:in|since|back in|until) {_YEAR4}"), _year_of, explicit=True),
    Form(
        _english("|".join(sorted(_DAY_WORDS, key=len, reverse=True))),
        lambda match, today, tense: moved(today, _DAY_WORDS[match[0].lower()], "day"),
    ),
    Form(_english(r"(?P<turn>last|this|next) (?P<unit>weekend|week|month|year)"), _turn),
    Form(
        _english(rf"{COUNT_WORD} (?P<unit>day|week|month|year)s? ago"),
        lambda match, today, tense: moved(today, -count(match["count"]), match["unit"].lower()),
    ),
    Form(
        _english(rf"in {COUNT_WORD} (?P<unit>day|week|month|year)s?"),
        lambda match, today, tense: moved(today, count(match["count"]), match["unit"].lower()),
    ),
    Form(_english(rf"(?P<lead>last|this|on) {_WEEKDAY_WORD}"), _english_weekday),
)
