"""Words whose forms no stemmer joins: went and go, mice and mouse.

Questions use the base form ("when did she go …"), what was said uses another ("I went …"). Joined on the query side
only: the index holds the words as they stand, and changing this table needs no new index. Forms that are everyday words
of another meaning (rose, felt, wound, lives, leaves) are not listed, nor are the forms of stop words.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from memstrata.text.stemming import stems

__all__ = ["base_form", "forms"]

# The base form first.
_FORMS = """
become became|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|break broke broken|bring brought
build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept|deal dealt|dig dug
draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed|fight fought
find found|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|freeze froze frozen
get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept
know knew known|lead led|lean leant|learn learnt|leave left|lend lent|lose lost|make made|mean meant|meet met|pay paid
ride rode ridden|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shine shone|shoot shot
shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|spell spelt
spend spent|spin spun|stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept
swim swam swum|swing swung|take took taken|teach taught|tear tore torn|tell told|think thought|throw threw thrown
understand understood|wake woke woken|wear wore worn|weep wept|win won|write wrote written
child children|foot feet|goose geese|man men|mouse mice|person people|tooth teeth|woman women
"""


def base_form(term: str) -> str:
    """Return the term that stands for all forms of a word; a term without other forms is its own."""
    return _bases().get(term, term)


def forms(term: str) -> tuple[str, ...]:
    """Return the index terms that a base form may stand as in a text, itself first."""
    return _forms().get(term, (term,))


@functools.cache
def _forms() -> Mapping[str, tuple[str, ...]]:
    groups = (line.split() for line in _FORMS.replace("|", "\n").split("\n") if line)
    listed = (tuple(dict.fromkeys(stem for word in group for stem in stems(word))) for group in groups)
    return {group[0]: group for group in listed}


@functools.cache
def _bases() -> Mapping[str, str]:
    return {form: base for base, group in _forms().items() for form in group}
