"""Korean, Russian and Spanish in brief: the statements about oneself that matter most, each with a sentence of ours.

These languages have no reader of their own yet. A row gives a pattern, the sentence with the user's words filled in, and
what kind of memory it is; anything else is left to a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstrata.distill.rules.reading import Finding, Reader, Reading, Sentence, plain_value
from memstrata.distill.rules.slots import DIET, TASTE, taste_of
from memstrata.records import MemoryType

__all__ = ["KOREAN", "RUSSIAN", "SPANISH"]


@dataclass(frozen=True, slots=True)
class _Row:
    pattern: re.Pattern[str]
    sentence: str  # takes {value}
    type: MemoryType
    priority: int
    slot: str = ""
    liked: bool = True


def _row(pattern: str, sentence: str, type: MemoryType, priority: int, slot: str = "", *, liked: bool = True) -> _Row:  # noqa: A002
    return _Row(re.compile(pattern, re.IGNORECASE), sentence, type, priority, slot, liked)


_WORDS = r"(?P<value>[^.,;!?\n]{1,60}?)"
_CLAUSE_ENDS = re.compile(
    r"[,;]\s+(?:y |и |а |но |pero )?|\s+(?:y|и|pero)\s+(?=(?:me |vivo|trabajo|soy|tengo|no |prefiero|я |мне |у меня|меня ))",
    re.IGNORECASE,
)

_KOREAN = (
    _row(
        r"(?:제|내) 이름은 " + _WORDS + r"(?:입니다|이에요|예요|이야|야|$)",
        "사용자의 이름은 {value}이다",
        "persona",
        85,
        "name",
    ),
    _row(
        r"(?:저는|나는|전|난)?\s?" + _WORDS + r"에 (?:살고 있|살아|삽니다|산다)",
        "사용자는 {value}에 살고 있다",
        "persona",
        75,
        "residence",
    ),
    _row(
        r"(?:저는|나는|전|난)?\s?" + _WORDS + r"에서 (?:일하고 있|일해|일합니다|일한다|근무)",
        "사용자는 {value}에서 일하고 있다",
        "persona",
        75,
        "employer",
    ),
    _row(r"(?:저는|나는|전|난)?\s?" + _WORDS + r"\s?알레르기가 있", "사용자는 {value} 알레르기가 있다", "persona", 90),
    _row(r"(?:저는|나는|전|난)\s?(?P<value>채식주의자|비건)", "사용자는 {value}이다", "persona", 80, DIET),
    _row(
        r"(?:저는|나는|전|난)\s?" + _WORDS + r"(?:을|를) (?:아주 |정말 |매우 )?좋아(?:해|합니다|한다)",
        "사용자는 {value}을(를) 좋아한다",
        "persona",
        65,
        TASTE,
    ),
    _row(
        r"(?:저는|나는|전|난)\s?" + _WORDS + r"(?:을|를) (?:아주 |정말 |매우 )?(?:싫어(?:해|합니다|한다)|못 먹)",
        "사용자는 {value}을(를) 싫어한다",
        "persona",
        65,
        TASTE,
        liked=False,
    ),
    _row(
        r"(?:앞으로(?:는)?|항상|절대(?:로)?|언제나|반드시)\s?"
        + r"(?P<value>[^.!?\n]{2,120}?)(?:해 ?주세요|하지 마세요|하지 마|해줘|주세요)",
        "사용자는 AI에게 항상 지킬 것을 요청한다: {all}",
        "instruction",
        85,
    ),
    _row(
        r"(?:기억해 ?줘|기억해 ?주세요|잊지 마)[:,]?\s?(?P<value>[^\n]{3,200})",
        "사용자가 기억해 달라고 했다: {value}",
        "persona",
        75,
    ),
)
_RUSSIAN = (
    _row(
        r"(?:меня зовут|мо[её] имя(?: —| -)?) (?P<value>[А-ЯЁA-Z][\w-]{1,20}(?: [А-ЯЁA-Z][\w-]{1,20})?)",
        "Пользователя зовут {value}",
        "persona",
        85,
        "name",
    ),
    _row(
        r"(?:я )?(?:сейчас |теперь )?живу в(?:о)? " + _WORDS + r"$",
        "Пользователь живёт в {value}",
        "persona",
        75,
        "residence",
    ),
    _row(
        r"(?:я )?(?:сейчас |теперь )?работаю (?P<value>(?:в|на|во|у) [^.,;!?\n]{2,50})$",
        "Пользователь работает {value}",
        "persona",
        75,
        "employer",
    ),
    _row(r"(?:у меня )аллергия на " + _WORDS + r"$", "У пользователя аллергия на {value}", "persona", 90),
    _row(r"я (?P<value>вегетариан(?:ец|ка)|веган(?:ка)?)", "Пользователь — {value}", "persona", 80, DIET),
    _row(r"(?:я )?(?:очень )?(?:люблю|обожаю) " + _WORDS + r"$", "Пользователь любит {value}", "persona", 65, TASTE),
    _row(
        r"(?:я )?(?:не люблю|ненавижу|терпеть не могу|не ем) " + _WORDS + r"$",
        "Пользователь не любит {value}",
        "persona",
        65,
        TASTE,
        liked=False,
    ),
    _row(
        r"(?P<value>(?:впредь|отныне|с этого момента|всегда|никогда(?: не)?)\b[^\n]{3,200})",
        "Пользователь просит ИИ: {value}",
        "instruction",
        85,
    ),
    _row(
        r"(?:запомни|запомните|помни)[,:]?\s?(?:что )?(?P<value>[^\n]{3,200})",
        "Пользователь попросил запомнить: {value}",
        "persona",
        75,
    ),
)
_SPANISH = (
    _row(
        r"(?:me llamo|mi nombre es) (?P<value>[A-ZÁÉÍÓÚÑ][\w'-]{1,20}(?: [A-ZÁÉÍÓÚÑ][\w'-]{1,20})?)",
        "El usuario se llama {value}",
        "persona",
        85,
        "name",
    ),
    _row(
        r"(?:ahora |actualmente )?(?:yo )?vivo en " + _WORDS + r"$",
        "El usuario vive en {value}",
        "persona",
        75,
        "residence",
    ),
    _row(
        r"(?:ahora |actualmente )?(?:yo )?trabajo (?P<value>(?:en|para|como) [^.,;!?\n]{2,50})$",
        "El usuario trabaja {value}",
        "persona",
        75,
        "employer",
    ),
    _row(
        r"(?:soy alérgic[oa] a(?:l| la| los| las)? |tengo alergia a(?:l| la| los| las)? )" + _WORDS + r"$",
        "El usuario es alérgico a {value}",
        "persona",
        90,
    ),
    _row(r"soy (?P<value>vegetarian[oa]|vegan[oa])", "El usuario es {value}", "persona", 80, DIET),
    _row(r"(?:me gustan?|me encantan?) (?!que )" + _WORDS + r"$", "Al usuario le gusta {value}", "persona", 65, TASTE),
    _row(
        r"(?:no me gustan?|odio|detesto|no como) (?!que )" + _WORDS + r"$",
        "Al usuario no le gusta {value}",
        "persona",
        65,
        TASTE,
        liked=False,
    ),
    _row(
        r"(?P<value>(?:a partir de ahora|de ahora en adelante|siempre|nunca)\b[^\n]{3,200})",
        "El usuario pide a la IA: {value}",
        "instruction",
        85,
    ),
    _row(
        r"(?:recuerda|recuerde|no olvides)[,:]?\s?(?:que )?(?P<value>[^\n]{3,200})",
        "El usuario pidió recordar: {value}",
        "persona",
        75,
    ),
)
_FIRST_PERSON = re.compile(
    r"\b(?:я|мне|мой|моя|меня|yo|he|estoy|soy|creo|siempre que|nunca he|всегда когда)\b", re.IGNORECASE
)
_ONE_OFF = re.compile(
    r"이번(?:에만|만|에는)|на этот раз|только сейчас|por esta vez|solo esta vez|esta vez", re.IGNORECASE
)
_DEICTIC = re.compile(
    r"(?:это|этот|эту|он|она|esto|eso|esta|ese|él|ella|que|cuando|이거|그거|이것|그것)\b", re.IGNORECASE
)


def _reader(language: str, rows: tuple[_Row, ...]) -> Reader:
    def read(sentence: Sentence) -> tuple[Finding, ...]:
        if sentence.supposed or _ONE_OFF.search(sentence.text):
            return ()
        text = " ".join(sentence.text.split()).strip(" .!…¡")
        whole = tuple(_readings(text, tuple(row for row in rows if row.type == "instruction")))
        if whole:
            return whole
        return tuple(reading for clause in _CLAUSE_ENDS.split(text)[:12] for reading in _readings(clause.strip(), rows))

    return Reader(language, read, _never_joined)


def _never_joined(first: str, second: str) -> str | None:
    return None


def _readings(clause: str, rows: tuple[_Row, ...]) -> list[Reading]:
    for row in rows:
        match = row.pattern.match(clause)
        if match is None or _DEICTIC.match(match["value"]):
            continue
        value = match["value"].strip()
        if row.type == "instruction" and _FIRST_PERSON.search(value):
            continue
        slot, held = row.slot, plain_value(value)
        if slot == TASTE:
            slot, held = taste_of(held if len(held.split()) <= 3 else "", liked=row.liked)
        content = row.sentence.replace("{all}", clause).replace("{value}", value)
        return [Reading(content, row.type, row.priority, slot, held if slot else "")]
    return []


KOREAN = _reader("ko", _KOREAN)
RUSSIAN = _reader("ru", _RUSSIAN)
SPANISH = _reader("es", _SPANISH)
