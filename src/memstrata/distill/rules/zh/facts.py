"""Chinese: a sentence clause by clause. A clause without a subject has the one before it ("我叫小林，住在杭州")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memstrata.distill.rules.reading import Reading, Tense, plain_value
from memstrata.distill.rules.zh.predicates import STRONG_OUTCOME, is_done, is_event_word, predicate
from memstrata.distill.rules.zh.words import KIN, SUBJECT, TIMES, of_the_user, without_leads, without_tail

__all__ = ["facts_in"]

_MOST_CLAUSES = 24
_CLAUSE_END = re.compile(r"[，,；;。]|(?<=[\u4e00-\u9fff])\s+(?=我)|[:：]\s*(?=我)")

_TEAM = re.compile(
    r"(?:我们|咱们?)的?(?P<what>团队|项目组?|小?组|公司|部门|产品|仓库|代码库|系统|线上|服务器?|数据库|班级?|学校|实验室|社团"
    r"|乐队|球队)(?P<rest>.{1,200})"
)
_RELATIVE = re.compile(
    rf"(?:我的?|用户的?)(?P<what>{KIN})"
    r"(?P<rest>(?!说|讲|问|觉得|认为|告诉|跟我|让我|叫我|给我|抱|$).{1,200})"
)
_OWNED_NOUN = (
    r"(?:手机(?:号码?|尾号)?|电话|邮箱|生日|车牌|车|电脑|笔记本(?:电脑)?|编辑器|键盘|相机|身高|体重|血型|星座|专业|母语|时区|家乡"
    r"|老家|学历|爱好|兴趣(?:爱好)?|特长|膝盖|腰|颈椎|胃|血压|血糖|视力|睡眠|新?家|办公室|公司|学校|工位|目标|梦想|座右铭|名字"
    r"|姓名|英文名|昵称|全名|论文|毕业设计|护照|驾照)"
)
_OWNED = re.compile(
    rf"(?:我的?|用户的?)?(?P<what>{_OWNED_NOUN})"
    r"(?P<rest>(?:现在|也|都|就|已经|去年|前年|今年|上个?月|小时候){0,2}"
    r"(?:是|叫|在|有|为|要|以前|曾|不太?好|做过|受过|动过|尾号|伤|疼|高|低).{1,200})"
)
_OWNED_BY_THE_SPEAKER = re.compile(r"[我用]|新家|目标|英文名|老家|生日|爱好|兴趣爱好|母语|专业|血型|星座")
_SLOTS = {
    "生日": "birthday",
    "英文名": "english_name",
    "名字": "name",
    "姓名": "name",
    "全名": "name",
    "新家": "residence",
    "家": "residence",
    "老家": "hometown",
    "家乡": "hometown",
    "母语": "native_language",
    "编辑器": "editor",
    "邮箱": "email",
}
_BODY = re.compile(r"膝盖|腰|颈椎|胃|血压|血糖")
_COPULA = re.compile(r"^(?:现在|也|都|就|已经)?[是叫在为]")

_ANIMALS = {"猫": "cat_name", "狗": "dog_name", "犬": "dog_name"}
_PET = re.compile(
    r"(?P<animal>[猫狗犬])[^，,]{0,8}?，?[它她他]?的?(?:名字)?(?:叫做?|名叫)(?P<value>[\u4e00-\u9fffA-Za-z]{1,12})"
)
_HAS = re.compile(r"用户.{0,6}(?:养|有|领养|收养)|用户的[猫狗犬]")
_OF_WHAT_HE_HAS = re.compile(
    r"[它她他]?的?(?:名字|叫|名叫|今年|已经?\d|是一?[只条个]|刚满|快\d|上(?:小学|初中|高中|大学|幼儿园)|\d+岁)"
)
_GOES_ON = re.compile(
    r"(?:一吃|吃了|喝了|一碰|连|否则|不然|主要|特别是|尤其|比如|例如|包括|除了|但(?:可以|能|还|也)|哪怕|而且很|挺|很|非常"
    r"|严重|轻微|一周|每周|每天|每月|大概|差不多|离|左边|右边|下坡|上坡|有时|偶尔|因为|鸡蛋|会|不过量|第一次|第\d|目标|名字|叫"
    r"|是一?[只条个]|早上|晚上|上午|下午|\d|以后就在)"
)
_OTHERS = re.compile(r"[他她它你您这那谁]|大家|别人|人家")


def facts_in(text: str) -> Iterator[Reading]:
    """Yield what a sentence states. A clause that only goes on about a statement is added to it."""
    pending: Reading | None = None
    has_subject = False
    owner = ""  # whose or what's the last statement was, when not the user's own
    for raw in _clauses(text):
        clause = without_leads(raw.strip())
        subject = SUBJECT.search(clause[:24])
        if subject is not None and subject["name"]:
            yield Reading(f"用户叫{subject['name']}", "persona", 85, "name", plain_value(subject["name"]))
        if pending is not None and subject is None and _is_about_what_he_has(pending, clause):
            pending = _continued(pending, raw)
            continue
        found = _statement(clause, has_subject=has_subject) if clause else None
        if found is not None:
            if pending is not None:
                yield _with_pet(pending)
            pending, owner = found
            has_subject = not owner
        elif pending is not None and subject is None and _goes_on(raw, clause, owner):
            pending = _continued(pending, raw)
        elif _OTHERS.match(clause):
            has_subject = False
        else:
            has_subject = has_subject or subject is not None
    if pending is not None:
        yield _with_pet(pending)


def _clauses(text: str) -> Iterator[str]:
    """Split at commas; a clause that only names a time belongs to the next one."""
    waiting = ""
    for clause in _CLAUSE_END.split(text)[:_MOST_CLAUSES]:
        stripped = clause.strip()
        if stripped and TIMES.fullmatch(stripped):
            waiting += stripped
        else:
            yield waiting + stripped
            waiting = ""


def _is_about_what_he_has(pending: Reading, clause: str) -> bool:
    return _HAS.match(pending.content) is not None and _OF_WHAT_HE_HAS.match(clause) is not None


def _goes_on(raw: str, clause: str, owner: str) -> bool:
    return _GOES_ON.match(raw) is not None or (bool(owner and clause) and _OTHERS.match(clause) is None)


def _continued(reading: Reading, clause: str) -> Reading:
    return replace(reading, content=f"{reading.content}，{of_the_user(clause)}")


def _with_pet(reading: Reading) -> Reading:
    """Give a statement about a pet that names it the slot of that name."""
    pet = _PET.search(reading.content)
    if pet is None or reading.slot or not _HAS.match(reading.content):
        return reading
    return replace(reading, slot=_ANIMALS[pet["animal"]], value=plain_value(pet["value"]))


def _statement(clause: str, *, has_subject: bool) -> tuple[Reading, str] | None:
    """Return what one clause states and, when it is about somebody or something of the user's, about whom or what."""
    if (team := _TEAM.match(clause)) is not None:
        tense: Tense | None = "past" if is_done(team["rest"]) else None
        content = f"用户的{team['what']}{of_the_user(team['rest'])}"
        return Reading(content, "persona", 60, tense=tense), team["what"]
    if (relative := _RELATIVE.match(clause)) is not None:
        content = f"用户的{relative['what']}{of_the_user(relative['rest'])}"
        return Reading(content, "persona", 60), relative["what"]
    owned = _OWNED.match(clause)
    if owned is not None and (has_subject or _OWNED_BY_THE_SPEAKER.match(clause)):
        return _owned(owned), owned["what"]
    time = TIMES.match(clause)
    start = time.end() if time else 0
    subject = SUBJECT.match(clause, start)
    when, rest = clause[:start], clause[subject.end() if subject else start :]
    if subject is not None:
        later = TIMES.match(rest)
        if later is not None and later.end() < len(rest):
            when, rest = when + later[0], rest[later.end() :]
    elif not has_subject and not STRONG_OUTCOME.match(rest) and not (when and is_event_word(rest)):
        return None
    reading = predicate(rest.strip(), when.strip())
    return None if reading is None else (reading, "")


def _owned(owned: re.Match[str]) -> Reading:
    what, value = owned["what"], _COPULA.sub("", owned["rest"])
    slot = _SLOTS.get(what, "")
    if slot == "name":
        return Reading(f"用户叫{value}", "persona", 85, "name", plain_value(value))
    priority = 85 if _BODY.search(what) else 70 if slot in ("birthday", "residence") else 60
    held = plain_value(without_tail(value)) if slot else ""
    return Reading(f"用户的{what}{of_the_user(owned['rest'])}", "persona", priority, slot, held)
