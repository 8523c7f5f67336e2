"""English: what a user states about himself, plans, did, and asks for.

A sentence is cut where a new "I" or "my" begins, and each part is read on its own. Patterns start at the part's
beginning, so what others are, say and like is not taken for the user's. Content keeps the user's words in the third
person. Lengths in patterns are bounded, so reading is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memstrata.distill.rules.dates import mentions_a_date
from memstrata.distill.rules.en_orders import order_of
from memstrata.distill.rules.person import third_person
from memstrata.distill.rules.reading import Correction, Emphasis, Finding, Reader, Reading, Sentence, Tense, plain_value
from memstrata.distill.rules.slots import DIET, TASTE, taste_of
from memstrata.records import MemoryType

__all__ = ["READER"]

_VERBS = (
    r"work (?:at|as|for|in)|live in|love|hate|prefer|speak|have (?:an?|two|three|no)|am|don't|never|always|can't"
    r"|dislike|enjoy"
)
_CUT = re.compile(
    r"(?:\s?[,;–—]|\s-|\.{2,})?\s+(?:and|but|so|although|though|while|plus)\s+(?=(?:I|I'm|I've|I'll|my|remind me|call me|please)\b)"
    r"|\s?[,;]\s+(?=(?:I|I'm|I've|I'll|my)\b)|\.{3,}\s*|\s+[–—]\s+|:\s+(?=(?:I|I'm|I've|my)\b)",
    re.IGNORECASE,
)
_SECOND_VERB = re.compile(rf",?\s+and\s+(?=(?:{_VERBS})\b)|,\s+(?:and\s+)?(?=allergic to\b)", re.IGNORECASE)
_LEAD = re.compile(
    r"(?:well|so|also|and|but|oh|hey|hi|hello|hi there|morning|good (?:morning|evening|afternoon)|yes|no|yeah|actually|btw|by the way|fyi|note"
    r"|note that|correction|sorry|just so you know|so you know|for the record|as i said|as i mentioned|ok|okay|anyway|honestly|you know|in fact"
    r"|to be clear|to be honest|unfortunately|luckily|fortunately|happy new year|big news|good news|great news|update|great|perfect|thanks"
    r"|thank you|no wait|wait|personally|a bit about me|about me|about myself|first|second|third|finally|because|since|before that"
    r"|freelancing update|one more thing|two things|a few things|some context|for context)\b[\s,:!.–—-]*",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"(?:please |and |also )*(?:remember|keep in mind|don't forget|do not forget|make a note|note down|take note|bear in mind|note)\b"
    r"(?: (?:that|this|down))*[\s,:]*",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"(?:please )?(?:remember|keep|note|don't forget|make a note of) (?:that|this)(?: in mind| down)?(?:\s*,? please)?\s*(?:[,.!]|$)",
    re.IGNORECASE,
)
_TIME_FIRST = re.compile(
    r"(?P<time>(?:(?:last|this|next|on|in|since|yesterday|today|tomorrow|tonight|back in|two|three|a few|recently|lately|nowadays|these days"
    r"|currently|right now|at the moment|every|most|the|as of)\b[^,]{0,30}|(?:over|during) the [^,]{1,20})),?\s+(?=(?:I|I'm|I've|I'll)\b)",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:,?\s*(?:by the way|btw|please|thanks|thank you|too|though|as well|you know|haha|lol)|[\s.!,;:…)~]|:\)|:D|[😀-🙏🤀-🫿])+$",
    re.IGNORECASE,
)
_I = re.compile(r"(?:I(?P<short>'m|'ve|'ll|'d)?\b|the user(?: \((?P<name>[^)]{1,20})\))?)\s*", re.IGNORECASE)
_SHORT = {"'m": "am ", "'ve": "have ", "'ll": "will ", "'d": "would "}
_FIRST_WORD = re.compile(r"\bi\b(?=['’]|\s)")
_TEMPORARY = re.compile(r"\b(?:just for now|for the moment|for today only|just this once|just now)\b", re.IGNORECASE)

_ADVERBS = (
    r"(?:(?:really|also|always|usually|often|mostly|mainly|still|now|currently|recently|just|absolutely|only|sometimes|generally"
    r"|typically|normally|truly|actually|simply|finally|already|definitely|particularly|especially|officially|personally|both"
    r"|very much|regularly)\s+){0,3}"
)
_END = r"(?=$|[,;(]| and | but | with | as | at | for | from | in | now\b| since | because | where | near | about )"
_SMALL = r"(?:a|an|the|my|some)\s+"
_DEICTIC = re.compile(
    r"(?:it|this|that|these|those|you|your|them|him|her|the (?:idea|way|fact)|how|what|when|where|to (?:know|see|ask|hear))\b",
    re.IGNORECASE,
)

_DISH = r"(?P<value>(?!to (?:know|see|ask|hear|get|have)\b)[^.;]{1,80})"
_PLACE = r"(?P<value>(?!a |an |the (?!hague|netherlands|uk|us|bay|bronx|north|south|east|west)|my |this |that |fear)[^;]{2,60}?)"
_JOB = (
    r"(?:[\w+#/-]+ ){0,4}?(?:\w+(?:er|or|ist|ian|eer|ant|yst|ect|ician)|nurse|lawyer|chef|student|cook|pilot|attorney|founder|cto|ceo|cfo|pm|"
    r"freelance|nanny|paramedic|mechanic|electrician|plumber|carpenter|firefighter|judge|poet|artist|surgeon|dentist|vet|lead|head of \w+"
    r"|undergrad|graduate|intern|phd (?:student|candidate)|postdoc|researcher|resident|parent|housewife|retiree|coach|clerk|midwife|sre|dba)"
)
_NOT_A_JOB = re.compile(
    r"(?:\w+ )?(?:bit|lot|fan|little|number|lover|eater|person|believer|beginner|owner|minor|fighter|supporter|member|user|speaker|customer|subscriber|buyer|outlier|burger|father|mother|brother|sister)\b",
    re.IGNORECASE,
)
_DIETS = r"(?:vegetarian|vegan|pescatarian|veggie|flexitarian|lacto-vegetarian|halal|kosher|keto|gluten[- ]free)"
_ILLNESS = (
    r"(?:type [12] diabetes|diabetes|asthma|high blood pressure|hypertension|migraines?|epilepsy|arthritis|adhd|insomnia|celiac(?: disease)?"
    r"|coeliac(?: disease)?|lactose intolerance|carpal tunnel(?: syndrome)?|ibs|anemia|anaemia|tinnitus|eczema|depression|anxiety|vertigo|gout"
    r"|a bad (?:knee|back)|an? \w+ condition|an? (?:heart|thyroid|kidney) \w+)"
)
_FAMILY = r"(?:dogs?|cats?|sons?|daughters?|kids?|child(?:ren)?|brothers?|sisters?|wife|husband|partner|girlfriend|boyfriend|twins?|parrot|rabbits?|hamster|horse|puppy|kittens?|garden|car|bike|motorbike|house|flat|apartment|phd|degree)"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a predicate after "I" states."""

    pattern: re.Pattern[str]
    type: MemoryType
    priority: int
    slot: str = ""
    tense: Tense | None = None
    ends: str = ""
    dated: bool = False  # only with a date: otherwise it is small talk


