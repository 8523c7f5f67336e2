"""What the command line says about forgetting and policies: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["FORGETTING_PHRASES"]

FORGETTING_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.forget": (
        "Forget messages, memories, sessions, a time, a user or an agent, in every copy. Shows what would go; --yes does it.",
        "在所有副本中遗忘消息、记忆、会话、某段时间、某个用户或 Agent。默认只显示会删除什么，加 --yes 才执行。",
    ),
    "help.policy": (
        "What is kept for how long, and whether secrets are redacted, for a part of an instance.",
        "实例某一部分的保留天数与密钥脱敏规则。",
    ),
    "help.policy.show": ("What is set for a part, and what holds there.", "某一部分的设置，以及实际生效的规则。"),
    "help.policy.set": (
        "Set both rules of a part; one that is left out is left to the wider part.",
        "设置某一部分的两条规则；未给出的沿用更大范围的规则。",
    ),
    "help.policy.list": ("All that is set in the instance.", "实例中的全部设置。"),
    "help.option.message": ("A message, by its id; may be repeated.", "消息 ID，可重复。"),
    "help.option.memory": ("A memory, by its id; may be repeated.", "记忆 ID，可重复。"),
    "help.option.session": ("A session, by its id; may be repeated.", "会话 ID，可重复。"),
    "help.option.all_of_user": ("All of the user, in every team and agent.", "该用户的全部内容，跨所有团队与 Agent。"),
    "help.option.all_of_agent": ("All of the agent, for every user.", "该 Agent 的全部内容，包括所有用户。"),
    "help.option.team_only": ("With --all-of-user: in this team only.", "与 --all-of-user 合用：仅限本团队。"),
    "help.option.since": (
        "Said at this time or later, for example 2026-01-02T00:00:00Z.",
        "此时刻及之后说的，例如 2026-01-02T00:00:00Z。",
    ),
    "help.option.until": ("Said at this time or before.", "此时刻及之前说的。"),
    "help.option.yes": ("Do it.", "确认执行。"),
    "help.option.part": ("Only for this one; left out: for all.", "仅对此生效；不给出表示全部。"),
    "help.option.retention_days": (
        "Days that messages and memories are kept; 0: for ever.",
        "消息和记忆保留的天数，0 表示永久。",
    ),
    "help.option.redact": ("Take secrets out before anything is stored.", "写入前去除密钥等机密。"),
    "forget.would": ("would go: {counts}", "将会遗忘：{counts}"),
    "forget.hint": ("nothing was touched; --yes does it", "尚未改动任何内容；加 --yes 执行"),
    "forget.gone": ("forgotten: {counts} · receipt {receipt}", "已遗忘：{counts} · 凭证 {receipt}"),
    "forget.complete": ("no byte of it is left in the files", "文件中已不留任何字节"),
    "forget.incomplete": (
        "its last bytes are still being taken out of the files; this goes on while the memory is open",
        "文件中的残余仍在清除，服务运行期间会继续",
    ),
    "forget.ids": ("{layer}: {ids}", "{layer}：{ids}"),
    "policy.part": ("team {team} · agent {agent} · user {user}", "团队 {team} · Agent {agent} · 用户 {user}"),
    "policy.all": ("all", "全部"),
    "policy.set": ("set", "设置"),
    "policy.holds": ("holds", "生效"),
    "policy.rules": ("kept {days} · secrets {secrets}", "保留 {days} · 密钥 {secrets}"),
    "policy.days": ("{days} days", "{days} 天"),
    "policy.for_ever": ("for ever", "永久"),
    "policy.redacted": ("redacted", "脱敏"),
    "policy.left": ("left in", "保留原样"),
    "policy.wider": ("as the wider part", "沿用更大范围"),
    "policy.none": ("nothing is set", "没有设置"),
}
