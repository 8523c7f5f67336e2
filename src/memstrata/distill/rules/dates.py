"""When a statement's event happened, as far as its words and the time it was said tell.

Relative words lose their meaning with the conversation, so each is followed by the date it stood for ("yesterday
(2026-02-10)"). A date that cannot be derived stays unknown (user needs A13): "next Friday" means two different days to
two people, "recently" none. Days are days of the zone the distiller is given; UTC unless the operator says otherwise.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from memstrata.clock import EARLIEST, LATEST, Instant
from memstrata.distill.rules.reading import Tense

__all__ = ["Timed", "day_in", "mentions_a_date", "with_dates"]


@dataclass(frozen=True, slots=True)
class Timed:
    """A text whose relative dates are explained, and the first and last millisecond of what it tells about."""

    text: str
    happened_from: Instant | None = None
    happened_to: Instant | None = None


@dataclass(frozen=True, slots=True)
class _Days:
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    days: _Days
    explicit: bool  # carries its own year


_Resolve = Callable[["re.Match[str]", date, Tense | None], _Days | None]


@dataclass(frozen=True, slots=True)
class _Form:
    pattern: re.Pattern[str]
    resolve: _Resolve
    explicit: bool = False


def with_dates(text: str, said_at: Instant, zone: tzinfo = UTC, tense: Tense | None = None) -> Timed:
    """Return `text` with its relative dates explained, and the span of its first date or of a range that starts there.

    `tense` says which way a month or weekday without a year lies; without it such a date stays unknown.
    """
    today = datetime.fromtimestamp(min(max(said_at, EARLIEST), LATEST) / 1000, UTC).astimezone(zone).date()
    mentions = _mentions(text, today, tense)
    if not mentions:
        return Timed(text)
    first = mentions[0].days
    if len(mentions) > 1 and _RANGE.fullmatch(text[mentions[0].end : mentions[1].start]):
        first = _Days(first.first, max(first.last, mentions[1].days.last))
    return Timed(_explained(text, mentions), _start_of(first.first, zone), _end_of(first.last, zone))


def mentions_a_date(text: str) -> bool:
    """Return whether `text` names a day, week, month or year that could be derived."""
    return any(form.pattern.search(text) for form in _FORMS)


def day_in(instant: Instant, zone: tzinfo = UTC) -> str:
    """Return the day of an instant in `zone`, `YYYY-MM-DD`."""
    moment = datetime.fromtimestamp(min(max(instant, EARLIEST), LATEST) / 1000, UTC)
    try:
        return moment.astimezone(zone).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()


def _mentions(text: str, today: date, tense: Tense | None) -> list[_Mention]:
    found: list[_Mention] = []
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            try:
                days = form.resolve(match, today, tense)
            except (ValueError, OverflowError):  # the 31st of June, or a day outside of the calendar
                days = None
            if days is not None:
                found.append(_Mention(match.start(), match.end(), days, form.explicit))
    found.sort(key=lambda mention: (mention.start, -mention.end))
    kept: list[_Mention] = []
    for mention in found:
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return kept


def _explained(text: str, mentions: list[_Mention]) -> str:
    pieces: list[str] = []
    at = 0
    for mention in mentions:
        pieces.append(text[at : mention.end])
        at = mention.end
        if not mention.explicit and text[at : at + 1] not in ("(", "（") and not text[at:].startswith(" ("):
            shown = _shown(mention.days)
            pieces.append(
                f"（{shown.replace('/', '至')}）" if _is_wide(text[at - 1]) else f" ({shown.replace('/', ' to ')})"
            )
    return "".join((*pieces, text[at:]))


def _shown(days: _Days) -> str:
    first, last = days.first, days.last
    if first == last:
        return first.isoformat()
    if first == _month(first.year, first.month).first and last == _month(first.year, first.month).last:
        return first.isoformat()[:7]
    if first == _year(first.year).first and last == _year(first.year).last:
        return first.isoformat()[:4]
    return f"{first.isoformat()}/{last.isoformat()}"


def _is_wide(character: str) -> bool:
    return character > "\u2e7f"


def _start_of(day: date, zone: tzinfo) -> Instant | None:
    return _instant(datetime.combine(day, time.min, zone))


def _end_of(day: date, zone: tzinfo) -> Instant | None:
    return _instant(datetime.combine(day, time(23, 59, 59, 999000), zone))


def _instant(moment: datetime) -> Instant | None:
    try:
        return round(moment.timestamp() * 1000)
    except OverflowError:
        return None


# Spans of the calendar.


def _day(day: date) -> _Days:
    return _Days(day, day)


def _week(day: date) -> _Days:
    monday = day - timedelta(days=day.weekday())
    return _Days(monday, monday + timedelta(days=6))


def _month(year: int, month: int) -> _Days:
    return _Days(date(year, month, 1), date(year, month, monthrange(year, month)[1]))


def _year(year: int) -> _Days:
    return _Days(date(year, 1, 1), date(year, 12, 31))


def _month_from(day: date, months: int) -> _Days:
    index = day.year * 12 + day.month - 1 + months
    return _month(index // 12, index % 12 + 1)


def _moved(today: date, amount: int, unit: str) -> _Days:
    if unit == "day":
        return _day(today + timedelta(days=amount))
    if unit == "week":
        return _week(today + timedelta(weeks=amount))
    if unit == "month":
        return _month_from(today, amount)
    return _year(today.year + amount)


def _nearest(days_of_year: Callable[[int], _Days], today: date, tense: Tense | None) -> _Days | None:
    """Return the occurrence of a yearless date that lies in the direction of the tense; None without a direction."""
    if tense is None:
        return None
    days = days_of_year(today.year)
    if tense == "future":
        return days if days.last >= today else days_of_year(today.year + 1)
    return days if days.first <= today else days_of_year(today.year - 1)


def _weekday(weekday: int, today: date, tense: Tense | None) -> _Days | None:
    if tense is None:
        return None
    ahead = (weekday - today.weekday()) % 7
    return _day(today + timedelta(days=ahead if tense == "future" or ahead == 0 else ahead - 7))


# English.

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
_MONTH_NAMES = (*_MONTHS, "december")
_MONTH_NUMBER = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTH_NUMBER |= {name[:3]: number for name, number in _MONTH_NUMBER.items()} | {"sept": 9}
_MONTH_WORD = r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_WORD = rf"(?P<weekday>{'|'.join(name.capitalize() for name in _WEEKDAYS)})"
_ANY_WEEKDAY = rf"(?:(?:last|this|next|on) )?(?:(?:{'|'.join(_WEEKDAYS)}),? (?:the )?)?"
_COUNTS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNT = {name: number for number, name in enumerate(_COUNTS, 1)} | {"a": 1, "an": 1}
_COUNT_WORD = rf"(?P<count>\d{{1,3}}|an?|{'|'.join(_COUNTS)})"
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


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _COUNT[text.lower()]


def _month_of(match: re.Match[str]) -> int:
    return _MONTH_NUMBER[match["month"].lower()]


def _english_day(match: re.Match[str], today: date, tense: Tense | None) -> _Days | None:
    month, day = _month_of(match), int(match["day"])
    return _nearest(lambda year: _day(date(year, month, day)), today, tense)


def _english_month(match: re.Match[str], today: date, tense: Tense | None) -> _Days | None:
    if match["month"] == "may":  # the verb
        return None
    month = _month_of(match)
    return _nearest(lambda year: _month(year, month), today, tense)


def _written_day(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _day(date(int(match["year"]), _month_of(match), int(match["day"])))


def _written_month(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _month(int(match["year"]), _month_of(match))


def _numeric_day(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _day(date(int(match["year"]), int(match["month"]), int(match["day"])))


def _turn(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    turn, unit = _TURN[match["turn"].lower()], match["unit"].lower()
    if unit == "weekend":
        monday = _week(today).first + timedelta(weeks=turn)
        return _Days(monday + timedelta(days=5), monday + timedelta(days=6))
    return _moved(today, turn, unit)


def _english_weekday(match: re.Match[str], today: date, tense: Tense | None) -> _Days | None:
    weekday, lead = _WEEKDAYS.index(match["weekday"].lower()), match["lead"].lower()
    if lead == "last":
        return _weekday(weekday, today - timedelta(days=1), "past")
    return _weekday(weekday, today, "future" if lead == "this" else tense)


def _year_of(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _year(int(match["year"]))


_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_DAY2 = r"(?P<day>\d{1,2})"

_ENGLISH_FORMS = (
    _Form(_english(rf"{_MONTH_WORD}\.? {_DAY2}(?:st|nd|rd|th)?,? {_YEAR4}"), _written_day, explicit=True),
    _Form(_english(rf"{_DAY2}(?:st|nd|rd|th)?(?: of)? {_MONTH_WORD},? {_YEAR4}"), _written_day, explicit=True),
    _Form(_english(rf"{_MONTH_WORD},?(?: of)? {_YEAR4}"), _written_month, explicit=True),
    _Form(_english(rf"{_ANY_WEEKDAY}{_MONTH_WORD}\.? {_DAY2}(?:st|nd|rd|th)?"), _english_day),
    _Form(_english(rf"{_ANY_WEEKDAY}{_DAY2}(?:st|nd|rd|th)?(?: of)? {_MONTH_WORD}"), _english_day),
    _Form(_english(rf"(?:in|since|until|by|last|this|next|early|late|mid|from) {_MONTH_WORD}"), _english_month),
    _Form(_english(rf"(?:in|since|back in|until) {_YEAR4}"), _year_of, explicit=True),
    _Form(
        _english("|".join(sorted(_DAY_WORDS, key=len, reverse=True))),
        lambda match, today, tense: _moved(today, _DAY_WORDS[match[0].lower()], "day"),
    ),
    _Form(_english(r"(?P<turn>last|this|next) (?P<unit>weekend|week|month|year)"), _turn),
    _Form(
        _english(rf"{_COUNT_WORD} (?P<unit>day|week|month|year)s? ago"),
        lambda match, today, tense: _moved(today, -_count(match["count"]), match["unit"].lower()),
    ),
    _Form(
        _english(rf"in {_COUNT_WORD} (?P<unit>day|week|month|year)s?"),
        lambda match, today, tense: _moved(today, _count(match["count"]), match["unit"].lower()),
    ),
    _Form(_english(rf"(?P<lead>last|this|on) {_WEEKDAY_WORD}"), _english_weekday),
)

# Chinese and Japanese share their calendar words closely enough for one table.

_DIGITS = {digit: number for number, digit in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2, "十": 10}
_N = r"(?:\d{1,3}|[一二两兩三四五六七八九十]{1,3})"
_HAN_DAYS = {
    **{
        "大前天": -3,
        "前天": -2,
        "一昨日": -2,
        "おととい": -2,
        "昨天": -1,
        "昨晚": -1,
        "昨日": -1,
        "昨夜": -1,
        "きのう": -1,
    },
    **{"今天": 0, "今晚": 0, "今早": 0, "今日": 0, "本日": 0, "今朝": 0, "明天": 1, "明晚": 1, "明日": 1, "あした": 1},
    **{"后天": 2, "後天": 2, "明後日": 2, "大后天": 3},
}
_HAN_YEARS = {"前年": -2, "一昨年": -2, "去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1, "後年": 2, "后年": 2}
_HAN_TURNS = {
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
_HAN_WEEKDAYS = {name: number for number, name in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_HAN_WEEKDAYS |= {name: number for number, name in enumerate("月火水木金土")}
_HAN_UNITS = {
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


def _han_number(text: str) -> int:
    if text.isdigit():
        return int(text)
    if "十" not in text:
        return _DIGITS[text]
    tens, _, ones = text.partition("十")
    return _DIGITS.get(tens, 1) * 10 + _DIGITS.get(ones, 0)


def _han_written(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _within_year(int(match["year"]), match)


def _han_year_word(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    return _within_year(today.year + _HAN_YEARS[match["word"]], match)


def _within_year(year: int, match: re.Match[str]) -> _Days:
    if not match["month"]:
        return _year(year)
    month = _han_number(match["month"])
    return _day(date(year, month, _han_number(match["day"]))) if match["day"] else _month(year, month)


def _han_date(match: re.Match[str], today: date, tense: Tense | None) -> _Days | None:
    return _nearest(lambda year: _within_year(year, match), today, tense)


def _han_month_turn(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    days = _month_from(today, _HAN_TURNS[match["turn"]])
    return _day(days.first.replace(day=_han_number(match["day"]))) if match["day"] else days


def _han_week_turn(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    days = _week(today + timedelta(weeks=_HAN_TURNS[match["turn"]]))
    if not match["weekday"]:
        return days
    first = days.first + timedelta(days=_HAN_WEEKDAYS[match["weekday"]])
    return _Days(first, days.last) if match["weekday"] == "末" else _day(first)


def _han_distance(match: re.Match[str], today: date, tense: Tense | None) -> _Days:
    sign = -1 if "前" in match["way"] else 1
    unit = "month" if "月" in match["unit"] else _HAN_UNITS[match["unit"]]
    return _moved(today, sign * _han_number(match["count"]), unit)


_HAN_MONTH = rf"(?P<month>{_N})月(?:份)?(?:(?P<day>{_N})[日号號])?"
_HAN_FORMS = (
    _Form(re.compile(rf"(?P<year>(?:19|20)\d\d)\s?年(?:\s?{_HAN_MONTH})?"), _han_written, explicit=True),
    _Form(
        re.compile(rf"(?P<word>{'|'.join(sorted(_HAN_YEARS, key=len, reverse=True))})の?(?:{_HAN_MONTH})?"),
        _han_year_word,
    ),
    _Form(re.compile(rf"{_NOT_EVERY}(?<![\d个個ヶか年上下本这月]){_HAN_MONTH}(?![前后後内间間])"), _han_date),
    _Form(
        re.compile("|".join(sorted(_HAN_DAYS, key=len, reverse=True))),
        lambda match, today, tense: _moved(today, _HAN_DAYS[match[0]], "day"),
    ),
    _Form(
        re.compile(rf"(?P<turn>上上|下下|再来|[上这這本下先今来])[个個]?月(?:の?(?P<day>{_N})[日号號])?(?![份球])"),
        _han_month_turn,
    ),
    _Form(
        re.compile(
            r"(?P<turn>上上|下下|再来|[上这這本下先今来])[个個]?(?:周|星期|礼拜|週)(?:の?(?P<weekday>[一二三四五六日天末月火水木金土])(?:曜日?)?)?"
        ),
        _han_week_turn,
    ),
    _Form(
        re.compile(r"(?<![每毎上下这本])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?!天)"),
        lambda match, today, tense: _weekday(_HAN_WEEKDAYS[match["weekday"]], today, tense),
    ),
    _Form(
        re.compile(
            rf"(?P<count>{_N})\s?(?P<unit>天|日|周|星期|礼拜|週間|[个個ヶかカ]?月|年)(?P<way>之前|以前|前|之后|以后|后|後)"
        ),
        _han_distance,
    ),
)

_NUMERIC = _Form(
    re.compile(r"(?<![\d.])(?P<year>(?:19|20)\d\d)(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?![\d.])"),
    _numeric_day,
    explicit=True,
)
_FORMS = (_NUMERIC, *_ENGLISH_FORMS, *_HAN_FORMS)
_RANGE = re.compile(r"\s{0,2}(?:to|until|till|through|and|-|–|—|~|〜|～|到|至|から)\s{0,2}")
