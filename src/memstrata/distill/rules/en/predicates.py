"""English: what a predicate after "I" states. The order of the table matters: health is not read as a mere liking."""

from __future__ import annotations

import re

from memstrata.distill.rules.dates import mentions_a_date
from memstrata.distill.rules.en.person import third_person
from memstrata.distill.rules.en.words import ADVERBS, DEICTIC, END, JOB, is_job
from memstrata.distill.rules.reading import Reading, Tense, plain_value
from memstrata.distill.rules.rule import Rule, episode, fact, value_of
from memstrata.distill.rules.slots import DIET, TASTE, taste_of

__all__ = ["predicate"]

_PLACE = r"(?P<value>(?!a |an |the (?!hague|netherlands|uk|us|bay|bronx|north|south|east|west)|my |this |that |fear)[^;]{2,60}?)"
_THING = r"(?P<value>(?!to (?:know|see|ask|hear|get|have)\b)[^.;]{1,80})"
_NAME = r"(?P<value>[^\W\d_][\w'.-]{0,20}(?: (?-i:[A-Z])[\w'.-]{0,20}){0,2})"
_DIETS = r"(?:vegetarian|vegan|pescatarian|veggie|flexitarian|lacto-vegetarian|halal|kosher|keto|gluten[- ]free)"
_ILLNESS = (
    r"(?:type [12] diabetes|diabetes|asthma|high blood pressure|hypertension|migraines?|epilepsy|arthritis|adhd|insomnia"
    r"|coeliac(?: disease)?|celiac(?: disease)?|lactose intolerance|carpal tunnel(?: syndrome)?|ibs|anaemia|anemia"
    r"|tinnitus|eczema|depression|anxiety|vertigo|gout|a bad (?:knee|back)|an? \w+ condition"
    r"|an? (?:heart|thyroid|kidney) \w+)"
)
_FAMILY = (
    r"(?:dogs?|cats?|sons?|daughters?|kids?|child(?:ren)?|brothers?|sisters?|wife|husband|partner|girlfriend|boyfriend"
    r"|twins?|parrot|rabbits?|hamster|horse|puppy|kittens?|garden|car|bike|motorbike|house|flat|apartment|phd|degree)"
)
_APPOINTMENT = (
    r"(?:interview|exam|appointment|flight|meeting|deadline|wedding|surgery|presentation|demo|trip|race|concert"
    r"|conference|party|test|operation|check-up|date|call|holiday|vacation)"
)
_NOT_AN_EMPLOYER = r"(?!home|night|the moment|a |an |it|this|that|hours|work|weeks|days|my)"
_NOT_LEFT_FOR_GOOD = (
    r"(?!the (?:house|office|building|meeting|room|app|page|gym)|it\b|them\b|home\b|work\b|you\b|a |early)"
)
_BEFORE = r"(?:have |just |finally ){0,3}"


def _holds(priority: int, pattern: str, slot: str = "", *, tense: Tense | None = None) -> Rule:
    return fact(priority, ADVERBS + pattern, slot, tense=tense)


def _tells(priority: int, pattern: str, tense: Tense, *, slot: str = "", ends: str = "", dated: bool = False) -> Rule:
    return episode(priority, ADVERBS + pattern, tense, slot=slot, ends=ends, dated=dated)


