"""Chinese: what a predicate after 我 states. The order of the table matters: health is not read as a mere liking."""

from __future__ import annotations

import re

from memstrata.distill.rules.dates import mentions_a_date
from memstrata.distill.rules.reading import Reading, Tense, plain_value
from memstrata.distill.rules.rule import Rule, episode, fact, value_of
from memstrata.distill.rules.slots import DIET, TASTE, taste_of
from memstrata.distill.rules.zh.words import ADVERB, DEICTIC, KIN, PLACE, is_city, of_the_user, without_tail

__all__ = ["STRONG_OUTCOME", "is_done", "is_event_word", "predicate"]

_NAME = r"(?P<value>[\u4e00-\u9fff·]{1,8}|[A-Za-z][A-Za-z .'-]{0,30})"
_OCCUPATION = (
    r"[\u4e00-\u9fffA-Za-z+# ]{0,14}(?:师|员|医生|护士|律师|老师|教师|教授|学生|研究生|博士生?|硕士生?|大[一二三四]"
    r"|高[一二三](?:学生)?|程序员|码农|经理|总监|主管|会计|作家|画家|记者|编辑|翻译|导演|演员|歌手|司机|厨师|警察|军人|店长"
    r"|老板|创始人|合伙人|家庭主妇|全职妈妈|自由职业者?|开发者?|架构师|运维|产品|设计|运营|公务员|实习生|顾问|分析师|科学家"
    r"|研究员|工人|农民|CEO|CTO|CFO|PM|HR)"
)
_ILLNESS = (
    r"高血压|糖尿病|哮喘|痛风|乳糖不耐(?:受|症)?|心脏病|鼻炎|胃病|胃炎|抑郁症|焦虑症|恐高症?|偏头痛|贫血|近视|失眠"
)
_MEATLESS = r"吃素|吃全素|纯素|素食(?:主义)?者?|不吃肉|不吃荤|不沾荤腥?|生酮|清真|吃鱼素|蛋奶素"
_MUCH = r"(?:严重|轻微|重度|轻度|有点|会|都|也|很|挺|特别){0,3}"
_OUTCOMES = (
    r"完成|通过|考过|考上|考取|买|卖掉|卖|拿到|拿下|获得|收到|赢得?|跑完|写完|读完|做完|搞定|发布|上线|签|领养|换|搬|结婚|离婚"
    r"|订婚|毕业|升职|晋升|升|入职|转正|跳槽|生|动|做|摔|骨折|搬家|退租|交房|提车|参加|去|回|见|看|办|创办|成立|开|学会|修好"
    r"|还清|拿"
)

