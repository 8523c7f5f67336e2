"""Chinese: which sentences order the assistant how to work from now on, and what exactly they order.

An order is stored only with standing wording (以后, 每次, 永远, 回答要 …). One that names this once is recognised and dropped:
it must not become a rule (user needs A10, B21).
"""

from __future__ import annotations

import re

from memstrata.distill.rules.reading import Reading, plain_value
from memstrata.distill.rules.zh.facts import facts_in
from memstrata.distill.rules.zh.words import DEICTIC, of_the_user, without_leads
from memstrata.records import AppliesTo

__all__ = ["ONE_OFF", "order_told", "orders_in"]

ONE_OFF = re.compile(
    r"这一?[次回条封篇段局轮]|这(?:个问题|道题|张图|会儿)|本次|此次|就这样先|暂时|临时|先这样|今天[先就]|现在先|仅此一次"
    r"|只此一次|下不为例"
)
_PROJECT = re.compile(r"(?:这个?|本|该|当前)(?:项目|仓库|代码库|工程)")
_CONVERSATION = re.compile(r"(?:这个?|本次?|当前)(?:会话|对话|聊天)")

_FROM_NOW = (
    r"(?:以后|今后|往后|将来|从现在(?:起|开始)?|从今(?:天|以后|往后)?(?:起|开始)?|从此(?:以后)?|接下来都?|之后都|日后)"
)
_REPLY = r"(?:回答|回复|答复|答案|回应|解释|输出|说话|讲解|写代码|代码示例|示例|总结|推荐|给建议|建议|画图|报告|聊天)"
_NOT_HIS_OWN_PLAN = r"(?!我(?!问|说|让|要你|发|给|叫))(?!就?在|想|打算|计划|可能|会|再说)"
_STANDING = re.compile(
    rf"(?:那|那么|你|请|请你)?{_FROM_NOW}[\s，,]?{_NOT_HIS_OWN_PLAN}"
    r"|(?:你|请|请你)?(?:永远|始终|务必|一律|总是|每次都?|绝对|千万|任何时候都?)"
    r"(?:不要|别|不准|不许|不能|要|用|先|请|给|把|保持|使用|以|回|在|附|写|注|标|说|按)"
    r"|(?:请|你|请你)?(?:不要再|别再|不许再|不准再|再也不要|再也别|不用再)"
    r"|(?:请|你|请你)?(?:每次|凡是|只要|但凡)[^，,]{0,30}(?:[，,]|时候?|就|都|必须|要|请|先)"
    rf"|(?:你的?|请|我?希望你的?|我要你的?)?{_REPLY}(?:我|时|的时候|问题|尽量|都|最好|一定|里|中)?[^，,]{{0,12}}"
    r"(?:必须|一定要|要|请|尽量|不要|别|应该|最好)"
    r"|(?:请|麻烦|你要|你得)(?:都|一律|尽量|统一)?(?:用|使用|以)[^，,]{1,16}(?:回答|回复|写|跟我说|交流|沟通|解释|说话)"
    r"|(?:你|请你|我希望你|我要求你|我要你|希望你)(?:必须|不准|不许|不能|不可以|永远)"
    r"|[^，,我]{1,8}的时候(?:请)?(?:都|要|先|别|不要|请)"
    r"|[^，,我他她它你]{2,14}(?:之前|以前|前|之后|时)请?(?:必须|务必|一定要|都要|不要|别)"
)
_TO_THE_AI = re.compile(
    r"^(?:我(?:希望|要求|要|想让?|想请)你的?|希望你的?|请你|麻烦你?|你(?=必须|不|以后|永远|要|得|每|别|一律|务必|始终|总)"
    r"|请(?=不|别|永|始|务|一|每|总|用|以|都|尽|在))"
)
_LIKE_THAT = re.compile(rf"{_FROM_NOW}[也都就]?(?:这样|这么|是|如此|照这样|按这个)[\u4e00-\u9fff]{{0,3}}$")
_CALL_ME = re.compile(
    r"(?:大家|朋友们?|别人|你|以后|以后都|请|可以|就|都|你就){0,4}(?:叫|喊|称呼)我[作为]?"
    r"(?P<value>[\u4e00-\u9fffA-Za-z·. ]{1,12}?)(?:就(?:行|好|可以)了?|吧|好了|即可)?$"
)
_ABSOLUTE = re.compile(r"绝对[不别禁]|永远[不别]|任何(?:时候|情况下?)都?|无论(?:如何|什么)|一律|绝不|决不|万万不")
_STRONG = re.compile(r"永远|始终|务必|必须|一律|都要|每次|总是|不要再|别再|绝对|千万")
_LANGUAGE = re.compile(
    r"(?:用|以|使用)(?P<value>简体中文|繁体中文|中文|英文|英语|日文|日语|韩语|法语|德语|西班牙语|俄语)"
)
_PARTICLE = re.compile(r"[啦哦喔哈呀啊吧嘛]$")
_LEAST_LENGTH = 3
_HEAD = 8


def orders_in(text: str) -> tuple[Reading, ...] | None:
    """Return the standing order of a sentence and what it states before: () if it is for once, None without an order."""
    clauses = [clause.strip() for clause in re.split(r"[，,；;]", text)]
    for index, clause in enumerate(clauses):
        bare = without_leads(clause)
        before = "，".join(clauses[:index])
        name = _CALL_ME.fullmatch(bare)
        if name is not None and not DEICTIC.match(name["value"]):
            return (*facts_in(before), _called(name["value"].strip()))
        if _STANDING.match(bare) is None:
            continue
        order = "，".join((bare, *clauses[index + 1 :]))
        if ONE_OFF.search(order) and _reach(order) == "always":
            return ()
        if _LIKE_THAT.match(bare):  # the order itself was said before it
            return (_order(before + "，" + order, _weight(order)),) if before else None
        if index and _reach(clauses[index - 1]) != "always":
            order = f"{clauses[index - 1]}，{order}"
        body = _TO_THE_AI.sub("", order)
        if len(body) < _LEAST_LENGTH or DEICTIC.match(body.removeprefix("这个").removeprefix("这")):
            return None
        return (*facts_in(before), _order(body, _weight(order)))
    return None


def order_told(text: str, priority: int) -> Reading:
    """Return an order whatever its wording: the user said that it is to be remembered."""
    return _order(_TO_THE_AI.sub("", text), priority)


def _called(name: str) -> Reading:
    return Reading(f"用户要求AI称呼用户为{name}", "instruction", 80, "form_of_address", plain_value(name))


def _order(body: str, priority: int) -> Reading:
    language = _LANGUAGE.search(body) if re.search(_REPLY, body) else None
    slot, value = ("reply_language", language["value"]) if language else ("", "")
    told = _PARTICLE.sub("", of_the_user(body))
    return Reading(f"用户要求AI{told}", "instruction", priority, slot, value, _reach(body))


def _weight(text: str) -> int:
    if _ABSOLUTE.search(text):
        return -1
    if _STRONG.search(text):
        return 90
    return 85 if re.search(_FROM_NOW, text[:_HEAD]) else 80


def _reach(text: str) -> AppliesTo:
    if _PROJECT.search(text):
        return "project"
    return "scene" if _CONVERSATION.search(text) else "always"