def _rule(
    pattern: str,
    type: MemoryType,  # noqa: A002 - the record's own word
    priority: int,
    slot: str = "",
    *,
    tense: Tense | None = None,
    ends: str = "",
    dated: bool = False,
) -> _Rule:
    return _Rule(re.compile(_ADVERBS + pattern, re.IGNORECASE), type, priority, slot, tense, ends, dated)


_RULES = (
    _rule(r"(?:am|is) (?:\w+ly )?allergic to (?P<value>.{1,60})", "persona", 90),
    _rule(r"(?:have|has) (?:a |an )?(?:[\w-]+ ){0,3}allerg(?:y|ies)\b.{0,40}", "persona", 90),
    _rule(
        r"(?:have|has|suffer(?:s)? from|was diagnosed with|have been diagnosed with|live with|got diagnosed with) (?:\w+ )?"
        + _ILLNESS,
        "persona",
        85,
    ),
    _rule(
        r"(?:am|is) (?:lactose[- ]intolerant|coeliac|celiac|diabetic|asthmatic|colou?r[- ]?blind|pregnant|deaf|blind|dyslexic|left-handed|afraid of .{2,40})",
        "persona",
        85,
    ),
    _rule(r"(?:take|am on) (?:\d+ ?mg of )?\w+ (?:every|each|for my) .{2,40}", "persona", 80),
    _rule(
        r"(?:am|is|went|became|turned|have been|am now|have gone|'ve gone) (?:a |an )?(?:strict |now )?(?P<value>"
        + _DIETS
        + r")\b",
        "persona",
        80,
        "diet",
    ),
    _rule(
        r"(?:don't|do not|no longer|stopped|never|quit|gave up|cannot|can't) (?:eat|eating) (?:any )?(?P<value>meat)\b",
        "persona",
        80,
        "diet",
    ),
    _rule(r"(?:started eating|eat|am eating) (?P<value>meat) again", "persona", 80, DIET),
    _rule(
        r"(?:am|is) called (?P<value>[^\W\d_][\w'’.-]{0,20}(?: [A-Z][\w'’.-]{0,20}){0,2})" + _END, "persona", 85, "name"
    ),
    _rule(
        r"(?:live|lives|am living|reside|am based|have lived|have been living|stay) in "
        + _PLACE
        + r"(?:$|(?= with | and | as | for | since | now\b| right now|, \w+ing))",
        "persona",
        75,
        "residence",
    ),
    _rule(r"(?:no longer live|don't live) in " + _PLACE + r"(?:$|[,;])", "persona", 75, "residence"),
    _rule(
        r"(?:moved|relocated|have moved|have relocated|moved back) (?:back )?to "
        + _PLACE
        + r"(?:$|(?= with | and | from | for | in | last | this | two | because | \d|,? (?:a|two|three|\d+) \w+ ago))",
        "persona",
        75,
        "residence",
        tense="past",
    ),
    _rule(
        r"(?:come from|am originally from|am from|grew up in|was born in (?!\d)|was raised in) (?P<value>[^;]{2,50})",
        "persona",
        65,
        "hometown",
    ),
    _rule(r"was born (?:on|in) (?P<value>[^;]{3,30}\d)", "persona", 70, "birthday"),
    _rule(
        r"(?:work|works|am working|started working|got a job|have a job|intern|started|started a (?:new )?job|am employed|am now) (?:at|for) (?P<value>(?!home|night|the moment|a |an |it|this|that|hours|work|weeks|days|my)[^,;]{2,40}?)"
        + _END,
        "persona",
        75,
        "employer",
    ),
    _rule(
        r"(?:joined|have joined|am joining) (?P<value>(?!a |an |the |this |that |my )[A-Z][^,;]{1,40}?)" + _END,
        "persona",
        75,
        "employer",
        tense="past",
    ),
    _rule(
        r"(?:am|work|am working|became|am now|went|am going) (?:as )?(?:a |an )?(?P<value>freelance(?:r|\b)|self-employed|unemployed|retired)",
        "persona",
        75,
        "employer",
    ),
    _rule(
        r"(?:left|quit|resigned from|was laid off (?:from|by)|got laid off (?:from|by)|was fired from|got fired from|retired from) (?!the (?:house|office|building|meeting|room|app|page|gym)|it\b|them\b|home|you|a )(?P<value>[^,;]{2,40}?)"
        + _END,
        "episodic",
        75,
        tense="past",
        ends="employer",
    ),
    _rule(r"(?:work|am working) as (?:a |an |the )?(?P<value>[^,;]{3,50}?)" + _END, "persona", 75, "occupation"),
    _rule(
        r"(?:am|became|have been) (?:a |an |the |now an? )(?P<value>" + _JOB + r")" + _END, "persona", 70, "occupation"
    ),
    _rule(r"(?:am|turned|just turned) (?P<value>\d{1,3})(?: years old|-year-old|$|,)", "persona", 60, "age"),
    _rule(
        r"(?:am|have been) (?:a |an )(?P<value>(?!(?:bit|lot|little|few|tad|huge fan of (?:it|this|that|your)|fan of (?:it|this|that|your))\b)(?:[\w-]+ ){0,4}(?:fan of .{2,40}|person|lover|eater|drinker|owl|bird|runner|mother of .{2,20}|father of .{2,20}|mum|mom|dad|single \w+|native \w+ speaker|native speaker|christian|muslim|buddhist|jew|hindu|introvert|extrovert|beginner|expert|member of .{3,40}))",
        "persona",
        60,
    ),
    _rule(
        r"(?:am|is) (?P<value>(?:married|single|divorced|engaged|widowed|an only child)\b.{0,30})",
        "persona",
        65,
        "relationship",
    ),
    _rule(
        r"(?:have|has|own|keep|adopted) (?:a|an|one|two|three|four|five|\d+|no)\s(?P<value>(?:[\w-]+ ){0,4}"
        + _FAMILY
        + r"\b.{0,60})",
        "persona",
        65,
    ),
    # Likes: the slot is the thing, so that a change of mind takes the place of what was said before.
    _rule(
        r"(?:don't|do not|no longer|never|didn't) (?:much |really |particularly )?(?:like|enjoy|love|care for|eat|drink)(?:\s+(?:eating|drinking|to eat|to drink))? "
        + _DISH,
        "persona",
        65,
        "taste",
    ),
    _rule(
        r"(?:love|like|enjoy|adore|loved|am fond of|am into|am a fan of|am crazy about|am keen on)(?:s)?(?:\s+(?:eating|drinking|to eat|to drink))? "
        + _DISH,
        "persona",
        65,
        "taste",
    ),
    _rule(
        r"(?:hate|dislike|detest|loathe|can't stand|cannot stand|am not a fan of|am tired of|avoid|can't eat|cannot eat|can't have)(?:s)?(?:\s+(?:eating|drinking))? "
        + _DISH,
        "persona",
        65,
        "taste",
    ),
    _rule(r"(?:prefer|favou?r|would rather (?:use|have|eat|drink|read|work))s? " + _DISH, "persona", 65),
    _rule(
        r"(?:gave up|have given up|quit|stopped) (?P<value>(?:drinking |eating |smoking ?)?(?:alcohol|coffee|caffeine|sugar|smoking|meat|dairy|gluten|beer|wine|soda|drinking)\b).{0,40}",
        "episodic",
        70,
        "taste",
        tense="past",
    ),
    _rule(r"(?:speak|speaks) (?P<value>(?!to |with |up|about)[^;]{3,60})", "persona", 60),
    _rule(
        r"(?:am |have been )?(?:learning|studying|teaching myself|practi[sc]ing) (?P<value>(?!about this|how this|the (?:code|problem))[^;]{2,60})",
        "persona",
        60,
    ),
    _rule(
        r"(?:study|studied|majored in|graduated from|hold|have a (?:degree|phd|master's|bachelor's)) (?P<value>[^;]{3,60})",
        "persona",
        60,
    ),
    _rule(
        r"(?:use|run|drive|ride|own|play|collect|build|write|cook|bake|teach|coach|maintain|grow|brew|restore|invest in|code in|program in|develop in|volunteer)s? (?P<value>(?!it\b|this\b|that\b|these\b|those\b|into\b|out\b|them\b|your?\b|a lot)[^;]{2,80})",
        "persona",
        60,
    ),
    _rule(
        r"(?:invoice|bill|train|exercise|meditate|swim|hike|jog|walk|commute|work out|cycle|climb|pray|read|journal|shop|visit|call|sleep|get up|wake up|go to bed|go to the gym|work from home|work remotely|eat|drink|skip|fast|take|pay|travel)s? (?P<value>.{0,60}?\b(?:every|each|daily|weekly|monthly|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|in the (?:morning|evening)s?|before (?:bed|work|breakfast)|after work|at weekends|on weekends|at \d|once|twice|days? a week|times a|the last|the first|from home|remotely|most)\b.{0,60})",
        "persona",
        60,
    ),
    # What is to come and what happened.
    _rule(
        r"(?:signed up|have signed up|registered|enrolled|am registered|applied|have applied|am training|am preparing|am studying) (?:for|in|to) (?P<value>[^;]{3,80})",
        "episodic",
        70,
        tense="future",
    ),
    _rule(
        r"(?:booked|reserved|have booked|ordered) (?P<value>(?!it\b|them\b|that\b)[^;]{3,80})",
        "episodic",
        70,
        tense="future",
    ),
    _rule(
        r"(?:plan to|am planning to|am planning|intend to|hope to|aim to|want to|decided to|have decided to|aim for|would like to|'d love to) (?P<value>(?:learn|move|run|start|quit|buy|visit|go to|travel|become|study|switch|finish|write|launch|build|open|retire|get married|apply|save|lose|gain|migrate|a |the |an |my )[^;]{2,80})",
        "episodic",
        70,
        tense="future",
    ),
    _rule(
        r"(?:am going to|will|am about to|am \w+ing|have to|need to|must|plan to|want to|'m \w+ing) (?P<value>[^;]{3,80})",
        "episodic",
        70,
        tense="future",
        dated=True,
    ),
    _rule(
        r"have (?:a|an|my|the|our) (?:[\w-]+ ){0,3}(?P<value>(?:interview|exam|appointment|flight|meeting|deadline|wedding|surgery|presentation|demo|trip|race|concert|conference|party|test|operation|check-up|date|call|holiday|vacation)\b[^;]{0,80})",
        "episodic",
        70,
        tense="future",
    ),
    _rule(
        r"(?:(?:have |just |finally )*)(?:passed|failed|graduated|got married|got engaged|got divorced|got promoted|was promoted|got accepted|was accepted|got hired|was hired|got the (?:job|offer)|got an offer|won|retired|published|became|adopted|moved in|proposed|got my)\b(?P<value>[^;]{0,80})",
        "episodic",
        75,
        tense="past",
    ),
    _rule(
        r"(?:(?:have |just |finally )*)(?:finished|completed|bought|sold|launched|shipped|released|ran|visited|travelled to|traveled to|switched (?:to|from)|migrated|started (?:learning|working|a|my|running|going)|stopped|gave up|broke (?:my|a)|injured|sprained|tore|signed|donated|planted|renovated|founded|learned|learnt)\s(?P<value>(?!it\b|this\b|that\b|the (?:server|script|test|tests|build|command|app|code|query|job|process)\b|reading\b)[^;]{2,80})",
        "episodic",
        70,
        tense="past",
    ),
    _rule(
        r"(?:went|flew|drove|saw|met|attended|hiked|climbed|celebrated|hosted|had|got|tried|made|cooked|paid|submitted|presented)\s(?P<value>[^;]{3,80})",
        "episodic",
        65,
        tense="past",
        dated=True,
    ),
)

