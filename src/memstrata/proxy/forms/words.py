"""What a form says, in English and in Chinese. Headings have at most twelve characters, as Claude Code wants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["FormLanguage", "FormWords", "form_words"]

FormLanguage = Literal["en", "zh"]


@dataclass(frozen=True, slots=True)
class FormWords:
    """Texts with their placeholders in braces."""

    consent: str
    consent_header: str
    yes: str
    yes_about: str
    no: str
    no_about: str
    team: str
    team_header: str
    agent: str
    agent_header: str
    task: str
    task_header: str
    no_task: str
    no_task_about: str
    more: str
    more_about: str
    again: str
    hint: str


_WORDS: Mapping[FormLanguage, FormWords] = {
    "en": FormWords(
        consent="Should this session have memory?",
        consent_header="Memory",
        yes="Yes, use memory",
        yes_about="What is said here is remembered and what fits is brought back",
        no="No, not here",
        no_about="Nothing is stored or brought back; mem:bind asks again",
        team="Which team does this session belong to?",
        team_header="Team",
        agent="Which agent is this session for?",
        agent_header="Agent",
        task="Which task is this session about?",
        task_header="Task",
        no_task="No task",
        no_task_about="The memory of the agent as a whole",
        more="More…",
        more_about="Show the next ones",
        again="That was none of the choices. ",
        hint=" (answer skip for no memory)",
    ),
    "zh": FormWords(
        consent="本次会话要启用记忆吗？",
        consent_header="记忆",
        yes="启用记忆",
        yes_about="记住这里说过的内容，并在需要时带回来",
        no="不启用",
        no_about="不记录也不带回任何内容；输入 mem:bind 可以重新选择",
        team="本次会话属于哪个团队？",
        team_header="团队",
        agent="本次会话使用哪个智能体？",
        agent_header="智能体",
        task="本次会话围绕哪个任务？",
        task_header="任务",
        no_task="不关联任务",
        no_task_about="使用整个智能体的记忆",
        more="更多…",
        more_about="查看后面的选项",
        again="没有认出这个选择。",
        hint="（回答“跳过”则不启用记忆）",
    ),
}


def form_words(language: FormLanguage) -> FormWords:
    """Return the texts of a language."""
    return _WORDS[language]