_RULES = (
    fact(90, rf"[对吃](?P<value>.{{1,20}}?){_MUCH}过敏(?!吗)"),
    fact(90, r"有(?P<value>.{1,12}?)过敏[史症]?"),
    fact(90, r"(?P<value>[\u4e00-\u9fff]{1,8})过敏(?:$|很|挺|严重|，)"),
    fact(
        85,
        r"(?:患有|患上|得了|确诊[了为]?|被诊断[为出]?|长期)"
        r"(?P<value>.{0,20}?(?:病|症|炎|癌|综合征|失眠|抑郁|焦虑|哮喘|糖尿|高血压|痛风).{0,12})",
    ),
    fact(85, rf"[有是](?:严重|轻度|轻微|重度|先天性|慢性|点){{0,2}}(?P<value>{_ILLNESS})"),
    fact(85, r"(?P<value>乳糖不耐[受症]?|怀孕|恐高|晕车|晕船)"),
    fact(85, rf"(?:叫做?|名叫|姓)(?!你|他|她|它|了|过|不|车|外卖|醒|做|人|我){_NAME}$", "name"),
    fact(75, r"英文名字?(?:叫|是)?\s?(?P<value>[A-Za-z][A-Za-z .'-]{0,20})$", "english_name"),
    fact(80, rf"(?:改|开始|一直|是|只|现在|在)?(?P<value>{_MEATLESS})", DIET),
    fact(80, r"(?:又|重新)(?:开始)?(?P<value>吃肉)", DIET),
    fact(
        75,
        r"(?:不再|再也不|不)?(?:住在?|定居在?|居住在|生活在|搬到|搬去|搬回|搬来|移居)了?"
        rf"{PLACE}(?:了|的|啊|呢|住|生活|定居|工作|$)",
        "residence",
    ),
    fact(75, rf"在{PLACE}(?:住|生活|定居|租房)", "residence"),
    fact(75, rf"家住?在{PLACE}(?:了|的|啊|呢|$)", "residence"),
    fact(65, rf"来自{PLACE}(?:的|$)", "hometown"),
    fact(65, r"老家[是在](?P<value>.{1,16})", "hometown"),
    fact(65, r"是(?P<value>[\u4e00-\u9fff]{2,6})(?<!好|坏|男|女|大|的|本|老|新|别)人$", "hometown"),
    fact(65, r"在.{1,16}长大|出生[在于].{1,20}|毕业于.{1,24}"),
    fact(65, r"在.{1,20}[读上念](?:大学|研究生?|博士?|硕士?|本科|高中|初中|书)"),
    fact(75, rf"在{PLACE}(?:上班|工作|任职|就职|实习|供职|做|当|担任|负责)", "employer"),
    fact(
        75,
        r"(?:就职于|供职于|任职于|入职了?|加入了?|跳槽[到去]了?|去了?)(?P<value>[\u4e00-\u9fffA-Za-z0-9·.& -]{1,24}?)"
        r"(?:了|工作|上班|公司|做.{1,12}|当.{1,12})$",
        "employer",
    ),
    episode(
        75,
        r"从(?P<value>.{1,20}?)(?:离职|辞职|离开|跳槽)|(?:离职|辞职|裸辞|被裁|退休|失业)了?",
        "past",
        ends="employer",
    ),
    fact(
        70,
        rf"(?:是|做|当|担任|成了|成为)(?:一名|一个|一位|个|名|位|着)?(?P<value>{_OCCUPATION})(?:的|了|$|，)",
        "occupation",
    ),
    fact(60, r"(?:今年|刚满|快|已经)?(?P<value>\d{1,3}|[一二三四五六七八九十]{1,3})岁(?:了|$)", "age"),
    fact(65, r"(?:养了?|家里有|家有|领养了?|收养了?)(?P<value>.{1,40})"),
    fact(
        60,
        r"有(?:[一二两三四五六七八九十\d几]{1,2}[个只条位匹辆台]|[个只辆台])"
        rf"(?P<value>.{{0,16}}(?:{KIN}|车|房|公司|店|工作室).{{0,30}})",
    ),
    fact(
        65,
        r"(?:不再|不|再也不|不怎么|不太)?(?:喜欢|喜爱|热爱|偏爱|偏好|钟爱|酷爱|爱上了?|迷上了?|喜歡)(?P<value>.{1,60})",
        TASTE,
    ),
    fact(
        65,
        r"不?爱(?P<value>(?:吃|喝|看|玩|听|用|做|打|逛|去|跑|爬|读|聊|唱|画|拍|写|运动|旅游|旅行|音乐|猫|狗).{0,60})",
        TASTE,
    ),
    fact(65, r"(?:讨厌|厌恶|反感|受不了|吃不了|喝不了|吃不惯|害怕|怕|忍不了)(?P<value>.{1,60})", TASTE),
    fact(
        70,
        r"(?:从来)?(?:不|没法|不能|不会|不敢|再也不)再?[吃喝抽](?!了$|饭|完|掉|早|午|晚)(?P<value>.{1,60})",
        TASTE,
    ),
    fact(
        60,
        r"(?:只|更|宁愿|宁可|更愿意|倾向于?|习惯|偏向|更习惯)于?(?P<value>[用吃喝看穿买选写先在早晚坐听].{1,60})",
    ),
    episode(70, r"戒掉?了?(?P<value>.{1,12}?)(?:了|$)", "past", slot=TASTE),
    fact(60, r"(?:会(?:[说讲弹拉打唱画写]|编程|游泳|滑雪|开车|做饭|烘焙)|精通|擅长|熟悉|母语是).{0,40}"),
    fact(60, r"(?:在|正在|开始|自)学[习着了]?(?!校)(?P<value>.{1,40})"),
    fact(
        60,
        r"(?:主要|日常|平时|一般|习惯)?(?:用|使用)(?:的是)?(?P<value>(?!过|的|户|这|那|你|了).{1,30}?)"
        r"(?:写|开发|做|编程|记|管理|办公|工作|$)",
    ),
    fact(60, r"(?:坚持|习惯)(?P<value>.{2,40})"),
    fact(60, r"每(?:天|周|月|年|晚|早|日|隔|个|逢|星期|次)(?P<value>.{2,60})"),
    fact(55, r"(?:总|常|经常|常常|通常|一般)(?:会|去|在)?(?P<value>.{2,50})"),
    episode(75, r"[和跟与同].{1,12}?(?:结婚|订婚|离婚|领证|分手|同居|复婚).{0,12}", None),
    episode(
        70,
        r"(?:报名(?:参加)?了?|预[订定约]了?|订了|约了|买了.{1,20}(?:票|机票)|申请了?)(?P<value>.{1,60})",
        "future",
    ),
    episode(
        70,
        r"(?:打算|计划|准备(?!好)|决定|考虑|想在|想要在|将要?|即将|马上要|就要|要|会|得)(?P<value>.{2,60})",
        "future",
    ),
    episode(70, rf"(?:终于|已经|刚刚?)?(?:{_OUTCOMES})了?(?P<value>.{{0,50}})", "past"),
    episode(65, r"(?P<value>[在和跟与把去到给看见吃做考学参].{2,60})", "past", dated=True),
)

