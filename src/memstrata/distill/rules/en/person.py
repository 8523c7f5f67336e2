"""English from the first person to the third: "I've moved with my dog" → "The user has moved with their dog".

Small on purpose: it is only applied to predicates that a pattern has recognised, so the verb is known to be one.
"""

from __future__ import annotations

import re

__all__ = ["conjugated", "in_third_person", "of_the_user", "third_person"]

_IRREGULAR = {
    "am": "is",
    "were": "was",
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "haven't": "hasn't",
    "weren't": "wasn't",
    "aren't": "isn't",
}
_UNCHANGED = re.compile(
    r"will|won't|would|wouldn't|can|can't|cannot|could|couldn't|should|shouldn't|must|may|might|shall|had|hadn't|did"
    r"|didn't|is|isn't|was|wasn't|has|hasn't|used"
    # past forms that do not end in -ed
    r"|went|came|got|left|quit|bought|sold|won|ran|broke|began|chose|wrote|built|took|gave|became|met|found|lost|spent"
    r"|grew|fell|felt|flew|drove|made|saw|told|said|thought|taught|caught|brought|paid|sent|kept|slept|hurt|cut|put|held"
    r"|led|knew|heard|stood|swam|sang|drew|rode|woke|wore"
    r"|(?!(?:ne|fe|spe|ble|bre|exce|proce|succe|embe|he|se|we|she)ed$|shed$)\w+ed"
)
_ADVERB = re.compile(
    r"really|also|always|usually|never|often|mostly|mainly|still|now|currently|recently|just|absolutely|only|sometimes"
    r"|generally|typically|normally|rarely|truly|actually|simply|finally|already|both|almost|kind|sort|definitely"
    r"|strongly|particularly|especially|hardly|barely|seldom|regularly|occasionally|officially|personally|no|longer|long"
    r"|soon|probably|even|greatly|deeply|totally|very|much|once|since|first|originally|lately|again|ever|successfully"
)

_PRONOUN = re.compile(
    r"\b(?:I'm|I am|I've|I have|I'll|I was|I|me|mine|myself|my|we're|we|our|ours|us|ourselves|your|yours|you)\b",
    re.IGNORECASE,
)
_THIRD = {
    "i'm": "they're",
    "i am": "they are",
    "i've": "they've",
    "i have": "they have",
    "i'll": "they'll",
    "i was": "they were",
    "i": "they",
    "me": "them",
    "mine": "theirs",
    "myself": "themselves",
    "my": "their",
    "we're": "they're",
    "we": "they",
    "our": "their",
    "ours": "theirs",
    "us": "them",
    "ourselves": "themselves",
    "your": "the AI's",
    "yours": "the AI's",
    "you": "the AI",
}
_NAMED = {
    "i'm": "the user is",
    "i am": "the user is",
    "i've": "the user has",
    "i have": "the user has",
    "i was": "the user was",
    "i'll": "the user will",
    "me": "the user",
    "mine": "the user's",
    "myself": "the user",
    "my": "the user's",
}
_I_AND_VERB = re.compile(r"\bI (?P<verb>[a-z']+)\b")


def third_person(predicate: str) -> str:
    """Return what follows "I" as what follows "The user", with everything after it in the third person."""
    words = predicate.split(" ")
    at = 0
    while at < len(words) - 1 and _ADVERB.fullmatch(words[at].lower().rstrip(",")):
        at += 1
    rest = in_third_person(" ".join(words[at + 1 :]))
    return " ".join((*words[:at], conjugated(words[at]), rest)).strip()


def in_third_person(text: str) -> str:
    """Return a text that does not begin with a verb of "I", with its pronouns in the third person."""
    return _PRONOUN.sub(lambda match: _THIRD[match[0].lower()], text)


def conjugated(verb: str) -> str:
    """Return a verb as it follows "the user": present forms get their s, past forms and modals stay."""
    folded = verb.lower()
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    if _UNCHANGED.fullmatch(folded):
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", folded):
        return f"{verb}es"
    if re.search(r"[^aeiou]y$", folded):
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def of_the_user(text: str) -> str:
    """Return a text said to the AI with the user named in it: "call me by my name" → "call the user by the user's name"."""
    named = _I_AND_VERB.sub(lambda match: f"the user {conjugated(match['verb'])}", text)
    return re.sub(
        r"\b(?:I'm|I've|I'll|me|mine|myself|my)\b", lambda match: _NAMED[match[0].lower()], named, flags=re.IGNORECASE
    )
