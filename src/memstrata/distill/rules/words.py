"""Headings and connecting words of scenes and portraits, by language: written by code, so that none leaks (A24)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["Words", "words_in"]


@dataclass(frozen=True, slots=True)
class Words:
    """What our documents say besides the memories themselves. `former` takes {old}; `left_out` takes {count}."""

    portrait: str
    standing: str
    care: str
    facts: str
    who: str
    preferences: str
    events: str
    plans: str
    open_points: str
    evolution: str
    recent: str
    former: str
    left_out: str
    stop: str
    colon: str


_EN: Final = Words(
    portrait="Portrait of the user",
    standing="Standing instructions",
    care="Mind above all",
    facts="What holds",
    who="Who the user is",
    preferences="Preferences and habits",
    events="What happened",
    plans="Current plans",
    open_points="Open points",
    evolution="How it changed",
    recent="Recent changes",
    former=" (before: {old})",
    left_out="{count} older or minor memories of this theme are not shown.",
    stop=".",
    colon=": ",
)
_WORDS: Final[Mapping[str, Words]] = {
    "en": _EN,
    "zh": Words(
        portrait="用户画像",
        standing="长期要求",
        care="务必留意",
        facts="现状",
        who="基本情况",
        preferences="偏好与习惯",
        events="经过",
        plans="近期计划",
        open_points="待跟进",
        evolution="变化",
        recent="近来的变化",
        former="（此前：{old}）",
        left_out="本主题另有 {count} 条较早或次要的记忆未列出。",
        stop="。",
        colon="：",
    ),
    "ja": Words(
        portrait="ユーザー像",
        standing="常に守ること",
        care="特に注意すること",
        facts="現在のこと",
        who="基本情報",
        preferences="好みと習慣",
        events="できごと",
        plans="これからの予定",
        open_points="今後の確認",
        evolution="変化",
        recent="最近の変化",
        former="（以前：{old}）",
        left_out="このテーマには、ほかに古いものや細かいものが {count} 件あります。",
        stop="。",
        colon="：",
    ),
    "ko": Words(
        portrait="사용자 소개",
        standing="항상 지킬 것",
        care="꼭 유의할 것",
        facts="현재 상황",
        who="기본 정보",
        preferences="취향과 습관",
        events="있었던 일",
        plans="앞으로의 계획",
        open_points="확인할 것",
        evolution="변화",
        recent="최근의 변화",
        former=" (이전: {old})",
        left_out="이 주제의 오래되거나 사소한 기억 {count}개는 생략했습니다.",
        stop=".",
        colon=": ",
    ),
    "ru": Words(
        portrait="Портрет пользователя",
        standing="Постоянные указания",
        care="Особенно важно",
        facts="Как обстоят дела",
        who="Кто пользователь",
        preferences="Предпочтения и привычки",
        events="Что произошло",
        plans="Ближайшие планы",
        open_points="Открытые вопросы",
        evolution="Что изменилось",
        recent="Недавние изменения",
        former=" (раньше: {old})",
        left_out="Ещё записей по этой теме, более старых или менее важных: {count}.",
        stop=".",
        colon=": ",
    ),
}


def words_in(language: str) -> Words:
    """Return the words of a language as `language_of` names it; English for one that is not here."""
    return _WORDS.get(language, _EN)
