"""What commands answer, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["CommandLanguage", "CommandWords", "command_words"]

CommandLanguage = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class CommandWords:
    """Texts with their placeholders in braces."""

    help: str
    unknown: str
    nothing: str
    bound: str
    no_task: str
    switched_on: str
    switched_off: str
    is_on: str
    is_off: str
    snapshot: str
    no_snapshot: str
    waiting: str
    usage: str
    synced: str
    not_bound: str
    found: str
    found_none: str
    forgotten: str
    why: str
    why_from: str
    why_nothing: str
    failed: str


_WORDS: Mapping[CommandLanguage, CommandWords] = {
    "en": CommandWords(
        help=(
            "Memory commands of this session:\n"
            "- mem:status: whose memory this is and how it stands\n"
            "- mem:bind [team/agent[/task]]: choose whose memory this session has\n"
            "- mem:off, mem:on: stop and start remembering and bringing back\n"
            "- mem:sync: take persona and scenes anew\n"
            "- mem:why: what was brought back, and where it came from\n"
            "- mem:forget words, then mem:forget id: let go of a memory"
        ),
        unknown="There is no command mem:{word}.\n\n{help}",
        nothing="This session has no memory: {reason}.",
        bound="Team {team}, agent {agent}, task {task}. Session {session}.",
        no_task="none",
        switched_on="Memory is on again.",
        switched_off="Memory is off in this session; mem:on brings it back. What was said is kept until you forget it.",
        is_on="Memory is on.",
        is_off="Memory is off; mem:on brings it back.",
        snapshot="Persona and scenes are as of {time}.",
        no_snapshot="Persona and scenes were not read yet.",
        waiting="{ready} turns wait to be stored, {parked} were refused.",
        usage="Today: {requests} requests, {input} tokens read, {cached} of them from the cache, {output} written.",
        synced="Persona and scenes were taken anew. The provider's cache of this session begins again.",
        not_bound="That was not possible: {reason}.",
        found="These memories fit. mem:forget with an id lets go of one:\n{lines}",
        found_none="No memory fits.",
        forgotten="{count} forgotten, here and in every copy.",
        why="Brought back with your last question:\n{lines}",
        why_from="from: {said}",
        why_nothing="Nothing was brought back with your last question.",
        failed="The core could not be asked ({reason}). Nothing was changed.",
    ),
    "zh": CommandWords(
        help=(
            "本次会话的记忆命令：\n"
            "- mem:status：查看当前记忆归属与状态\n"
            "- mem:bind [团队/智能体[/任务]]：选择本次会话使用谁的记忆\n"
            "- mem:off、mem:on：关闭或恢复记录与召回\n"
            "- mem:sync：重新读取画像与场景\n"
            "- mem:why：查看带回了哪些记忆以及出处\n"
            "- mem:forget 关键词，再用 mem:forget 编号：删除一条记忆"
        ),
        unknown="没有命令 mem:{word}。\n\n{help}",
        nothing="本次会话没有记忆：{reason}。",
        bound="团队 {team}，智能体 {agent}，任务 {task}。会话 {session}。",
        no_task="无",
        switched_on="记忆已恢复。",
        switched_off="本次会话已关闭记忆，输入 mem:on 可恢复。已记录的内容会保留，直到你删除它。",
        is_on="记忆已启用。",
        is_off="记忆已关闭，输入 mem:on 可恢复。",
        snapshot="画像与场景读取于 {time}。",
        no_snapshot="尚未读取画像与场景。",
        waiting="{ready} 轮对话等待写入，{parked} 轮被拒绝。",
        usage="今天：{requests} 次请求，读入 {input} 个 token（其中缓存 {cached}），输出 {output} 个。",
        synced="已重新读取画像与场景，本次会话的提示缓存将重新开始。",
        not_bound="无法完成：{reason}。",
        found="找到以下记忆，用 mem:forget 加编号即可删除：\n{lines}",
        found_none="没有匹配的记忆。",
        forgotten="已删除 {count} 条，包括所有副本。",
        why="上一个问题带回的记忆：\n{lines}",
        why_from="出处：{said}",
        why_nothing="上一个问题没有带回任何记忆。",
        failed="无法访问记忆核心（{reason}），没有任何改动。",
    ),
}


def command_words(language: CommandLanguage) -> CommandWords:
    """Return the texts of a language."""
    return _WORDS[language]
