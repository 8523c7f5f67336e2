"""Text as the house needs it: terms for search, cuts that tear nothing, its language, and the marks on what we inject."""

from memstrata.text.analyser import MAX_CHARACTERS, MAX_QUERY_TERMS, MAX_TERM_LENGTH, index_terms, query_terms
from memstrata.text.graphemes import cut
from memstrata.text.language import language_of, main_language
from memstrata.text.markers import TAGS, Tag, escape, strip_injected, wrap

__all__ = [
    "MAX_CHARACTERS",
    "MAX_QUERY_TERMS",
    "MAX_TERM_LENGTH",
    "TAGS",
    "Tag",
    "cut",
    "escape",
    "index_terms",
    "language_of",
    "main_language",
    "query_terms",
    "strip_injected",
    "wrap",
]