_MY_NAME = re.compile(
    r"my (?:full |real |first |given )?name(?:'s| is) (?P<value>[^\W\d_][\w'’.-]{0,20}(?: [A-Z][\w'’.-]{0,20}){0,3})",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(
    r"(?:(?:[Hh]i|[Hh]ello|[Hh]ey)(?: there)?[,!]? (?:I'm|I am|[Tt]his is) "
    r"(?P<value>[A-Z][\w'-]{1,20}(?: [A-Z][\w'.-]{1,20})?)(?=$|[,.!]| and )"
    rf"|I(?:'m| am) (?P<value2>[A-Z][\w'-]{{1,20}})(?=, an? {_JOB}))"
    rf"(?:, (?P<job>an? (?:{_JOB}).{{0,40}}))?"
)
_SLOTS = {
    **{"birthday": "birthday", "manager": "manager", "boss": "manager", "native language": "native_language"},
    **{
        "email": "email",
        "timezone": "time_zone",
        "time zone": "time_zone",
        "hometown": "hometown",
        "partner's name": "partner_name",
    },
    **{
        "dog's name": "dog_name",
        "cat's name": "cat_name",
        "wife's name": "partner_name",
        "husband's name": "partner_name",
    },
}
_RELATIVES = (
    r"wife|husband|partner|girlfriend|boyfriend|spouse|fianc[eé]e?|mother|father|mom|mum|dad|parents|son|daughter|kids?|children|brother|sister"
    r"|grandmother|grandfather|grandma|grandpa|aunt|uncle|cousin|nephew|niece|boss|manager|colleague|co-?worker|roommate|flatmate|neighbou?r"
    r"|friend|best friend|dog|cat|pet|doctor|dentist|therapist|tutor|supervisor|advisor|landlord"
)
_MY = re.compile(
    rf"(?:my|the user's) (?P<what>(?:(?:older|younger|elder|little|big|late|ex-?|new|favou?rite|current|main|home|work|phone|wedding) ?)?"
    rf"(?:(?:{_RELATIVES})(?:'s (?:name|birthday))?|birthday|hometown|native language|first language|mother tongue|email|phone number|timezone|time zone"
    r"|anniversary|car|bike|hobby|hobbies|goal|dream|job|salary|budget|diet|blood type|star sign|height|weight|shoe size|religion|thesis|startup"
    r"|company|employer|office|school|university|major|commute|passport|driving licence|driver's license|allergies|pronouns|(?:left |right )?(?:knee|back|shoulder|wrist)"
    r"|favou?rite (?:[\w-]+ ){0,2}[\w-]+|(?:editor|laptop|keyboard|stack|terminal|shell|os|setup)(?= is an? ))"
    r")(?: (?:is|are|was) (?:called|named)|'s|\s(?:is|are|has|have|lives?|works?|likes?|loves?|hates?|plays?|studies|owns|runs|turns?|turned|was|died|needs|sells|goes|speaks|expires|teaches|got|moved|follows))\s(?P<value>[^;]{1,120})",
    re.IGNORECASE,
)
_NO_NEWS = re.compile(
    r"(?:broken|slow|crash\w*|not working|down|here|there|asking|wondering|saying|said|told|that|to (?:fix|get|make) (?:this|it)|this|the following|below)\b",
    re.IGNORECASE,
)
_TEAM = re.compile(
    r"(?P<owner>our|my) (?P<what>(?:[\w-]+ )?(?:team|project|company|codebase|department|startup|database|db|backend|frontend|service|repo|repository|api|platform|office|lab|school|class|band|club|stack|pipeline|deployments?|releases?|standups?|sprints?))(?P<rest>(?:'s)? .{2,300})",
    re.IGNORECASE,
)
_VALUE_END = re.compile(r",? (?:and|but|since|so|because|who|which)\b|[;(]")
_REMIND = re.compile(r"(?:and |please )?remind me (?:to|about|that|of) (?P<value>.{3,100})", re.IGNORECASE)
_PET = re.compile(
    r"\b(?P<animal>dog|cat)s?\b(?: is)?,? (?:called|named|whose name is|name is) (?P<value>[A-Z][\w'’-]{1,20})",
    re.IGNORECASE,
)

_CORRECTIONS = (
    re.compile(
        r"(?:\w+,? ){0,3}?I (?:said|meant|told you|wrote|mentioned)(?: (?:that )?it (?:is|was)| that)? (?P<wrong>[^,;]{1,40}?),? (?:but )?(?:actually |in fact |really |sorry,? )?(?:it's|it is|it was|that's|I meant|the right one is|it should be)(?: actually)? (?P<right>[^;]{1,60})",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:\w+,? ){0,2}?(?:it's|it is|that's|I meant) (?P<right>[^,;]{1,40}),? not (?P<wrong>[^,;]{1,40})$",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:\w+,? ){0,2}?(?:it's|it is) not (?P<wrong>[^,;]{1,40}),? (?:but|it's|it is) (?P<right>[^,;]{1,40})$",
        re.IGNORECASE,
    ),
)
_REPORTED = re.compile(
    r"I (?:said|told you|mentioned)(?: earlier| before)? (?:that )?(?P<claim>(?:I|my)\b[^,;]{3,80}),? (?:but|actually)(?: actually)? (?:it is|it's|it was|that's|I meant) (?P<right>[^,;]{1,60})",
    re.IGNORECASE,
)


