"""When a statement's event happened, as far as its words tell."""

from memstrata.distill.rules.dates.derive import Timed, day_in, mentions_a_date, with_dates

__all__ = ["Timed", "day_in", "mentions_a_date", "with_dates"]
