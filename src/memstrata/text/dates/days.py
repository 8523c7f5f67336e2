"""Spans of the calendar, and the form that a table of date words has."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

__all__ = [
    "Days",
    "Form",
    "Resolve",
    "Tense",
    "month_from",
    "month_of",
    "moved",
    "nearest",
    "one_day",
    "week_of",
    "weekday_at",
    "year_of",
]

Tense = Literal["past", "future"]
"""Which way a date without a year lies."""


@dataclass(frozen=True, slots=True)
class Days:
    """A span of whole days, both ends included."""

    first: date
    last: date


Resolve = Callable[["re.Match[str]", date, Tense | None], Days | None]


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write a date, and how it is resolved from the day it was said. `explicit` dates carry their year."""

    pattern: re.Pattern[str]
    resolve: Resolve
    explicit: bool = False


def one_day(day: date) -> Days:
    """Return a single day."""
    return Days(day, day)


def week_of(day: date) -> Days:
    """Return the week of a day, Monday to Sunday."""
    monday = day - timedelta(days=day.weekday())
    return Days(monday, monday + timedelta(days=6))


def month_of(year: int, month: int) -> Days:
    """Return a month. Raises ValueError if there is no such month."""
    return Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def year_of(year: int) -> Days:
    """Return a year. Raises ValueError outside of the years 1 to 9999."""
    return Days(date(year, 1, 1), date(year, 12, 31))


def month_from(day: date, months: int) -> Days:
    """Return the month that lies so many months from that of a day."""
    index = day.year * 12 + day.month - 1 + months
    return month_of(index // 12, index % 12 + 1)


def moved(today: date, amount: int, unit: str) -> Days:
    """Return the day, week, month or year that lies so many units from today: its precision is that of the unit."""
    if unit == "day":
        return one_day(today + timedelta(days=amount))
    if unit == "week":
        return week_of(today + timedelta(weeks=amount))
    if unit == "month":
        return month_from(today, amount)
    return year_of(today.year + amount)


def nearest(days_of_year: Callable[[int], Days], today: date, tense: Tense | None) -> Days | None:
    """Return the occurrence of a yearless date that lies in the direction of the tense; None without a direction."""
    if tense is None:
        return None
    days = days_of_year(today.year)
    if tense == "future":
        return days if days.last >= today else days_of_year(today.year + 1)
    return days if days.first <= today else days_of_year(today.year - 1)


def weekday_at(weekday: int, today: date, tense: Tense | None) -> Days | None:
    """Return the nearest such day in the direction of the tense, today included; None without a direction."""
    if tense is None:
        return None
    ahead = (weekday - today.weekday()) % 7
    return one_day(today + timedelta(days=ahead if tense == "future" or ahead == 0 else ahead - 7))
