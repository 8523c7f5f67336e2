"""English: one part of a sentence, by its subject: "I", "my …", "our team …", or "the user" in data of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memstrata.distill.rules.en.person import in_third_person
from memstrata.distill.rules.en.predicates import predicate
from memstrata.distill.rules.en.words import JOB, is_job, lower_first, parts_of, predicates_of, tidied, without_leads
from memstrata.distill.rules.reading import Reading, Tense, plain_value

__all__ = ["facts_in", "introduction_in"]

_I = re.compile(r"(?:I(?P<short>'m|'ve|'ll|'d)?\b|the user(?: \((?P<name>[^)]{1,20})\))?(?=\s)) ?", re.IGNORECASE)
_LONG_FORMS = {"'m": "am ", "'ve": "have ", "'ll": "will ", "'d": "would "}
_TIME_FIRST = re.compile(
    r"(?P<time>(?:(?:last|this|next|on|in|since|yesterday|today|tomorrow|tonight|back in|two|three|a few|recently"
    r"|lately|nowadays|these days|currently|right now|at the moment|every|most|the|as of)\b[^,]{0,30}"
    r"|(?:over|during) the [^,]{1,20}))"
    r",?\s+(?=(?:I|I'm|I've|I'll)\b)",
    re.IGNORECASE,
)
_REMIND = re.compile(r"(?:and |please )?remind me (?:to|about|that|of) (?P<value>.{3,100})", re.IGNORECASE)
_MY_NAME = re.compile(
    r"my (?:full |real |first |given )?name(?:'s| is) "
    r"(?P<value>[^\W\d_][\w'.-]{0,20}(?: (?-i:[A-Z])[\w'.-]{0,20}){0,3})",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(
    r"(?:(?:[Hh]i|[Hh]ello|[Hh]ey)(?: there)?[,!]? (?:I'm|I am|[Tt]his is) "
    r"(?P<value>[A-Z][\w'-]{1,20}(?: [A-Z][\w'.-]{1,20})?)(?=$|[,.!]| and )"
    rf"|I(?:'m| am) (?P<value2>[A-Z][\w'-]{{1,20}})(?=, an? {JOB}))"
    rf"(?:, (?P<job>an? (?:{JOB}).{{0,40}}))?"
)
_AFTER_NAME = re.compile(r"\s+(?:and|but|from|I)$")

_RELATIVE = (
    r"wife|husband|partner|girlfriend|boyfriend|spouse|fianc[eé]e?|mother|father|mom|mum|dad|parents|son|daughter|kids?"
    r"|children|brother|sister|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|nephew|niece|boss|manager"
    r"|colleague|co-?worker|roommate|flatmate|neighbou?r|friend|best friend|dog|cat|pet|doctor|dentist|therapist|tutor"
    r"|supervisor|advisor|landlord"
)
_THING = (
    r"birthday|hometown|native language|first language|mother tongue|email|phone number|timezone|time zone|anniversary"
    r"|car|bike|hobby|hobbies|goal|dream|job|salary|budget|diet|blood type|star sign|height|weight|shoe size|religion"
    r"|thesis|startup|company|employer|office|school|university|major|commute|passport|driving licence|driver's license"
    r"|allergies|pronouns|(?:left |right )?(?:knee|back|shoulder|wrist)|favou?rite (?:[\w-]+ ){0,2}[\w-]+"
    r"|(?:editor|laptop|keyboard|stack|terminal|shell|os|setup)(?= is an? )"
)
_OWNED = re.compile(
    r"(?:my|the user's) (?P<what>(?:(?:older|younger|elder|little|big|late|ex-?|new|current|main|home|work|wedding) ?)?"
    rf"(?:(?:{_RELATIVE})(?:'s (?:name|birthday))?|{_THING}))"
    r"(?: (?:is|are|was) (?:called|named)|'s| (?:is|are|has|have|lives?|works?|likes?|loves?|hates?|plays?|studies|owns"
    r"|runs|turns?|turned|was|died|needs|sells|goes|speaks|expires|teaches|got|moved|follows)) (?P<value>[^;]{1,120})",
    re.IGNORECASE,
)
_SLOTS = {
    "birthday": "birthday",
    "boss": "manager",
    "manager": "manager",
    "native language": "native_language",
    "email": "email",
    "timezone": "time_zone",
    "time zone": "time_zone",
    "hometown": "hometown",
    "dog's name": "dog_name",
    "cat's name": "cat_name",
    "wife's name": "partner_name",
    "husband's name": "partner_name",
    "partner's name": "partner_name",
}
_BODY = re.compile(r"knee|back|shoulder|wrist|allerg")
_TEAM = re.compile(
    r"(?:our|my) (?P<what>(?:[\w-]+ )?(?:team|project|company|codebase|department|startup|database|db|backend|frontend"
    r"|service|repo|repository|api|platform|office|lab|school|class|band|club|stack|pipeline|deployments?|releases?"
    r"|standups?|sprints?))(?P<rest>(?:'s)? .{2,300})",
    re.IGNORECASE,
)
_A_GROUP = re.compile(r"team|project|company|startup|department")
_NO_NEWS = re.compile(
    r"(?:broken|slow|crash\w*|not working|down|here|there|asking|wondering|saying|said|told|that"
    r"|to (?:fix|get|make) (?:this|it)|this|the following|below)\b",
    re.IGNORECASE,
)
_VERB_BEFORE_VALUE = re.compile(r"^\s*(?:is|are|runs?(?: on)?|uses?)\s+", re.IGNORECASE)
_VALUE_END = re.compile(r",? (?:and|but|since|so|because|who|which)\b|[;(]", re.IGNORECASE)
_PET = re.compile(
    r"\b(?P<animal>dog|cat)s?\b(?: is)?,? (?:called|named|whose name is|name is) (?P<value>(?-i:[A-Z])[\w'-]{1,20})",
    re.IGNORECASE,
)
_FIRST_PERSON = {"is": "am", "has": "have", "does": "do", "doesn't": "don't", "was": "was"}
_THIRD_PERSON_S = re.compile(r"(?<=[a-z])(?<!s)s$")


def introduction_in(text: str) -> Iterator[Reading]:
    """Yield what "Hi, I'm Arun, a data scientist" says: a name is only taken for one after a greeting or before a trade."""
    met = _INTRODUCTION.match(text)
    if met is None:
        return
    yield _named(met["value"] or met["value2"])
    if met["job"] and is_job(met["job"]):
        job = parts_of(met["job"])[0]
        yield Reading(f"The user is {in_third_person(job)}", "persona", 70, "occupation", plain_value(job))


def facts_in(part: str) -> Iterator[Reading]:
    """Yield what one part of a sentence states."""
    part = tidied(without_leads(part))
    if (reminder := _REMIND.match(part)) is not None:
        wish = f"The user wants to be reminded to {in_third_person(reminder['value'])}"
        yield Reading(wish, "episodic", 65, tense="future")
        return
    time = None
    subject = _I.match(part)
    if subject is None and (time := _TIME_FIRST.match(part)) is not None:
        subject = _I.match(part, time.end())
    if subject is None:
        owned = _owned(part)
        if owned is not None:
            yield from _with_pet(owned, part)
        return
    if subject["name"]:
        yield _named(subject["name"])
    told_by_others = subject[0].lower().startswith("the user")
    said = _LONG_FORMS.get((subject["short"] or "").lower(), "") + part[subject.end() :]
    for piece in predicates_of(said):
        when = lower_first(time["time"].strip()) if time else ""
        reading = predicate(_in_first_person(piece) if told_by_others else piece, when)
        if reading is not None:
            yield from _with_pet(reading, piece)


def _in_first_person(text: str) -> str:
    """Undo the third person of a sentence that already speaks of "the user"."""
    verb, _, rest = text.partition(" ")
    return f"{_FIRST_PERSON.get(verb.lower()) or _THIRD_PERSON_S.sub('', verb)} {rest}"


def _owned(part: str) -> Reading | None:
    if (name := _MY_NAME.match(part)) is not None:
        return _named(name["value"])
    owned = _OWNED.match(part)
    if owned is not None and not _NO_NEWS.match(owned["value"]):
        what = owned["what"].lower()
        slot = what.replace("favorite", "favourite") if what.startswith("favo") else _SLOTS.get(what, "")
        content = f"The user's {in_third_person(part[owned.start('what') :])}"
        priority = 85 if _BODY.search(what) else 70 if slot == "birthday" else 60
        return Reading(content, "persona", priority, slot, _value(owned["value"]) if slot else "")
    team = _TEAM.match(part)
    if team is not None and not _NO_NEWS.search(team["rest"][:24]):
        what = team["what"].lower()
        slot = "database" if what in ("database", "db") else ""
        value = _value(_VERB_BEFORE_VALUE.sub("", team["rest"])) if slot else ""
        past: Tense | None = "past" if re.match(r"\s\w+ed\b", team["rest"]) else None
        whose = "The user's" if _A_GROUP.search(what) else "The user's team's"
        return Reading(f"{whose} {team['what']}{in_third_person(team['rest'])}", "persona", 60, slot, value, tense=past)
    return None


def _value(text: str) -> str:
    return plain_value(_VALUE_END.split(text)[0])


def _with_pet(reading: Reading, text: str) -> Iterator[Reading]:
    """Yield a reading, and the name of a pet that it mentions: in the reading's own slot when it has none."""
    pet = _PET.search(text)
    if pet is None:
        yield reading
        return
    animal = pet["animal"].lower()
    slot, value = f"{animal}_name", plain_value(pet["value"])
    if reading.slot:
        yield reading
        yield Reading(f"The user's {animal} is called {pet['value']}", "persona", 65, slot, value)
    else:
        yield replace(reading, slot=slot, value=value)


def _named(name: str) -> Reading:
    name = _AFTER_NAME.sub("", name.strip(" .,"))
    return Reading(f"The user's name is {name}", "persona", 85, "name", plain_value(name))