def _read(sentence: Sentence) -> tuple[Finding, ...]:
    text = _tidy(sentence.text)
    if (reported := _REPORTED.search(text)) is not None:
        return _taken_back(reported)
    back = _BACK.match(_without_leads(text))
    if back is not None:
        return (Emphasis(),)
    parts = _parts(text)
    corrected = _correction(text)
    if corrected is not None:
        return corrected
    remembered = _REMEMBER.match(text)
    if remembered:
        parts = _parts(text[remembered.end() :])
        if not parts:
            return (Emphasis(),)
    findings: list[Finding] = list(_introduced(text))
    for part in parts:
        order = order_of(_without_leads(part), remembered=bool(remembered))
        if order is not None:
            findings += order
        elif not sentence.supposed and not _TEMPORARY.search(text):
            findings += _facts(part)
    if not findings and remembered and not sentence.supposed:
        findings = [_note(text[remembered.end() :])]
    if remembered:
        findings = [
            replace(item, priority=max(item.priority, 80)) if isinstance(item, Reading) and item.priority >= 0 else item
            for item in findings
        ]
    return tuple(findings)


def _join(first: str, second: str) -> str | None:
    """Join "I work as an engineer." with "Mostly Python, some Go.": a list that goes on about it."""
    if re.match(r"(?:Mostly|Mainly|Especially|Particularly|Usually|Primarily|Preferably) ", second) and not re.search(
        r"\b(?:I|my|we|is|are)\b", second
    ):
        return f"{first.rstrip('.! ')}, {second[0].lower()}{second[1:]}"
    return None


