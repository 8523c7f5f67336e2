"""English: which sentences order the assistant how to work from now on, and what exactly they order.

An order is stored only with standing wording ("from now on", "always", "never", "in your answers" …). One that names
this task or this once is recognised and dropped: it must not become a rule (user needs A10, B21).
"""

from __future__ import annotations

import re

from memstrata.distill.rules.en.person import of_the_user, third_person
from memstrata.distill.rules.en.words import lower_first, tidied
from memstrata.distill.rules.reading import Reading, plain_value
from memstrata.records import AppliesTo

__all__ = ["order_in"]

_ONE_OFF = re.compile(
    r"\b(?:for|in|with|on) (?:just )?this (?:one|check|task|time|reply|answer|message|question|test|case|response|email"
    r"|file|example|step|prompt|request)\b|\bthis (?:time|once|one)\b|\bjust (?:this )?once\b"
    r"|\bfor (?:now|today|the moment|the time being)\b|\btoday only\b|\btemporarily\b|\bright now\b|\bjust now\b"
    r"|\bfor (?:a|one) (?:moment|minute|second)\b",
    re.IGNORECASE,
)
_WITHIN_PROJECT = r"(?:in|for|on) (?:this|the current) (?:project|repo(?:sitory)?|codebase|app)\b"
_WITHIN_CONVERSATION = r"(?:in|for|during) (?:this|the current) (?:conversation|chat|session|thread)\b"
_PROJECT = re.compile(rf"\b{_WITHIN_PROJECT}", re.IGNORECASE)
_CONVERSATION = re.compile(rf"\b{_WITHIN_CONVERSATION}", re.IGNORECASE)
_WITHIN = re.compile(rf"(?:{_WITHIN_PROJECT}|{_WITHIN_CONVERSATION}),?\s+", re.IGNORECASE)