_RULES = (
    _holds(90, r"(?:am|is) (?:\w+ly )?allergic to (?P<value>.{1,60})"),
    _holds(90, r"(?:have|has) (?:an? )?(?:[\w-]+ ){0,3}allerg(?:y|ies)\b.{0,40}"),
    _holds(
        85,
        r"(?:have|has|suffers? from|was diagnosed with|have been diagnosed with|live with|got diagnosed with) "
        rf"(?:\w+ )?{_ILLNESS}",
    ),
    _holds(
        85,
        r"(?:am|is) (?:lactose[- ]intolerant|coeliac|celiac|diabetic|asthmatic|colou?r[- ]?blind|pregnant|deaf|blind"
        r"|dyslexic|left-handed|afraid of .{2,40})",
    ),
    _holds(80, r"(?:take|am on) (?:\d+ ?mg of )?\w+ (?:every|each|for my) .{2,40}"),
    _holds(
        80, rf"(?:am|is|went|became|turned|have been|have gone) (?:an? )?(?:strict |now )?(?P<value>{_DIETS})\b", DIET
    ),
    _holds(
        80,
        r"(?:don't|do not|no longer|stopped|never|quit|gave up|cannot|can't) (?:eat|eating) (?:any )?(?P<value>meat)\b",
        DIET,
    ),
    _holds(80, r"(?:started eating|eat|am eating) (?P<value>meat) again", DIET),
    _holds(85, rf"(?:am|is) called {_NAME}{END}", "name"),
    _holds(
        75,
        rf"(?:lives?|am living|reside|am based|have lived|have been living|stay) in {_PLACE}"
        r"(?:$|(?= with | and | as | for | since | now\b| right now|, \w+ing))",
        "residence",
    ),
    _holds(75, rf"(?:no longer live|don't live) in {_PLACE}(?:$|[,;])", "residence"),
    _holds(
        75,
        rf"(?:have )?(?:moved|relocated)(?: back)? to {_PLACE}"
        r"(?:$|(?= with | and | from | for | in | last | this | two | because | \d|,? (?:a|two|three|\d+) \w+ ago))",
        "residence",
        tense="past",
    ),
    _holds(
        65,
        r"(?:come from|am originally from|am from|grew up in|was born in (?!\d)|was raised in) (?P<value>[^;]{2,50})",
        "hometown",
    ),
    _holds(70, r"was born (?:on|in) (?P<value>[^;]{3,30}\d)", "birthday"),
    _holds(
        75,
        r"(?:works?|am working|started working|got a job|have a job|intern|started|started a (?:new )?job|am employed"
        rf"|am now) (?:at|for) (?P<value>{_NOT_AN_EMPLOYER}[^,;]{{2,40}}?){END}",
        "employer",
    ),
    _holds(
        75,
        rf"(?:joined|have joined|am joining) (?P<value>(?-i:[A-Z])[^,;]{{1,40}}?){END}",
        "employer",
        tense="past",
    ),
    _holds(
        75,
        r"(?:am|work|am working|became|am now|went) (?:as )?(?:an? )?"
        r"(?P<value>freelance(?:r|\b)|self-employed|unemployed|retired)",
        "employer",
    ),
    _tells(
        75,
        r"(?:have )?(?:left|quit|resigned from|was laid off (?:from|by)|got laid off (?:from|by)|was fired from"
        rf"|got fired from|retired from) {_NOT_LEFT_FOR_GOOD}(?P<value>[^,;]{{2,40}}?){END}",
        "past",
        ends="employer",
    ),
    _holds(75, rf"(?:works?|am working) as (?:an? |the )?(?P<value>[^,;]{{3,50}}?){END}", "occupation"),
    _holds(70, rf"(?:am|became|have been) (?:an? |the |now an? )(?P<value>{JOB}){END}", "occupation"),
    _holds(60, r"(?:am|turned|just turned) (?P<value>\d{1,3})(?: years old|-year-old|$|,)", "age"),
    _holds(
        60,
        r"(?:am|have been) an? (?!(?:bit|lot|little|few|tad|(?:huge )?fan of (?:it|this|that|your))\b)(?:[\w-]+ ){0,4}"
        r"(?:fan of .{2,40}|person|lover|eater|drinker|owl|bird|runner|mother of .{2,20}|father of .{2,20}|mum|mom|dad"
        r"|single \w+|native \w+ speaker|native speaker|christian|muslim|buddhist|jew|hindu|introvert|extrovert|beginner"
        r"|expert|member of .{3,40})",
    ),
    _holds(
        65, r"(?:am|is) (?P<value>(?:married|single|divorced|engaged|widowed|an only child)\b.{0,30})", "relationship"
    ),
    _holds(
        65,
        r"(?:have|has|own|keep|adopted) (?:an?|one|two|three|four|five|\d+|no)\s"
        rf"(?P<value>(?:[\w-]+ ){{0,4}}{_FAMILY}\b.{{0,60}})",
    ),
    _holds(
        65,
        r"(?:don't|do not|no longer|never|didn't) (?:much |really |particularly )?(?:like|enjoy|love|care for|eat|drink)"
        rf"(?: eating| drinking| to eat| to drink)? {_THING}",
        TASTE,
    ),
    _holds(
        65,
        r"(?:love|like|enjoy|adore|loved|am fond of|am into|am a fan of|am crazy about|am keen on)s?"
        rf"(?: eating| drinking| to eat| to drink)? {_THING}",
        TASTE,
    ),
    _holds(
        65,
        r"(?:hate|dislike|detest|loathe|can't stand|cannot stand|am not a fan of|am tired of|avoid|can't eat|cannot eat"
        rf"|can't have)s?(?: eating| drinking)? {_THING}",
        TASTE,
    ),
    _holds(65, rf"(?:prefer|favou?r|would rather (?:use|have|eat|drink|read|work))s? {_THING}"),
    _tells(
        70,
        r"(?:gave up|have given up|quit|stopped) (?P<value>(?:drinking |eating |smoking ?)?"
        r"(?:alcohol|coffee|caffeine|sugar|smoking|meat|dairy|gluten|beer|wine|soda|drinking)\b).{0,40}",
        "past",
        slot=TASTE,
    ),
    _holds(60, r"speaks? (?P<value>(?!to |with |up|about)[^;]{3,60})"),
    _holds(
        60,
        r"(?:am |have been )?(?:learning|studying|teaching myself|practi[sc]ing) "
        r"(?P<value>(?!about this|how this|the (?:code|problem))[^;]{2,60})",
    ),
    _holds(
        60,
        r"(?:study|studied|majored in|graduated from|hold|have a (?:degree|phd|master's|bachelor's)) (?P<value>[^;]{3,60})",
    ),
    _holds(
        60,
        r"(?:use|run|drive|ride|own|play|collect|build|write|cook|bake|teach|coach|maintain|grow|brew|restore|invest in"
        r"|code in|program in|develop in|volunteer)s? "
        r"(?P<value>(?!(?:it|this|that|these|those|into|out|them|your?|a lot)\b)[^;]{2,80})",
    ),
    _holds(
        60,
        r"(?:invoice|bill|train|exercise|meditate|swim|hike|jog|walk|commute|work out|cycle|climb|pray|read|journal|shop"
        r"|visit|call|sleep|get up|wake up|go to bed|go to the gym|work from home|work remotely|eat|drink|skip|fast|take"
        r"|pay|travel)s? (?P<value>.{0,60}?\b(?:every|each|daily|weekly|monthly|on (?:mon|tues|wednes|thurs|fri|satur|sun)days"
        r"|in the (?:morning|evening)s?|before (?:bed|work|breakfast)|after work|at weekends|on weekends|at \d|once|twice"
        r"|days? a week|times a|the last|the first|from home|remotely|most)\b.{0,60})",
    ),
    _tells(
        70,
        r"(?:signed up|have signed up|registered|enrolled|am registered|applied|have applied|am training|am preparing"
        r"|am studying) (?:for|in|to) (?P<value>[^;]{3,80})",
        "future",
    ),
    _tells(70, r"(?:booked|reserved|have booked|ordered) (?P<value>(?!(?:it|them|that)\b)[^;]{3,80})", "future"),
    _tells(
        70,
        r"(?:plan to|am planning to|am planning|intend to|hope to|aim to|want to|decided to|have decided to|aim for"
        r"|would like to|would love to) (?P<value>(?:learn|move|run|start|quit|buy|visit|go to|travel|become|study|switch"
        r"|finish|write|launch|build|open|retire|get married|apply|save|lose|gain|migrate|a|the|an|my) [^;]{2,80})",
        "future",
    ),
    _tells(
        70,
        r"(?:am going to|will|am about to|am \w+ing|have to|need to|must|plan to|want to) (?P<value>[^;]{3,80})",
        "future",
        dated=True,
    ),
    _tells(70, rf"have (?:an?|my|the|our) (?:[\w-]+ ){{0,3}}(?P<value>{_APPOINTMENT}\b[^;]{{0,80}})", "future"),
    _tells(
        75,
        rf"{_BEFORE}(?:passed|failed|graduated|got married|got engaged|got divorced|got promoted|was promoted|got accepted"
        r"|was accepted|got hired|was hired|got the (?:job|offer)|got an offer|won|retired|published|became|adopted"
        r"|moved in|proposed|got my)\b(?P<value>[^;]{0,80})",
        "past",
    ),
    _tells(
        70,
        rf"{_BEFORE}(?:finished|completed|bought|sold|launched|shipped|released|ran|visited|travelled to|traveled to"
        r"|switched (?:to|from)|migrated|started (?:learning|working|a|my|running|going)|stopped|gave up|broke (?:my|a)"
        r"|injured|sprained|tore|signed|donated|planted|renovated|founded|learned|learnt)\s"
        r"(?P<value>(?!(?:it|this|that|reading|the (?:server|script|tests?|build|command|app|code|query|job|process))\b)"
        r"[^;]{2,80})",
        "past",
    ),
    _tells(
        65,
        r"(?:went|flew|drove|saw|met|attended|hiked|climbed|celebrated|hosted|had|got|tried|made|cooked|paid|submitted"
        r"|presented)\s(?P<value>[^;]{3,80})",
        "past",
        dated=True,
    ),
)

