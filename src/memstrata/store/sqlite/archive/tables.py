"""The tables that an export copies column by column.

Their SQL is made from the classes of the lines, the only place in the house where SQL is made: eighteen tables times three
statements, whose one interesting property is that no column is missing from any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstrata.records import archive_directory as lines

__all__ = ["TABLES", "Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a column `instance` and those of `line`."""

    name: str
    line: type[lines.TableLine]
    key: tuple[str, ...]  # beside `instance`; all columns where rows have no name of their own
    user: str = ""  # the column that says which user a row is about; '': it is about no single one
    order: str = ""
    rivals: tuple[tuple[str, ...], ...] = ()  # other columns that may not be the same in two rows
    global_key: bool = False  # the key is of the whole database
    moving: tuple[str, ...] = ()  # columns that change by use: a row is the same without them

    @property
    def columns(self) -> tuple[str, ...]:
        return self.line.__struct_fields__

    def select(self, *, of_user: bool) -> str:
        """Return the query for the rows of an instance, in order; values are the instance, and the user."""
        where = f"instance = ? AND {self.user} = ?" if of_user else "instance = ?"
        order = self.order or ", ".join(self.key)
        return f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE {where} ORDER BY {order}"

    def find(self, columns: tuple[str, ...]) -> str:
        """Return the query for the rows with the same values of `columns`; values are the instance and those."""
        scope = "? IS NOT NULL" if self.global_key else "instance = ?"
        same = " AND ".join(f"{column} IS ?" for column in columns)
        return f"SELECT instance, {', '.join(self.columns)} FROM {self.name} WHERE {scope} AND {same}"

    @property
    def insert(self) -> str:
        """Return the statement; values are the instance and all columns."""
        marks = ", ".join("?" * (len(self.columns) + 1))
        return f"INSERT INTO {self.name} (instance, {', '.join(self.columns)}) VALUES ({marks})"


_ALL: Final = (
    Table("users", lines.UserLine, ("user_id",), user="user_id"),
    Table("user_keys", lines.UserKeyLine, ("key_id",), rivals=(("digest",),), moving=("last_used_at",)),
    Table("teams", lines.TeamLine, ("team_id",)),
    Table("team_members", lines.TeamMemberLine, ("team_id", "user_id"), user="user_id"),
    Table("user_params", lines.UserParamLine, ("user_id", "module", "name"), user="user_id"),
    Table("agents", lines.AgentLine, ("agent_id",)),
    Table("tasks", lines.TaskLine, ("task_id",)),
    Table("task_agents", lines.TaskAgentLine, ("task_id", "agent_id")),
    Table("participations", lines.ParticipationLine, ("log_id",), user="user_id"),
    Table("assets", lines.AssetLine, ("asset_id",), moving=("last_used_at", "usage_count")),
    Table("bindings", lines.BindingLine, ("agent_id", "asset_id")),
    Table(
        "grants",
        lines.GrantLine,
        ("grant_id",),
        rivals=(("asset_id", "subject_type", "subject_id", "permission"),),
    ),
    Table("policies", lines.PolicyLine, ("team", "agent", "user"), user="user"),
    Table("prompts", lines.PromptLine, ("prompt_id",), order="id"),
    Table("prompt_settings", lines.PromptSettingLine, ("team", "agent", "layer")),
    Table("prompt_changes", lines.PromptChangeLine, lines.PromptChangeLine.__struct_fields__, order="id"),
    Table("spending", lines.SpendingLine, ("day", "team", "agent", "user", "role"), user="user"),
    Table("forgettings", lines.ForgettingLine, ("forgetting_id",), global_key=True, moving=("complete",)),
)

TABLES: Final[Mapping[type, Table]] = {table.line: table for table in _ALL}
"""In the order in which an export writes them."""
