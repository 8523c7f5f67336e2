"""Chinese words that several patterns need, and how a clause is trimmed and put into the third person."""

from __future__ import annotations

import re

__all__ = [
    "ADVERB",
    "DEICTIC",
    "KIN",
    "LEAD",
    "PLACE",
    "SUBJECT",
    "TIME",
    "TIMES",
    "is_city",
    "of_the_user",
    "only_leads",
    "tidied",
    "without_leads",
    "without_tail",
]

_N = r"[\d一二两三四五六七八九十]{1,3}"
TIME = (
    r"(?:上上|下下|上|下|这|本)?个?(?:周|星期|礼拜|月)(?:[一二三四五六日天末]|\d{1,2}[日号])?"
    r"|去年|今年|明年|后?前年|昨[天晚]|今[天晚早]|明[天晚]|后天|前天"
    r"|\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月份?(?:\d{1,2}[日号])?|[一二三四五六七八九十]{1,3}月份?"
    rf"|{_N}(?:天|周|个?月|年)[前后]"
    r"|最近|近来|现在|目前|如今|平时|平常|一般|通常|周末|早上|晚上|从小|小时候|以前|之前|刚刚|刚才|现阶段"
)
TIMES = re.compile(rf"(?:自从|自|从|在)?(?:(?:{TIME})(?:的|初|底|中旬|上旬|下旬|里|起|开始|以来|前后)?[\s、]?){{1,3}}")

KIN = (
    r"(?:直属|直接|前|大|小|二|三|新|老|亲|双胞胎)?"
    r"(?:妈妈?|母亲|爸爸?|父亲|父母|爷爷|奶奶|外公|外婆|姥姥|姥爷|哥哥?|姐姐?|弟弟?|妹妹?|老婆|妻子|太太|老公|丈夫|先生"
    r"|女儿|儿子|孩子|女朋友|男朋友|对象|未婚[夫妻]|表[哥姐弟妹]|堂[哥姐弟妹]|叔叔|阿姨|舅舅|姑姑|婆婆|公公|岳[父母]"
    r"|室友|同事|上司|领导|老板|经理|导师|老师|同学|朋友|闺蜜|邻居|客户|猫|狗|小?猫咪|狗狗|宠物)"
)
SUBJECT = re.compile(
    r"(?:我(?:自己|本人|这个?人)?|本人|俺|咱|用户(?:[（(](?P<name>[^）)\s]{1,20})[）)])?)"
    r"(?!们|家|妈|爸|爷|奶|哥|姐|弟|妹|老婆|老公|女儿|儿子)"
)
ADVERB = re.compile(
    r"(?:现在|目前|最近|近来|平时|平常|一般|通常|经常|常常|总是|一直|从来|从小|已经|仍然|依然|还是|真的|真|特别|非常"
    r"|十分|超级|超|挺|蛮|比较|更|最|很|太|也|都|还|就|才|刚刚|刚|终于|本来|原来|确实|其实|主要|只|不太|有点|尤其|又|再"
    r"|可|算)"
)
LEAD = re.compile(
    r"(?:嗯+|哦+|噢|啊|哎|唉|哈+|对+(?:了|(?=[，,。！!\s]))|好吧|好的?|那么?|另外|还有|其实|不过|但是|但|可是|而且|并且"
    r"|所以|因此|然后|总之|反正|毕竟|话说|说实话|老实说|说起来|不对|更正(?:一下)?|补充(?:一下|一点)?"
    r"|顺便(?:说(?:一下|一句)?|提一句)?|告诉你(?:个|一个)?好?(?:消息|事)?|跟你说(?:个|一个|一下)?(?:计划|事|好消息)?"
    r"|你知道吗?|你好[呀啊]?|您好|大家好|嗨|hi|hello|是这样的?|先?(?:自我)?介绍一下(?:自己)?|先说[\u4e00-\u9fff]{1,4}吧"
    r"|准确地?说|具体[地来]?说|请注意|注意|提醒一下|再说一[次遍]|还是|主要是|就是|因为|由于|虽然|尽管)[\s，,：:、]*",
    re.IGNORECASE,
)
DEICTIC = re.compile(r"(?:这|那|它|他们?|她们?|你|您|吗|的$|什么)")

PLACE = r"(?P<value>(?!家|这|那|哪|线|一起|外面|办公室|单位|路上|床)[\u4e00-\u9fffA-Za-z0-9· .&-]{1,24}?)"
_CITY = re.compile(
    r"[\u4e00-\u9fff]{1,6}[省市区县镇]|北京|上海|广州|深圳|杭州|成都|南京|武汉|西安|重庆|天津|苏州|长沙|郑州|青岛|厦门"
    r"|宁波|合肥|济南|福州|大连|昆明|沈阳|珠海|佛山|东莞|无锡|香港|澳门|台北|东京|大阪|首尔|新加坡|纽约|旧金山|西雅图|伦敦"
    r"|巴黎|柏林|悉尼|墨尔本|多伦多|温哥华|国外|海外|外地|老家|国内"
)

_TRAILING = re.compile(r"[\s。．.!！…~～、:：]+$|[😀-🙏🤀-🫿❤️✨]+$")
_VALUE_TAIL = re.compile(r"(?:了|的|呢|啊|呀|哦|吧|啦|哈|[这那][边里]|附近|上班|工作)+$")
_ME = re.compile(r"我(?!们)")
_AI = re.compile(r"(?<![\u4e00-\u9fff])你(?=觉得|的|认为|要|会)|(?<=哪怕)你")


def tidied(text: str) -> str:
    """Return a sentence without its end: stops, emoji, white space."""
    tidy = " ".join(text.split())
    for _ in range(3):
        tidy = _TRAILING.sub("", tidy)
    return tidy


def without_leads(text: str) -> str:
    """Return a clause from where it states something: "对了，其实我…" → "我…"."""
    for _ in range(4):
        lead = LEAD.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def only_leads(text: str) -> bool:
    """Return whether a text says nothing of its own."""
    return not LEAD.sub("", text, count=3).strip(" ，,")


def without_tail(value: str) -> str:
    """Return a value without particles at its end."""
    return _VALUE_TAIL.sub("", value)


def is_city(value: str) -> bool:
    """Return whether a place is a city or region: "在上海工作" says where one works, not for whom."""
    return _CITY.fullmatch(value) is not None


def of_the_user(text: str) -> str:
    """Return a text with the user named instead of 我, and 你 as the AI where it cannot be anybody else."""
    return _AI.sub("AI", _ME.sub("用户", text))
