"""English words that several patterns need, and how a sentence is cut and trimmed before it is read."""

from __future__ import annotations

import re

__all__ = [
    "ADVERBS",
    "DEICTIC",
    "END",
    "JOB",
    "is_job",
    "lower_first",
    "parts_of",
    "predicates_of",
    "tidied",
    "where_parts_begin",
    "without_leads",
]

_MOST_PARTS = 24

ADVERBS = (
    r"(?:(?:really|also|always|usually|often|mostly|mainly|still|now|currently|recently|just|absolutely|only|sometimes"
    r"|generally|typically|normally|truly|actually|simply|finally|already|definitely|particularly|especially|officially"
    r"|personally|both|very much|regularly)\s+){0,3}"
)
END = r"(?=$|[,;(]| and | but | with | as | at | for | from | in | now\b| since | because | where | near | about )"
DEICTIC = re.compile(
    r"(?:it|this|that|these|those|you|your|them|him|her|the (?:idea|way|fact)|how|what|when|where"
    r"|to (?:know|see|ask|hear))\b",
    re.IGNORECASE,
)
JOB = (
    r"(?:[\w+#/-]+ ){0,4}?(?:\w+(?:er|or|ist|ian|eer|ant|yst|ect|ician)|nurse|lawyer|chef|student|cook|pilot|attorney"
    r"|founder|cto|ceo|cfo|pm|freelance|nanny|paramedic|mechanic|electrician|plumber|carpenter|firefighter|judge|poet"
    r"|artist|surgeon|dentist|vet|lead|head of \w+|undergrad|graduate|intern|phd (?:student|candidate)|postdoc"
    r"|researcher|resident|parent|housewife|retiree|coach|clerk|midwife|sre|dba)"
)
_NO_JOB = re.compile(
    r"(?:an? )?(?:\w+ )?(?:bit|lot|fan|little|number|lover|eater|person|believer|beginner|owner|minor|fighter|supporter"
    r"|member|user|speaker|customer|subscriber|buyer|outlier|burger|father|mother|brother|sister)\b",
    re.IGNORECASE,
)

_CUT = re.compile(
    r"(?:\s?[,;–—]|\s-|\.{2,8})?\s+(?:and|but|so|although|though|while|plus)\s+"
    r"(?=(?:I|I'm|I've|I'll|my|remind me|call me|please)\b)"
    r"|\s?[,;]\s+(?=(?:I|I'm|I've|I'll|my)\b)|\.{3,8}\s+|\s+[–—]\s+|:\s+(?=(?:I|I'm|I've|my)\b)",
    re.IGNORECASE,
)
_OF_OTHERS = re.compile(r"(?:our|my)\b", re.IGNORECASE)
_SECOND_VERB = re.compile(
    r",?\s+and\s+(?=(?:work (?:at|as|for|in)|live in|love|hate|prefer|speak|have (?:an?|two|three|no)|am|don't|never"
    r"|always|can't|dislike|enjoy)\b)|,\s+(?:and\s+)?(?=allergic to\b)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:well|so|also|and|but|oh|hey|hi|hello|hi there|morning|good (?:morning|evening|afternoon)|yes|no|yeah|actually"
    r"|btw|by the way|fyi|note that|note|correction|sorry|just so you know|so you know|for the record|as i said"
    r"|as i mentioned|ok|okay|anyway|honestly|you know|in fact|to be clear|to be honest|unfortunately|luckily"
    r"|fortunately|happy new year|big news|good news|great news|update|great|perfect|thanks|thank you|no wait|wait"
    r"|personally|a bit about me|about me|about myself|first|second|third|finally|because|since|before that"
    r"|one more thing|two things|a few things|some context|for context)\b[\s,:!.–—-]{0,6}",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r",? ?\b(?:by the way|btw|please|thanks|thank you|too|though|as well|you know|haha|lol)$", re.IGNORECASE
)
_TAIL_MARKS = " .!,;:…)~😀😁😂🙂😊😍😎😅🎉🙏👍❤️✨🥹"
_TAIL_REACH = 16
_ONE_I = re.compile(r"\bi\b(?=['\s])")
_STAYS_CAPITAL = re.compile(r"(?:I|[A-Z]{2,})\b")


def tidied(text: str) -> str:
    """Return a sentence with plain apostrophes and a capital I, without pleasantries and marks at its end."""
    tidy = _ONE_I.sub("I", " ".join(text.replace("’", "'").split()))
    for _ in range(3):
        tidy = tidy.rstrip(_TAIL_MARKS)
        tail = _TAIL.search(tidy, max(0, len(tidy) - _TAIL_REACH))
        if tail is None:
            break
        tidy = tidy[: tail.start()]
    return tidy


def without_leads(text: str) -> str:
    """Return a part from where it states something: "well, actually I …" → "I …"."""
    for _ in range(4):
        lead = _LEAD.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def parts_of(text: str) -> list[str]:
    """Cut a sentence where a new statement begins. What is said of a team or a relative keeps its second half."""
    return [
        piece
        for part in _CUT.split(text)[:_MOST_PARTS]
        for piece in ([part] if _OF_OTHERS.match(part) else part.split("; "))
        if piece
    ]


def where_parts_begin(text: str) -> list[int]:
    """Return the places at which the parts of a sentence start."""
    return [0, *(cut.end() for cut in _CUT.finditer(text))][:_MOST_PARTS]


def predicates_of(predicate: str) -> list[str]:
    """Split "live in Berlin and love hiking" when both are said of the same subject."""
    pieces = _SECOND_VERB.split(predicate)
    if len(pieces[0].split()) < 2:
        return [predicate]
    return [f"am {piece}" if piece.lower().startswith("allergic") else piece for piece in pieces]


def is_job(text: str) -> bool:
    """Return whether a phrase that JOB matched is one: "a coffee lover" ends like a trade."""
    return _NO_JOB.match(text) is None


def lower_first(text: str) -> str:
    """Return a text that goes on inside a sentence."""
    return text if _STAYS_CAPITAL.match(text) else text[:1].lower() + text[1:]
