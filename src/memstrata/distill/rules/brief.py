"""Korean, Russian and Spanish in brief: the statements about oneself that matter most, each with a sentence of ours.

These languages have no reader of their own yet. A row gives a pattern, the sentence with the user's words filled in, and
what kind of memory it is; anything else is left to a model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memstrata.distill.rules.reading import Finding, Reader, Reading, Sentence, plain_value
from memstrata.distill.rules.slots import DIET, taste_of
from memstrata.records import MemoryType

__all__ = ["KOREAN", "RUSSIAN", "SPANISH"]

_LIKES, _DISLIKES = "likes", "dislikes"


@dataclass(frozen=True, slots=True)
class _Row:
    """`whole` rows look at the sentence, the others at each of its clauses. `sentence` takes {value} or {all}."""

    pattern: re.Pattern[str]
    sentence: str
    priority: int
    slot: str
    type: MemoryType
    whole: bool


def _fact(priority: int, pattern: str, sentence: str, slot: str = "") -> _Row:
    return _Row(re.compile(pattern, re.IGNORECASE), sentence, priority, slot, "persona", whole=False)


def _note(pattern: str, sentence: str) -> _Row:
    return _Row(re.compile(pattern, re.IGNORECASE), sentence, 75, "", "persona", whole=True)


def _order(pattern: str, sentence: str) -> _Row:
    return _Row(re.compile(pattern, re.IGNORECASE), sentence, 85, "", "instruction", whole=True)


_WORDS = r"(?P<value>[^.,;!?\n]{1,60}?)"
_SAID = r"(?P<value>[^\n]{3,200})"
_ME_KO = r"(?:저는|나는|전|난)?\s?"
_MUCH_KO = r"(?:아주 |정말 |매우 )?"

_KOREAN = (
    _order(
        r"(?:앞으로(?:는)?|항상|절대(?:로)?|언제나|반드시)\s?(?P<value>[^.!?\n]{2,120}?)(?:주세요|하지 마세요|하지 마|해줘)",
        "사용자는 AI에게 늘 지킬 것을 요청한다: {all}",
    ),
    _note(rf"(?:기억해 ?줘|기억해 ?주세요|잊지 마)[:,]?\s?{_SAID}", "사용자가 기억해 달라고 했다: {value}"),
    _fact(85, rf"(?:제|내) 이름은 {_WORDS}(?:입니다|이에요|예요|이야|야|$)", "사용자의 이름은 {value}이다", "name"),
    _fact(75, rf"{_ME_KO}{_WORDS}에 (?:살고 있|살아|삽니다|산다)", "사용자는 {value}에 살고 있다", "residence"),
    _fact(
        75,
        rf"{_ME_KO}{_WORDS}에서 (?:일하고 있|일해|일합니다|일한다|근무)",
        "사용자는 {value}에서 일하고 있다",
        "employer",
    ),
    _fact(90, rf"{_ME_KO}{_WORDS}\s?알레르기가 있", "사용자는 {value} 알레르기가 있다"),
    _fact(80, rf"{_ME_KO}(?P<value>채식주의자|비건)", "사용자는 {value}이다", DIET),
    _fact(65, rf"{_ME_KO}{_WORDS}[을를] {_MUCH_KO}좋아(?:해|합니다|한다)", "사용자는 좋아한다: {value}", _LIKES),
    _fact(
        65,
        rf"{_ME_KO}{_WORDS}[을를] {_MUCH_KO}(?:싫어(?:해|합니다|한다)|못 먹)",
        "사용자는 싫어한다: {value}",
        _DISLIKES,
    ),
)
_RUSSIAN = (
    _order(
        r"(?P<value>(?:впредь|отныне|с этого момента|всегда|никогда)\b[^\n]{3,200})", "Пользователь просит ИИ: {value}"
    ),
    _note(rf"(?:запомните|запомни|помни)[,:]?\s?(?:что )?{_SAID}", "Пользователь попросил запомнить: {value}"),
    _fact(
        85,
        r"(?:меня зовут|мо[её] имя(?: —| -)?) (?P<value>(?-i:[А-ЯЁA-Z])[\w-]{1,20}(?: (?-i:[А-ЯЁA-Z])[\w-]{1,20})?)",
        "Пользователя зовут {value}",
        "name",
    ),
    _fact(75, rf"(?:я )?(?:сейчас |теперь )?живу во? {_WORDS}$", "Пользователь живёт в {value}", "residence"),
    _fact(
        75,
        r"(?:я )?(?:сейчас |теперь )?работаю (?P<value>(?:в|на|во|у) [^.,;!?\n]{2,50})$",
        "Пользователь работает {value}",
        "employer",
    ),
    _fact(90, rf"у меня аллергия на {_WORDS}$", "У пользователя аллергия на {value}"),
    _fact(80, r"я (?P<value>вегетариан(?:ец|ка)|веган(?:ка)?)", "Пользователь — {value}", DIET),
    _fact(65, rf"(?:я )?(?:очень )?(?:люблю|обожаю) {_WORDS}$", "Пользователь любит {value}", _LIKES),
    _fact(
        65, rf"(?:я )?(?:не люблю|ненавижу|терпеть не могу|не ем) {_WORDS}$", "Пользователь не любит {value}", _DISLIKES
    ),
)
_SPANISH = (
    _order(
        r"(?P<value>(?:a partir de ahora|de ahora en adelante|siempre|nunca)\b[^\n]{3,200})",
        "El usuario pide a la IA: {value}",
    ),
    _note(rf"(?:recuerda|recuerde|no olvides)[,:]?\s?(?:que )?{_SAID}", "El usuario pidió recordar: {value}"),
    _fact(
        85,
        r"(?:me llamo|mi nombre es) (?P<value>(?-i:[A-ZÁÉÍÓÚÑ])[\w'-]{1,20}(?: (?-i:[A-ZÁÉÍÓÚÑ])[\w'-]{1,20})?)",
        "El usuario se llama {value}",
        "name",
    ),
    _fact(75, rf"(?:ahora |actualmente )?(?:yo )?vivo en {_WORDS}$", "El usuario vive en {value}", "residence"),
    _fact(
        75,
        r"(?:ahora |actualmente )?(?:yo )?trabajo (?P<value>(?:en|para|como) [^.,;!?\n]{2,50})$",
        "El usuario trabaja {value}",
        "employer",
    ),
    _fact(
        90,
        rf"(?:soy alérgic[oa]|tengo alergia) a(?:l| la| los| las)? {_WORDS}$",
        "El usuario tiene alergia a {value}",
    ),
    _fact(80, r"soy (?P<value>vegetarian[oa]|vegan[oa])", "El usuario es {value}", DIET),
    _fact(65, rf"(?:me gustan?|me encantan?) (?!que ){_WORDS}$", "Al usuario le gusta {value}", _LIKES),
    _fact(
        65, rf"(?:no me gustan?|odio|detesto|no como) (?!que ){_WORDS}$", "Al usuario no le gusta {value}", _DISLIKES
    ),
)

_CLAUSE_END = re.compile(
    r"[,;]\s+(?:y |и |а |но |pero )?"
    r"|\s+(?:y|и|pero|но)\s+(?=(?:me|vivo|trabajo|soy|tengo|no|я|мне|меня|живу|работаю|люблю|у меня)\s)",
    re.IGNORECASE,
)
_MOST_CLAUSES = 12
_ABOUT_ONESELF = re.compile(r"\b(?:я|мне|меня|yo|he|estoy|soy|creo)\b", re.IGNORECASE)
_ONE_OFF = re.compile(
    r"이번(?:에만|만|에는)|на этот раз|только сейчас|por esta vez|solo esta vez|esta vez", re.IGNORECASE
)
_DEICTIC = re.compile(
    r"(?:это|этот|эту|он|она|esto|eso|esta|ese|él|ella|que|cuando|이거|그거|이것|그것)(?!\w)", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:el|la|los|las|un|una) ")
_LONGEST_THING = 3  # words


def _reader(language: str, rows: tuple[_Row, ...]) -> Reader:
    by_sentence = tuple(row for row in rows if row.whole)
    by_clause = tuple(row for row in rows if not row.whole)

    def read(sentence: Sentence) -> tuple[Finding, ...]:
        if sentence.supposed or _ONE_OFF.search(sentence.text):
            return ()
        text = " ".join(sentence.text.split()).strip(" .!…¡")
        if (whole := _reading(text, by_sentence)) is not None:
            return (whole,)
        clauses = (clause.strip() for clause in _CLAUSE_END.split(text)[:_MOST_CLAUSES])
        return tuple(reading for clause in clauses if (reading := _reading(clause, by_clause)) is not None)

    return Reader(language, read, _never_joined)


def _never_joined(first: str, second: str) -> str | None:
    return None


def _reading(text: str, rows: tuple[_Row, ...]) -> Reading | None:
    for row in rows:
        match = row.pattern.match(text)
        if match is None or _DEICTIC.match(match["value"]):
            continue
        value = match["value"].strip()
        if row.type == "instruction" and _ABOUT_ONESELF.search(value):
            continue
        content = row.sentence.replace("{all}", text).replace("{value}", value)
        slot, held = row.slot, plain_value(value)
        if slot in (_LIKES, _DISLIKES):
            thing = _ARTICLE.sub("", held)
            slot, held = taste_of(thing if len(thing.split()) <= _LONGEST_THING else "", liked=slot == _LIKES)
        return Reading(content, row.type, row.priority, slot, held if slot else "")
    return None


KOREAN = _reader("ko", _KOREAN)
RUSSIAN = _reader("ru", _RUSSIAN)
SPANISH = _reader("es", _SPANISH)