READER = Reader("en", _read, _join)


def _tidy(text: str) -> str:
    tidy = _TAIL.sub("", " ".join(text.replace("’", "'").split()))
    return _FIRST_WORD.sub("I", tidy)


def _without_leads(text: str) -> str:
    for _ in range(4):
        lead = _LEAD.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def _parts(text: str) -> list[str]:
    """Cut a sentence where a new statement begins. What is said of a team or a relative keeps its second half."""
    parts = [part for part in _CUT.split(text)[:24] if part]
    return [
        piece
        for part in parts
        for piece in ([part] if re.match(r"(?:our|my)\b", part, re.IGNORECASE) else part.split("; "))
        if piece
    ]


def _facts(part: str) -> Iterator[Reading]:
    """Yield what one part of a sentence states."""
    part = _TAIL.sub("", _without_leads(part))
    if (reminder := _REMIND.match(part)) is not None:
        yield Reading(f"The user wants to be reminded to {_theirs(reminder['value'])}", "episodic", 65, tense="future")
        return
    subject = _I.match(part)
    when = ""
    if subject is None and (time := _TIME_FIRST.match(part)) is not None:
        when = time["time"].strip()
        subject = _I.match(part, time.end())
    if subject is None:
        owned = _owned(part)
        if owned is not None:
            yield from _with_pet(owned, part)
        return
    if subject["name"]:
        yield _named(subject["name"])
    predicate = _SHORT.get((subject["short"] or "").lower(), "") + part[subject.end() :]
    third = part[subject.start() : subject.end()].lower().startswith("the user")
    for piece in _predicates(predicate):
        reading = _predicate(_first_person(piece) if third else piece, when)
        if reading is not None:
            yield from _with_pet(reading, piece)


