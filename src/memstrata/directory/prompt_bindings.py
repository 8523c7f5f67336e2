"""Custom prompts of an agent or a team that goes: they hold for nobody any more, and their history says since when.

Ids may come back by an import or by hand. A binding left behind would then speak for whoever has the id next.
"""

from __future__ import annotations

from memstrata.clock import Instant
from memstrata.records import PromptSettingChange
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import PromptFilter

__all__ = ["unbind_prompts"]

_PAGE = 500


def unbind_prompts(
    r: Repositories, instance: str, team: str, operator: str, now: Instant, agent: str | None = None
) -> None:
    """Clear the bindings to an agent of a team, or to the team and everybody in it. The prompts themselves stay."""
    where = PromptFilter(instance, team=team, agent=agent)
    while bound := r.prompts.settings(where, _PAGE, 0, newest_first=False):
        for one in bound:
            r.prompts.unbind(one.target, one.layer)
            r.prompts.note_change(
                PromptSettingChange(0, one.target, one.layer, "clear", "explicit", one.prompt_id, "", operator, now)
            )