_FROM_NOW = (
    r"(?:from now on|going forward|moving forward|from today(?: on)?|starting (?:now|today)|in (?:the )?future"
    r"|henceforth|as a (?:general )?rule|by default|in general)"
)
_FROM_NOW_FIRST = re.compile(rf"{_FROM_NOW}[,:]?\s+(?P<body>.{{3,300}})", re.IGNORECASE)
_FROM_NOW_LAST = re.compile(
    rf"(?P<body>.{{3,300}}?),?\s+(?:{_FROM_NOW}|at all times|every (?:single )?time)$", re.IGNORECASE
)
_ASKED = re.compile(
    r"(?:please |kindly |and |also |then |so ){0,3}"
    r"(?:you (?:should|must|need to|have to|are to|can|will|shall|may)"
    r"|I(?:'d| would)? (?:really )?(?:want|need|expect|like|prefer|ask) (?:for )?you to"
    r"|make sure (?:to|you|that you)|be sure to|try to|remember to|can you|could you|would you"
    r"|it's important (?:that you|to))?\s?(?:please )?",
    re.IGNORECASE,
)
_NOT_TO_THE_AI = re.compile(r"(?:I|I'm|I'll|we|my|it|the|he|she|they)\b", re.IGNORECASE)
_ALWAYS_NEVER = re.compile(
    r"(?:always|never(?:,? ever)?|under no circumstances)\s+"
    r"(?!(?:mind|been|had|said|did|was|a|the|again|knew|thought)\b)[a-z]",
    re.IGNORECASE,
)
_NO_MORE = re.compile(
    r"(?:do not|don't)\s+(?:ever\s+.{2,200}"
    r"|.{2,200}\b(?:again|any ?more|ever|in (?:the )?future|in (?:your|any) (?:answers|replies|responses|messages|code"
    r"|emails|examples))\b.*|(?:call me|use (?:emojis?|jargon|emoticons|slang|abbreviations)|apologi[sz]e)\b.*)"
    r"|stop (?:using|calling|adding|apologi[sz]ing|asking|saying|suggesting|repeating|including|recommending|writing"
    r"|starting|ending|sending|giving|telling)\b.{2,200}"
    r"|no more (?:emojis?|jargon|apologies|disclaimers|small talk|exclamation marks|bullet points)\b.{0,100}",
    re.IGNORECASE,
)
_REPLIES = (
    r"(?:answers?|replies|reply|responses?|explanations?|summaries|messages|emails|code(?: (?:samples?|examples?|blocks?))?"
    r"|output|suggestions|diagrams|recipes|examples|reports)"
)
_ABOUT_REPLIES = re.compile(
    rf"(?:keep|make|write|format|structure|limit|start|end|begin|give|show)\s+(?:me\s+)?(?:all )?(?:of )?your\s+(?:\w+ )?"
    rf"{_REPLIES}\b.{{2,200}}"
    r"|(?:answer|reply|respond|write|speak|talk|explain)(?: to me| me| everything| things)?\s+(?:only |always )?in\s+"
    r"(?P<language>english|chinese|mandarin|japanese|german|french|spanish|korean|portuguese|italian|russian|dutch)\b.{0,80}"
    r"|use (?:metric|imperial|celsius|fahrenheit|24-hour|iso|british|american|plain text|bullet points|type hints"
    r"|si units)\b.{0,120}",
    re.IGNORECASE,
)
_YOUR_REPLIES = re.compile(
    rf"(?P<what>(?:all )?your {_REPLIES}) (?:should|must|have to|need to)(?P<adverb> always| never)? (?P<body>.{{3,200}})",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"I (?:really |strongly |usually |generally |always |would )?"
    r"(?P<verb>prefer|like|want|love|hate|dislike|don't like|do not like|don't want|can't stand)\s+"
    rf"(?:it when |when |if |to (?:get|see|read|have) )?(?P<what>(?:your? )?(?:[\w-]+,? ){{0,4}}?{_REPLIES})\b.{{0,200}}",
    re.IGNORECASE,
)
_CALL_ME = re.compile(
    r"(?:(?:everyone|everybody|people|friends|you can|please|just|you may|they) ){0,3}calls? me "
    r"(?P<value>(?!(?:back|later|when|if|at|tomorrow|crazy|an?|on)\b)[^\W\d_][\w'.-]{0,20}(?: (?-i:[A-Z])[\w'.-]{0,20})?)$",
    re.IGNORECASE,
)
_WHENEVER = re.compile(
    r"(?P<when>(?:whenever|every time|each time|any time|anytime|when|if) (?:I|you|someone|there|we)\b[^,]{3,120}),\s+"
    r"(?:please |then |always |you (?:should|must) ){0,2}(?P<body>(?:always |never |don't |do not )?[a-z]\w+ .{2,200})",
    re.IGNORECASE,
)
_IMPERATIVE = (
    r"(?:answer|reply|respond|use|add|list|keep|write|cite|mention|ask|check|call|explain|give|show|put|format|be|avoid"
    r"|include|start|end|convert|suggest|recommend|tell|send|make|provide|point|quote|prefer|stick|speak|translate|name"
    r"|label|do|say|run|test|confirm|double-check|warn|remind|follow|think|assume|summari[sz]e|skip|treat|address|sign"
    r"|limit)"
)
_IS_IMPERATIVE = re.compile(rf"(?:(?:always|never|don't|do not|only|please) ){{0,3}}{_IMPERATIVE}\b", re.IGNORECASE)
_REMEMBER_TO = re.compile(rf"to (?P<body>(?:always |never )?{_IMPERATIVE}\b.{{2,200}})", re.IGNORECASE)
_ABSOLUTE = re.compile(
    r"\bnever,? ever\b|\bunder no circumstances\b|\bno matter what\b|\bwithout exception\b", re.IGNORECASE
)
_STRONG = re.compile(r"\b(?:always|never|must|ever|at all times)\b", re.IGNORECASE)
_NEGATED = re.compile(r"(?:do not|don't)\s+", re.IGNORECASE)
_YOUR = re.compile(r"\byour\b", re.IGNORECASE)