STRONG_OUTCOME = re.compile(
    r"(?:终于|已经|刚刚?)?(?:完成|通过|考[过上取]|拿到|拿下|获得|赢|跑完|写完|读完|发布|上线|领养|结婚|离婚|订婚|毕业|升职"
    r"|晋升|入职|转正|跳槽|搬家|学会|买了|卖了|换了)"
)
_EVENT_WORD = re.compile(
    r"(?:入职|开学|考试|面试|出发|搬家|毕业|结婚|答辩|手术|复查|体检|起飞|到期|开工|返校|报到|比赛|演出)"
)
_DONE = re.compile(r"了(?:$|[^吧])|过(?:$|[^敏])")
_INTENDS = re.compile(r".{0,4}(?:打算|计划|决定)")
_BOUND = re.compile(r"(?:报名|预|订了|约了|买了|申请)")
_AHEAD = re.compile(r"[要会将想]|打算|计划|准备|决定|考虑")
_JUST_NOW = re.compile(r"[今刚]|现在")
_USUALLY = re.compile(r"一般|平时|通常|平常")
_DISLIKE = re.compile(r".{0,4}(?:不|讨厌|厌恶|反感|受不了|怕|害怕|戒|忍不了|没法)")
_VERB_BEFORE_THING = re.compile(r"^(?:[吃喝看玩听用去做打逛读聊])?[了过着]?")
_SEVERAL = re.compile(r"[、和与跟及或也]|还有")
_LONGEST_THING = 8


def predicate(rest: str, when: str) -> Reading | None:
    """Return what is stated by `rest`, a clause without subject, at the time `when` that stood before it."""
    start = 0
    for _ in range(4):
        adverb = ADVERB.match(rest, start)
        if adverb is None:
            break
        start = adverb.end()
    # An adverb may be the head of a pattern ("更愿意"), so the whole is tried before what follows the adverbs.
    for candidate in (rest, rest[start:]) if start else (rest,):
        for rule in _RULES:
            match = rule.pattern.match(candidate)
            if match is not None and (reading := _reading(rule, match, rest, when)) is not None:
                return reading
    content = f"用户{when}{of_the_user(rest)}"
    if _USUALLY.match(when) and len(rest) > 1:
        return Reading(content, "persona", 55)
    if when and is_event_word(rest):
        return Reading(content, "episodic", 70, tense="past" if is_done(rest) else "future")
    return None


def is_event_word(rest: str) -> bool:
    """Return whether a clause without subject names a step of a life: with a date before it, it needs no verb."""
    return _EVENT_WORD.match(rest) is not None


def is_done(text: str) -> bool:
    """Return whether a clause says that something has happened."""
    return _DONE.search(text) is not None


def _reading(rule: Rule, match: re.Match[str], rest: str, when: str) -> Reading | None:
    value = value_of(match)
    if rule.slot and rule.slot != "name" and (not value or DEICTIC.match(value)):
        return None
    if rule.type == "episodic" and not _is_worth_telling(rule, rest, when, value):
        return None
    slot, held = rule.slot, plain_value(without_tail(value))
    if slot == "employer" and is_city(held):
        slot = "work_city"
    if slot == TASTE:
        slot, held = taste_of(_thing(held), liked=not _DISLIKE.match(rest))
    content = f"用户{when}{of_the_user(rest)}"
    return Reading(content, rule.type, rule.priority, slot, held if slot else "", tense=rule.tense, ends=rule.ends)


def _is_worth_telling(rule: Rule, rest: str, when: str, value: str) -> bool:
    """Say whether an episode is more than small talk: done things say so, plans have a date or name an intention."""
    if DEICTIC.match(value):
        return False
    if rule.ends or rule.slot == TASTE or rule.tense is None:
        return True
    tense: Tense = rule.tense
    dated = mentions_a_date(when + rest) and not _JUST_NOW.match(when)
    if tense == "past":
        strong = STRONG_OUTCOME.match(rest) is not None and len(rest) > 3 and not rule.dated
        return is_done(rest) and (strong or dated)
    if _BOUND.match(rest):
        return True
    if _INTENDS.match(rest):
        return len(value) > 2
    return dated and _AHEAD.search(rest[:6]) is not None


def _thing(value: str) -> str:
    """Return the one thing that is liked or not; "" for a list or a whole phrase."""
    thing = _VERB_BEFORE_THING.sub("", value)
    return "" if len(thing) > _LONGEST_THING or _SEVERAL.search(thing) else thing
