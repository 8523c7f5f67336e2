"""English: which sentences order the assistant how to work from now on, and what exactly they order.

An order is stored only with standing wording ("from now on", "always", "never", "in your answers" …). One that names
this task or this once is recognised and dropped: it must not become a rule (user needs A10, B21).
"""

from __future__ import annotations

import re

from memstrata.distill.rules.person import of_the_user, third_person
from memstrata.distill.rules.reading import Reading, plain_value
from memstrata.records import AppliesTo

__all__ = ["order_of"]

_ONE_OFF = re.compile(
    r"\b(?:for|in|with|on) (?:just )?this (?:one|check|task|time|reply|answer|message|question|test|case|response|email|file|example|step|prompt|request)\b"
    r"|\bthis (?:time|once|one)\b|\bjust (?:this )?once\b|\bfor (?:now|today|the moment|the time being)\b|\btoday only\b|\btemporarily\b"
    r"|\bright now\b|\bjust now\b|\bfor (?:a|one) (?:moment|minute|second)\b",
    re.IGNORECASE,
)
_PROJECT = re.compile(r"\b(?:in|for|on) (?:this|the current) (?:project|repo(?:sitory)?|codebase|app)\b", re.IGNORECASE)
_CONVERSATION = re.compile(
    r"\b(?:in|for|during) (?:this|the current) (?:conversation|chat|session|thread)\b", re.IGNORECASE
)

