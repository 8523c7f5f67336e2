"""Who may do what with an asset: the one place where it is decided, as SQL.

A list and a check ask the same rows, so neither can show what the other denies. Rules, the first that fits:

    archived or expired                              asset_not_available
    the owner                                        owner
    a deny for the user, their role or the agent     acl_deny:<grant>
    no active member of the asset's team             not_team_member
    hidden from the role, but an allow               acl:<grant>          else visibility_restricted
    the role may do it anyway                        role_default:<role>
    an allow                                         acl:<grant>          else no_permission

Hidden: `private` from everyone, `restricted` from all but administrators, `task` likewise except for reading. By role an
administrator reads, writes, assigns and shares; a member or reviewer reads. `use` is another word for `read`.
Source: wire contract §5.5, with its defects mended (§11-27, §11-31).

Values of every statement: `:instance`, `:user`, `:action`, `:agent` or NULL, `:now`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "ALLOWED",
    "DECISION",
    "GRANTED",
    "GRANTED_IN_TEAM",
    "GRANTED_ON_ONE",
    "UNGRANTED_ALLOWED",
    "UNOWNED_ALLOWED",
]

_ACTION = "(permission = :action OR permission IN ('read', 'use') AND :action IN ('read', 'use'))"


def _known(by: str, narrowed: str = "", places: str = "") -> str:
    """Return what is read once for a query: the user's places in teams, and the grants that speak to them.

    The planner has no statistics and would walk all grants of the instance, so indexes are named.
    """
    return f"""
WITH places AS MATERIALIZED (
  SELECT team_id, role,
    CASE WHEN role = 'admin' THEN 'private'
      WHEN :action IN ('read', 'use') THEN 'private restricted'
      ELSE 'private restricted task' END AS hidden,
    :action IN ('read', 'use') OR role = 'admin' AND :action IN ('write', 'assign', 'share') AS by_role
  FROM team_members INDEXED BY team_members_by_user
  WHERE instance = :instance AND user_id = :user AND status = 'active' {places}
),
granted AS MATERIALIZED (
  SELECT g.asset_id, g.effect, g.grant_id FROM grants g INDEXED BY {by}
  WHERE instance = :instance AND subject_type = 'user' AND subject_id = :user AND {_ACTION} {narrowed}
  UNION ALL
  SELECT g.asset_id, g.effect, g.grant_id FROM places p CROSS JOIN grants g INDEXED BY {by}
  WHERE g.instance = :instance AND g.subject_type = 'team_role' AND g.subject_id = p.role AND g.team_id = p.team_id
    AND {_ACTION} {narrowed}
  UNION ALL
  SELECT g.asset_id, g.effect, g.grant_id FROM grants g INDEXED BY {by}
  WHERE instance = :instance AND subject_type = 'agent' AND subject_id = :agent AND {_ACTION} {narrowed}
)
"""


GRANTED = _known("grants_by_subject")
GRANTED_IN_TEAM = _known("grants_by_subject", "AND g.team_id = :team_id", "AND team_id = :team_id")
GRANTED_ON_ONE = _known("grants_by_asset", "AND g.asset_id = :asset_id")


_REASONS = {
    name: f"'{name}'"
    for name in (
        "asset_not_available", "owner", "acl_deny", "not_team_member", "acl", "visibility_restricted", "role_default",
        "no_permission",
    )
}  # fmt: skip
_VERDICTS = {name: "1" if name in ("owner", "role_default", "acl") else "0" for name in _REASONS}
"""A list asks of each row before the page whether it is allowed, not why: numbers, because texts cost a third more."""


def _decision(
    denied: str, allowed: str, owned: str = "a.owner_user_id = :user", says: Mapping[str, str] = _VERDICTS
) -> str:
    """Return the rules over an asset `a` and the user's place `p` in its team, NULL for none."""
    return f"""
CASE
  WHEN a.status = 'archived' OR a.expires_ms <= :now THEN {says["asset_not_available"]}
  WHEN {owned} THEN {says["owner"]}
  WHEN {denied} THEN {says["acl_deny"]}
  WHEN p.role IS NULL THEN {says["not_team_member"]}
  WHEN instr(p.hidden, a.visibility) THEN CASE WHEN {allowed} THEN {says["acl"]} ELSE {says["visibility_restricted"]} END
  WHEN p.by_role THEN {says["role_default"]}
  WHEN {allowed} THEN {says["acl"]}
  ELSE {says["no_permission"]}
END"""


_DENIED, _ALLOWED = (
    f"a.asset_id IN (SELECT asset_id FROM granted WHERE effect = '{effect}')" for effect in ("deny", "allow")
)

DECISION = _decision(_DENIED, _ALLOWED, says=_REASONS)
ALLOWED = f"({_decision(_DENIED, _ALLOWED)})"

# The same rules where no grant speaks to the user, and where the asset is not the user's own either: then all assets of a
# team that are alike are for the user or none, and they need not be looked at one by one to be counted.
UNGRANTED_ALLOWED = f"({_decision('0', '0')})"
UNOWNED_ALLOWED = f"({_decision('0', '0', '0')})"