def _predicates(predicate: str) -> list[str]:
    """Split "live in Berlin and work at Orion": both have the same subject."""
    pieces = _SECOND_VERB.split(predicate)
    if len(pieces) == 1 or len(pieces[0].split()) < 2:
        return [predicate]
    return [f"am {piece}" if piece.lower().startswith("allergic") else piece for piece in pieces]


def _first_person(predicate: str) -> str:
    """Undo the third person of a sentence that already speaks of "the user"."""
    verb, _, rest = predicate.partition(" ")
    known = {"is": "am", "has": "have", "does": "do", "doesn't": "don't", "was": "was"}
    plain = known.get(verb.lower()) or re.sub(r"(?<=[a-z])(?<!s)s$", "", verb)
    return f"{plain} {rest}"


def _predicate(predicate: str, when: str) -> Reading | None:
    for rule in _RULES:
        match = rule.pattern.match(predicate)
        if match is None:
            continue
        value = (match.groupdict().get("value") or "").strip(" ,.")
        if value and _DEICTIC.match(value) and rule.slot != "name":
            continue
        if rule.slot == "occupation" and _NOT_A_JOB.search(value):
            continue
        if rule.slot == "name":
            return _named(value)
        if rule.dated and not mentions_a_date(f"{predicate} {when}"):
            continue
        content = f"The user {third_person(predicate)}"
        if when:
            content = f"{content} {_lower_first(when)}"
        slot, held = rule.slot, plain_value(value)
        if slot == TASTE:
            slot, held = taste_of(_thing(value), liked=not _is_dislike(predicate))
        ends = rule.ends if rule.ends and not re.match(r"my (?!job|work|position|company|employer)", value) else ""
        if slot and re.match(r"(?:no longer|don't)\b", predicate):
            held = f"not {held}"
        return Reading(content, rule.type, rule.priority, slot, held if slot else "", tense=rule.tense, ends=ends)
    return None