_WITHIN = re.compile(
    r"(?:in|for|on|during) (?:this|the current) "
    r"(?:project|repo(?:sitory)?|codebase|app|conversation|chat|session|thread),?\s+",
    re.IGNORECASE,
)
_FROM_NOW = r"(?:from now on|going forward|moving forward|from today(?: on)?|starting (?:now|today)|in (?:the )?future|henceforth|as a (?:general )?rule|by default|in general)"
_FROM_NOW_FIRST = re.compile(rf"{_FROM_NOW}[,:]?\s+(?P<body>.{{3,300}})", re.IGNORECASE)
_FROM_NOW_LAST = re.compile(
    rf"(?P<body>.{{3,300}}?),?\s+(?:{_FROM_NOW}|at all times|every (?:single )?time)$", re.IGNORECASE
)
_ASKED = re.compile(
    r"(?:please |kindly |and |also |then )*"
    r"(?:you (?:should|must|need to|have to|are to|can|will|shall|may)|I(?:'d| would)? (?:really )?(?:want|need|expect|like|prefer|ask) (?:for )?you to"
    r"|make sure (?:to|you|that you)|be sure to|try to|remember to|can you|could you|would you|it's important (?:that you|to))?\s*(?:please )?",
    re.IGNORECASE,
)
_ALWAYS_NEVER = re.compile(
    r"(?:always|never(?:,? ever)?|under no circumstances)\s+(?!mind\b|been\b|had\b|said\b|did\b|was\b|a\b|the\b|again\b|knew\b|thought\b)[a-z]",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"(?:do not|don't|don't you)\s+(?:ever\s+.{2,200}|.{2,200}\b(?:again|any ?more|ever|in (?:your|any|the|future) ?(?:answers|replies|responses|messages|code|emails|examples)?)\b.*|(?:call me|use (?:emojis?|jargon|emoticons|slang|abbreviations)|apologi[sz]e)\b.*)"
    r"|stop (?:using|calling|adding|apologi[sz]ing|asking|saying|suggesting|repeating|including|recommending|writing|starting|ending|sending|giving|telling)\b.{2,200}"
    r"|no more (?:emojis?|jargon|apologies|disclaimers|small talk|exclamation marks|bullet points)\b.{0,100}",
    re.IGNORECASE,
)
_REPLIES = r"(?:answers?|replies|reply|responses?|explanations?|summaries|messages|emails|code(?: (?:samples?|examples?|blocks?))?|output|suggestions|diagrams|recipes|examples|reports)"
_ABOUT_REPLIES = re.compile(
    rf"(?:keep|make|write|format|structure|limit|start|end|begin|give|show)\s+(?:me\s+)?(?:all )?(?:of )?your\s+(?:\w+ )?{_REPLIES}\b.{{2,200}}"
    r"|(?:answer|reply|respond|write|speak|talk|explain)(?: to me| me| everything| things)?\s+(?:only |always )?in\s+(?P<language>english|chinese|mandarin|japanese|german|french|spanish|korean|portuguese|italian|russian|dutch)\b.{0,80}"
    r"|use (?:metric|imperial|celsius|fahrenheit|24-hour|iso|british|american|plain text|bullet points|type hints|si units)\b.{0,120}",
    re.IGNORECASE,
)
_YOUR_REPLIES = re.compile(
    rf"(?P<what>(?:all )?your {_REPLIES}) (?:should|must|have to|need to)(?P<adverb> always| never)? (?P<body>.{{3,200}})",
    re.IGNORECASE,
)
_WISH = re.compile(
    rf"I (?:really |strongly |usually |generally |always |would )?(?P<verb>prefer|like|want|love|hate|dislike|don't like|do not like|don't want|can't stand)\s+(?:it when |when |if |to (?:get|see|read|have) )?(?P<what>(?:you(?:r)? )?(?:[\w-]+,? ){{0,4}}?{_REPLIES})\b(?P<rest>.{{0,200}})",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"(?:(?:everyone|everybody|people|friends|you can|please|just|you may|they) )*calls? me (?P<value>(?!back|later|when|if|at|tomorrow|crazy|a |an |on )[^\W\d_][\w'’.-]{0,20}(?: [A-Z][\w'’.-]{0,20})?)$",
    re.IGNORECASE,
)
_WHEN_ASKED = re.compile(
    r"(?P<when>(?:whenever|every time|each time|any time|anytime|when|if) (?:I|you|someone|there|we)\b[^,]{3,120}),\s+(?:please |then |always |you (?:should|must) )*(?P<body>(?:always |never |don't |do not )?[a-z]\w+ .{2,200})",
    re.IGNORECASE,
)
_IMPERATIVE = r"answer|reply|respond|use|add|list|keep|write|cite|mention|ask|check|call|explain|give|show|put|format|be|avoid|include|start|end|convert|suggest|recommend|tell|send|make|provide|point|quote|prefer|stick|speak|translate|name|label|do|say|run|test|confirm|double-check|warn|remind|follow|think|assume|summari[sz]e|skip|treat|address|sign|limit"
_IS_IMPERATIVE = re.compile(rf"(?:always |never |don't |do not |only |please )*(?:{_IMPERATIVE})\b", re.IGNORECASE)
_REMEMBER_TO = re.compile(rf"to (?P<body>(?:always |never )?(?:{_IMPERATIVE})\b.{{2,200}})", re.IGNORECASE)
_ABSOLUTE = re.compile(
    r"\bnever,? ever\b|\bunder no circumstances\b|\bno matter what\b|\bwithout exception\b|\balways,? always\b",
    re.IGNORECASE,
)
_YOUR = re.compile(r"\byour\b", re.IGNORECASE)
_PLEASANTRIES = re.compile(r"(?:,?\s*(?:please|thanks|thank you|ok|okay)|[\s.!,;:)~]|:\))+$", re.IGNORECASE)


def order_of(part: str, *, remembered: bool) -> tuple[Reading, ...] | None:
    """Return the standing order in one part of a sentence: () for one that holds only once, None when it is no order.

    `remembered` says that "remember" stood before it.
    """
    text = _PLEASANTRIES.sub("", part)
    if (wish := _wish(text)) is not None:
        return () if _holds_once(text) else (wish,)
    if (name := _CALL_ME.match(text)) is not None:
        return (_order(f"to call the user {name['value']}", 80, "form_of_address", name["value"]),)
    body, suffix = _standing(text, remembered=remembered)
    if body is None:
        return () if _ONE_OFF.search(text) and _IS_IMPERATIVE.match(text) else None
    if _holds_once(text):
        return ()
    slot, value = _reply_language(body)
    where = _WITHIN.match(text)
    suffix += f" {where[0].strip(' ,').lower()}" if where else ""
    return (_order(_asked(body) + suffix, _weight(text), slot, value, _reach(text)),)