_DISLIKE = re.compile(
    ADVERBS
    + r"(?:don't|do not|no longer|never|didn't|hate|dislike|detest|loathe|can't|cannot|am not|am tired|avoid|gave"
    r"|have given|quit|stopped)",
    re.IGNORECASE,
)
_NO_MORE = re.compile(r"(?:no longer|don't)\b", re.IGNORECASE)
_NOT_THE_JOB = re.compile(r"my (?!job|work|position|company|employer)", re.IGNORECASE)
_DEGREE = re.compile(
    r"(?:,? (?:a lot|very much|so much|too|anymore|any more|now|again|these days|at all)){1,3}$", re.IGNORECASE
)
_BEFORE_THING = re.compile(r"^(?:(?:an?|the|my|some|eating|drinking|smoking|to eat|to drink) )+", re.IGNORECASE)
_SEVERAL = re.compile(r",| and | or |\bto\b", re.IGNORECASE)
_LONGEST_THING = 3  # words


def predicate(text: str, when: str) -> Reading | None:
    """Return what is stated by `text`, a predicate of "I" in its long form, and by the time that stood before it."""
    for rule in _RULES:
        match = rule.pattern.match(text)
        if match is None:
            continue
        value = value_of(match).strip(" ,.")
        if rule.slot != "name" and DEICTIC.match(value):
            continue
        if rule.slot == "occupation" and not is_job(value):
            continue
        if rule.dated and not mentions_a_date(f"{text} {when}"):
            continue
        return _reading(rule, text, when, value)
    return None


def _reading(rule: Rule, text: str, when: str, value: str) -> Reading:
    content = f"The user {third_person(text)}" + (f" {when}" if when else "")
    slot, held = rule.slot, plain_value(value)
    if slot == TASTE:
        slot, held = taste_of(_thing(value), liked=not _DISLIKE.match(text))
    elif _NO_MORE.match(text):
        held = f"not {held}"
    ends = "" if _NOT_THE_JOB.match(value) else rule.ends
    return Reading(content, rule.type, rule.priority, slot, held if slot else "", tense=rule.tense, ends=ends)


def _thing(value: str) -> str:
    """Return the one thing that is liked or not; "" for a list or a whole phrase."""
    thing = _BEFORE_THING.sub("", _DEGREE.sub("", value))
    return "" if len(thing.split()) > _LONGEST_THING or _SEVERAL.search(thing) else plain_value(thing)