def _introduced(text: str) -> Iterator[Reading]:
    """Read "Hi, I'm Arun, a data scientist": a name is only taken for one after a greeting or before a trade."""
    met = _INTRODUCED.match(text)
    if met is None:
        return
    yield _named(met["value"] or met["value2"])
    if met["job"] and not _NOT_A_JOB.search(met["job"]):
        job = _CUT.split(met["job"])[0]
        yield Reading(f"The user is {_theirs(job)}", "persona", 70, "occupation", plain_value(job))


def _is_dislike(predicate: str) -> bool:
    return (
        re.match(
            _ADVERBS
            + r"(?:don't|do not|no longer|never|didn't|hate|dislike|detest|loathe|can't|cannot|am not|am tired|avoid|gave|have given|quit|stopped)",
            predicate,
            re.IGNORECASE,
        )
        is not None
    )


def _thing(value: str) -> str:
    """Return the one thing that is liked or not; "" for a list or a whole phrase."""
    thing = re.sub(
        r"(?:,? (?:a lot|very much|so much|too|anymore|any more|now|again|these days|at all))+$",
        "",
        value,
        flags=re.IGNORECASE,
    )
    thing = re.sub(rf"^(?:{_SMALL}|eating |drinking |smoking |to eat |to drink )+", "", thing, flags=re.IGNORECASE)
    if not thing or len(thing.split()) > 3 or re.search(r",| and | or |\bto\b", thing):
        return ""
    return plain_value(thing)


