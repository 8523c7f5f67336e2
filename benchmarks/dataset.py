"""The data that is searched: facts about people that a question asks for in other words, hidden among records of work.

The same rows in the same order on every machine, so that figures of two runs, or of two programs, are about the same
search. 100 facts are Chinese and 100 English; of each language there are five for each of twenty people, so that a
person's name alone does not tell which of them answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ["Gold", "distractor", "gold", "texts"]

Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Gold:
    """A stored statement, and a question that it answers."""

    language: Language
    fact: str
    question: str


@dataclass(frozen=True, slots=True)
class _Slot:
    """One thing that is known about each person: `{n}` is the name, `{v}` one of as many values as there are people."""

    fact: str
    question: str
    values: str


_NAMES: dict[Language, str] = {
    "zh": "小林 阿伟 王芳 李雷 韩梅 张强 陈晨 赵敏 周洋 吴迪 郑爽 孙悦 钱峰 冯雪 褚楠 卫东 蒋琳 沈浩 韩冰 杨帆",
    "en": "Maya Liam Olivia Noah Emma Ethan Sophia Mason Ava Lucas Mia Oscar Chloe Felix Nora Hugo Iris Leo Zoe Max",
}
_LANGUAGES = (
    "Rust Go Java Python Kotlin Swift TypeScript Scala Haskell Elixir"
    " Ruby PHP Dart Lua Julia Zig Erlang OCaml Clojure Perl"
)
_SLOTS: dict[Language, tuple[_Slot, ...]] = {
    "zh": (
        _Slot(
            "{n}对{v}过敏，点餐时必须避开",
            "给{n}订餐的时候有哪些食材不能碰",
            "花生 虾 牛奶 芒果 鸡蛋 小麦 海蜇 腰果 草莓 大豆 螃蟹 核桃 菠萝 羊肉 香菇 番茄 蜂蜜 芝麻 猕猴桃 扇贝",
        ),
        _Slot(
            "{n}目前定居在{v}，租了一套两居室",
            "{n}现在住在哪个城市",
            "杭州 成都 深圳 厦门 青岛 大连 苏州 武汉 西安 长沙 昆明 南京 宁波 福州 合肥 济南 重庆 珠海 无锡 天津",
        ),
        _Slot("{n}的主力编程语言是{v}，写了八年", "{n}写代码最常用什么", _LANGUAGES),
        _Slot(
            "{n}养了一只叫{v}的猫",
            "{n}的宠物叫什么名字",
            "团子 煤球 布丁 年糕 可乐 豆包 奶茶 芝士 汤圆 麻薯 雪球 橘子 花卷 土豆 咖啡 栗子 饺子 泡芙 蛋挞 椰子",
        ),
        _Slot(
            "{n}计划在{v}去冰岛看极光",
            "{n}什么时候出发去北欧旅行",
            "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月 元旦 春节 清明 端午 中秋 国庆 圣诞 暑假",
        ),
    ),
    "en": (
        _Slot(
            "{n} is allergic to {v} and carries an epinephrine pen",
            "Which food must be avoided when cooking for {n}?",
            "peanuts shrimp milk mango eggs wheat squid cashews strawberries soy crab walnuts pineapple lamb mushrooms tomatoes"
            " honey sesame kiwi scallops",
        ),
        _Slot(
            "{n} relocated to {v} last spring and rents a loft there",
            "What city does {n} live in now?",
            "Berlin Lisbon Oslo Madrid Vienna Prague Dublin Milan Zurich Warsaw Athens Porto Lyon Ghent Turin Bergen Malmo Graz"
            " Basel Cork",
        ),
        _Slot("{n} writes most production code in {v}", "What is {n}'s favourite programming language?", _LANGUAGES),
        _Slot(
            "{n} adopted a puppy and named it {v}",
            "What is {n}'s dog called?",
            "Rex Bella Charlie Luna Cooper Daisy Milo Rocky Sadie Tucker Biscuit Pepper Ziggy Waffles Nacho Pickle Mochi Tofu"
            " Bagel Maple",
        ),
        _Slot(
            "{n} has booked a trip to Iceland in {v}",
            "When will {n} travel to see the northern lights?",
            "January February March April May June July August September October November December autumn winter spring summer"
            " Easter Christmas Thanksgiving Halloween",
        ),
    ),
}  # fmt: skip
_TOPICS: dict[Language, str] = {
    "zh": (
        "团队 项目 接口 数据库 缓存 日志 部署 测试 会议 周报 需求 评审 上线 回滚 监控 报警 配置 权限 文档 客户 合同 预算 采购"
        " 培训 招聘 面试 绩效 早餐 跑步 电影 音乐 吉他 钢琴 羽毛球 游泳 登山 摄影 书法 围棋 咖啡 火锅 面条 公园 地铁 航班 酒店"
        " 签证 天气 花园 阳台 书房 窗帘 沙发"
    ),
    "en": (
        "team project interface database cache logging deploy testing meeting report requirement review release rollback monitor"
        " alert config permission document customer contract budget purchase training hiring interview breakfast running movie"
        " music guitar piano badminton swimming hiking photo chess coffee hotpot noodles park subway flight hotel visa weather"
        " garden balcony study curtain sofa invoice shipment warehouse ledger forecast"
    ),
}


def gold() -> tuple[Gold, ...]:
    """Return the 200 facts with their questions."""
    return tuple(
        Gold(language, slot.fact.format(n=name, v=value), slot.question.format(n=name))
        for language, slots in _SLOTS.items()
        for slot in slots
        for name, value in zip(_NAMES[language].split(), slot.values.split(), strict=True)
    )


def distractor(number: int, chance: random.Random) -> str:
    """Return a record of work that answers none of the questions; every other one is English."""
    language: Language = "en" if number % 2 else "zh"
    topics = _TOPICS[language].split()
    one, two, three, four, five = (chance.choice(topics) for _ in range(5))
    reference = f"{chance.getrandbits(32):x}"
    if language == "zh":
        return f"第{number}号记录：用户在{one}期间讨论了{two}和{three}，并决定先处理{four}，再跟进{five}（编号{reference}）"
    return (
        f"Record {number}: the user talked about {one} and {two} during {three}, decided to handle {four} first"
        f" and follow up on {five} (ref {reference})"
    )


def texts(rows: int, seed: int) -> Iterator[str]:
    """Yield the facts and as many distractors as it takes to make `rows` (at least 200), in an order fixed by the seed."""
    chance = random.Random(seed)
    facts = [one.fact for one in gold()]
    if rows < len(facts):
        raise ValueError(f"a data set holds at least the {len(facts)} facts, got {rows} rows")
    mixed = facts + [distractor(number, chance) for number in range(rows - len(facts))]
    chance.shuffle(mixed)
    yield from mixed
