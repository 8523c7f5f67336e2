"""Days, weeks, months and years as people write them, in English, Chinese and Japanese."""

from memstrata.text.dates.days import Days, Form, Tense
from memstrata.text.dates.mentions import (
    Mention,
    date_in,
    end_of,
    first_span,
    mentions,
    mentions_a_date,
    start_of,
)

__all__ = [
    "Days",
    "Form",
    "Mention",
    "Tense",
    "date_in",
    "end_of",
    "first_span",
    "mentions",
    "mentions_a_date",
    "start_of",
]