def order_in(part: str, *, remembered: bool) -> tuple[Reading, ...] | None:
    """Return the standing order in one part of a sentence: () for one that holds only once, None when it is no order.

    `remembered` says that "remember" stood before it.
    """
    text = tidied(part)
    if (wish := _wish(text)) is not None:
        return () if _holds_once(text) else (wish,)
    if (name := _CALL_ME.match(text)) is not None:
        return (_order(f"to call the user {name['value']}", 80, "form_of_address", name["value"]),)
    standing = _standing(text, remembered=remembered)
    if standing is None:
        return () if _ONE_OFF.search(text) and _IS_IMPERATIVE.match(text) else None
    if _holds_once(text):
        return ()
    body, condition = standing
    about = _ABOUT_REPLIES.match(body)
    language = about["language"] if about else None
    slot = "reply_language" if language else ""
    return (_order(_asked(body) + condition, _weight(text), slot, language or "", _reach(text)),)


def _standing(text: str, *, remembered: bool) -> tuple[str, str] | None:
    """Return the body of a standing order and when or where it holds, as it is said after the body."""
    whenever = _WHENEVER.match(text)
    if whenever is not None and _IS_IMPERATIVE.match(whenever["body"]):
        return whenever["body"], f" {of_the_user(lower_first(whenever['when']))}"
    if remembered and (to_do := _REMEMBER_TO.match(text)) is not None:
        return to_do["body"], ""
    if (first := _FROM_NOW_FIRST.match(text)) is not None:
        body = _bare(first["body"])
        return None if _NOT_TO_THE_AI.match(body) else (body, " from now on")
    last = _FROM_NOW_LAST.match(text)
    if last is not None and _IS_IMPERATIVE.match(_bare(last["body"])):
        return _bare(last["body"]), " from now on"
    where = _WITHIN.match(text)
    bare = _bare(text[where.end() :] if where else text)
    if _ALWAYS_NEVER.match(bare) or _NO_MORE.match(bare) or _ABOUT_REPLIES.match(bare) or _YOUR_REPLIES.match(bare):
        return bare, f" {where[0].strip(' ,').lower()}" if where else ""
    return None


def _wish(text: str) -> Reading | None:
    """Read "I prefer short answers": a liking that is an order, because it is about answers."""
    wish = _WISH.match(text)
    if wish is None or (wish["verb"].lower() == "want" and not wish["what"].endswith("s")):
        return None
    return Reading(f"The user {third_person(text.removeprefix('I '))}", "instruction", 75)


def _bare(text: str) -> str:
    asked = _ASKED.match(text)
    return text[asked.end() :] if asked else text


def _asked(body: str) -> str:
    """Return an order as it follows "The user asks the AI": with a to-infinitive wherever it is one."""
    if (replies := _YOUR_REPLIES.match(body)) is not None:
        what = _YOUR.sub("its", replies["what"].lower())
        return f"that {what}{replies['adverb'] or ''} {of_the_user(replies['body'])}"
    if (negated := _NEGATED.match(body)) is not None:
        return f"not to {of_the_user(body[negated.end() :])}"
    if body.lower().startswith("no more "):
        return f"for {of_the_user(lower_first(body))}"
    if body.lower().startswith("under no circumstances "):
        return f"to {of_the_user(body.split(' ', 3)[3])} under no circumstances"
    return f"to {of_the_user(lower_first(body))}"


def _order(asked: str, priority: int, slot: str = "", value: str = "", applies_to: AppliesTo = "always") -> Reading:
    content = f"The user asks the AI {_YOUR.sub('its', asked)}"
    return Reading(content, "instruction", priority, slot, plain_value(value), applies_to)


def _weight(text: str) -> int:
    if _ABSOLUTE.search(text):
        return -1
    if _STRONG.search(text):
        return 90
    return 85 if re.search(_FROM_NOW, text, re.IGNORECASE) else 80


def _reach(text: str) -> AppliesTo:
    if _PROJECT.search(text):
        return "project"
    return "scene" if _CONVERSATION.search(text) else "always"


def _holds_once(text: str) -> bool:
    return _ONE_OFF.search(text) is not None and _reach(text) == "always"