def _owned(part: str) -> Reading | None:
    if (name := _MY_NAME.match(part)) is not None:
        return _named(name["value"])
    if (owned := _MY.match(part)) is not None and not _NO_NEWS.match(owned["value"]):
        what = owned["what"].lower()
        slot = _SLOTS.get(what, what.replace("favorite", "favourite") if what.startswith("favo") else "")
        relation = part[owned.start() : owned.end()][part.index(" ") + 1 :]
        health = re.search(r"knee|back|shoulder|wrist|allerg", what)
        priority = 85 if health else 70 if slot == "birthday" else 60
        return Reading(
            f"The user's {_theirs(relation + part[owned.end() :])}",
            "persona",
            priority,
            slot,
            plain_value(_VALUE_END.split(owned["value"])[0]) if slot else "",
        )
    if (team := _TEAM.match(part)) is not None and not _NO_NEWS.search(team["rest"][:24]):
        slot = "database" if re.fullmatch(r"database|db", team["what"], re.IGNORECASE) else ""
        value = re.sub(r"^\s*(?:is|are|runs?(?: on)?|uses?)\s+", "", team["rest"])
        past: Tense | None = "past" if re.match(r"\s\w+ed\b", team["rest"]) else None
        shared = "" if re.search(r"team|project|company|startup|department", team["what"]) else "team's "
        return Reading(
            f"The user's {shared}{team['what']}{_theirs(team['rest'])}",
            "persona",
            60,
            slot,
            plain_value(value) if slot else "",
            tense=past,
        )
    return None


def _with_pet(reading: Reading, text: str) -> Iterator[Reading]:
    """Yield a reading, and the name of a pet that it mentions: as its own slot when it has none."""
    pet = _PET.search(text)
    if pet is None:
        yield reading
        return
    slot, value = f"{pet['animal'].lower()}_name", plain_value(pet["value"])
    if reading.slot:
        yield reading
        yield Reading(f"The user's {pet['animal'].lower()} is called {pet['value']}", "persona", 65, slot, value)
    else:
        yield replace(reading, slot=slot, value=value)


def _named(name: str) -> Reading:
    name = re.sub(r"\s+(?:and|but|from|I)$", "", name.strip(" .,"))
    return Reading(f"The user's name is {name}", "persona", 85, "name", plain_value(name))


def _note(text: str) -> Reading:
    note = _TAIL.sub("", text)
    return Reading(f"The user asked to remember: {_theirs(note)}", "persona", 70)


def _theirs(text: str) -> str:
    # A leading verb would be conjugated by `third_person`; an empty first word keeps the rest as it is.
    return third_person(f"also {'will'} {text}").removeprefix("also will ")


def _lower_first(text: str) -> str:
    return text if re.match(r"(?:I|[A-Z]{2,})\b", text) else text[0].lower() + text[1:]


def _taken_back(reported: re.Match[str]) -> tuple[Finding, ...]:
    """Read "I said I live in Berlin but it is Munich": the claim with its value exchanged."""
    right = reported["right"].strip(" .")
    readings = []
    for reading in _facts(reported["claim"]):
        if reading.value and reading.value in reading.content.casefold():
            at = reading.content.casefold().index(reading.value)
            content = reading.content[:at] + right + reading.content[at + len(reading.value) :]
            readings.append(replace(reading, content=content, value=plain_value(right)))
    return tuple(readings)


def _correction(text: str) -> tuple[Finding, ...] | None:
    """Return what comes before a correction, and the correction; None where there is none."""
    for pattern in _CORRECTIONS:
        for at in (0, *(match.end() for match in _CUT.finditer(text))):
            match = pattern.match(text, at)
            if match is None:
                continue
            right = re.sub(r"^(?:it's|it is|actually)\s+", "", match["right"].strip(" ."), flags=re.IGNORECASE)
            before = tuple(_facts(_CUT.split(text[:at])[0])) if at else ()
            return (*before, Correction(match["wrong"].strip(" ."), right))
    return None