def _standing(text: str, *, remembered: bool) -> tuple[str | None, str]:
    """Return the body of a standing order, or None, and what is said after it."""
    if (conditional := _WHEN_ASKED.match(text)) is not None and _IS_IMPERATIVE.match(conditional["body"]):
        return conditional["body"], f" {of_the_user(_lower_first(conditional['when']))}"
    if remembered and (to_do := _REMEMBER_TO.match(text)) is not None:
        return to_do["body"], ""
    if (first := _FROM_NOW_FIRST.match(text)) is not None:
        body = first["body"]
        if re.match(r"(?:I|I'm|I'll|we|my)\b", body) and not _ASKED.match(body)[0].lower().startswith("i"):  # type: ignore[index]
            return None, ""
        if re.match(r"(?:I|I'm|I'll|we|my|it|the|he|she|they)\b", _bare(body)):
            return None, ""
        return _bare(body), " from now on"
    if (last := _FROM_NOW_LAST.match(text)) is not None and _IS_IMPERATIVE.match(_bare(last["body"])):
        return _bare(last["body"]), " from now on"
    where = _WITHIN.match(text)
    bare = _bare(text[where.end() :] if where else text)
    if _ALWAYS_NEVER.match(bare) or _NO_MORE.match(bare):
        return bare, ""
    if _ABOUT_REPLIES.match(bare) or _YOUR_REPLIES.match(text):
        return (text if _YOUR_REPLIES.match(text) else bare), ""
    return None, ""


def _wish(text: str) -> Reading | None:
    wish = _WISH.match(text)
    if wish is None or (wish["verb"].lower() == "want" and not re.search(r"s$", wish["what"])):
        return None
    verb, rest = text.removeprefix("I ").strip(), ""
    return Reading(f"The user {third_person(verb)}{rest}", "instruction", 75)


def _bare(text: str) -> str:
    asked = _ASKED.match(text)
    return text[asked.end() :] if asked else text


def _asked(body: str) -> str:
    """Return an order as it follows "The user asks the AI": with a to-infinitive wherever it is one."""
    if (replies := _YOUR_REPLIES.match(body)) is not None:
        what = replies["what"].lower().replace("your", "its")
        return f"that {what}{replies['adverb'] or ''} {of_the_user(replies['body'])}"
    if negated := re.match(r"(?:please )?(?:do not|don't)(?: you)?\s+", body, re.IGNORECASE):
        return f"not to {of_the_user(body[negated.end() :])}"
    if body.lower().startswith("under no circumstances "):
        return f"to {of_the_user(body[23:])} under no circumstances"
    if body.lower().startswith("no more "):
        return f"for {of_the_user(_lower_first(body))}"
    return f"to {of_the_user(_lower_first(body))}"


def _order(asked: str, priority: int, slot: str = "", value: str = "", applies_to: AppliesTo = "always") -> Reading:
    return Reading(
        f"The user asks the AI {_YOUR.sub('its', asked)}", "instruction", priority, slot, plain_value(value), applies_to
    )


def _weight(text: str) -> int:
    if _ABSOLUTE.search(text):
        return -1
    if re.search(r"\b(?:always|never|must|ever|at all times)\b", text, re.IGNORECASE):
        return 90
    return 85 if re.search(_FROM_NOW, text, re.IGNORECASE) else 80


def _reach(text: str) -> AppliesTo:
    if _PROJECT.search(text):
        return "project"
    return "scene" if _CONVERSATION.search(text) else "always"


def _holds_once(text: str) -> bool:
    return _ONE_OFF.search(text) is not None and _reach(text) == "always"


def _reply_language(body: str) -> tuple[str, str]:
    about = _ABOUT_REPLIES.match(re.sub(r"^(?:always|only)\s+", "", body, flags=re.IGNORECASE))
    return ("reply_language", about["language"]) if about and about["language"] else ("", "")


def _lower_first(text: str) -> str:
    return text if re.match(r"(?:I|[A-Z]{2,})\b", text) else text[:1].lower() + text[1:]
