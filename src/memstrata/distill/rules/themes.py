"""Which theme a memory belongs to: a dozen drawers, told by slot and key words.

A scene is one theme's file, so themes are few, named in the user's language, and the same memory always goes to the same
one. What no key word knows goes where its scene name points, else to the last drawer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["OTHER", "THEMES", "Theme", "theme_named", "theme_of"]


@dataclass(frozen=True, slots=True)
class Theme:
    """A drawer. `titles` name it by language; English is always there."""

    key: str
    titles: Mapping[str, str]
    words: re.Pattern[str]
    slots: frozenset[str] = frozenset()

    def title(self, language: str) -> str:
        return self.titles.get(language, self.titles["en"])


_LANGUAGES = ("en", "zh", "ja", "ko", "ru")


def _theme(key: str, titles: tuple[str, str, str, str, str], latin: str, han: str, slots: str = "") -> Theme:
    # Not \b: between 是 and MacBook it sees no boundary.
    words = re.compile(rf"(?<![a-z])(?:{latin})(?:s|es|ing|ed)?(?![a-z])|{han}", re.IGNORECASE)
    return Theme(key, dict(zip(_LANGUAGES, titles, strict=True)), words, frozenset(slots.split()))


_TOGETHER = _theme(
    "together",
    ("Working Together", "协作约定", "やりとりの約束", "함께 일하는 방식", "Как работать вместе"),
    r"answer|repl(?:y|ies)|respon[ds]e?|explanation|tone|emoji|bullet point|conclusion first|metric|imperial|units?"
    r"|concise|short|format|diagram|address"
    r"|jargon|disclaimer|apologi[sz]e|summar(?:y|ies)|spelling|call(?:s)? the user|shortcut",
    r"回答|回复|答复|语气|表情|格式|称呼|简洁|结论|术语|啰嗦|分点|列表|解释|出处|引用|答案|説明|回答|返信|敬語|존댓말"
    r"|대답|отвеча|respond|口調"
    r"|絵文字|箇条書き",
    "form_of_address reply_language",
)
_FOOD = _theme(
    "food-health",
    ("Food and Health", "饮食与健康", "食事と健康", "음식과 건강", "Еда и здоровье"),
    r"allerg\w*|eat|food|cook|recipe|meal|dinner|lunch|breakfast|vegetarian|vegan|meat|steak|fish|vegetable|fruit"
    r"|coffee|tea|wine|beer|alcohol|drink"
    r"|cilantro|coriander|peanut|nut|milk|cheese|bread|bake|spicy|sugar|caffeine|health|doctor|medic\w*|diabet\w*"
    r"|asthma|knee|back pain|injur\w*|surgery|sleep"
    r"|insomnia|migraine|diet|weight|gluten|lactose|coeliac|celiac|dentist|ill(?:ness)?|pain|pregnan\w*|smok\w*"
    r"|restaurant|noodle|rice|sushi|pizza|curry|blood",
    r"过敏|吃|喝|饮食|菜|饭|餐|食|厨|烹|素|肉|牛排|鱼|蔬|水果|豆|咖啡|茶|酒|香菜|花生|牛奶|鸡蛋|辣|糖|健康|医|病|药"
    r"|膝盖|手术|失眠|睡眠|睡不着|体检|血压|减肥|减重|体重|戒烟|抽烟"
    r"|アレルギー|料理|食べ|飲|食事|肉|野菜|果物|コーヒー|お茶|酒|健康|病|薬|医者|睡眠|菜食|ベジタリアン|ヴィーガン"
    r"|寿司"
    r"|알레르기|음식|커피|먹|요리|건강|аллерг|кофе|чай|еда|едят|вегетариан|здоров|alérgi|alergia|café|comida|pescado",
    "diet",
)
_WORK = _theme(
    "work",
    ("Work", "工作", "仕事", "일", "Работа"),
    r"work(?!s?(?:ing|ed)? out)|job|career|compan(?:y|ies)|employer|office|boss|manager|colleague|team|client|invoice"
    r"|freelanc\w*|interview|offer|salary|promotion|engineer|designer"
    r"|nurse|teacher|lawyer|startup|meeting|deadline|project|release|sprint|standup|review|business|hire|hired"
    r"|laid off|resign\w*|four-day week",
    r"工作|上班|公司|职|同事|领导|老板|经理|团队|客户|发票|面试|offer|薪|工资|升|项目|周报|会议|加班|办公|创业|入职"
    r"|离职|跳槽|工程师|设计师|产品经理|四天工作制"
    r"|仕事|会社|勤務|働|上司|同僚|転職|就職|面接|会議|給料|案件|プロジェクト|出張|チーム|일하고|회사|직장|работа"
    r"|trabaja",
    "employer occupation manager",
)
_CODE = _theme(
    "study-code",
    ("Study and Code", "学习与技术", "学習と技術", "공부와 기술", "Учёба и техника"),
    r"python|rust|golang|typescript|javascript|java|kotlin|c\+\+|code (?:sample|example|review|question|base)"
    r"|codebase|coding|programm\w*|software|database|postgres\w*|sqlite|mysql|redis|kubernetes|docker|linux|git"
    r"|neovim|vim|vs code|editor|ide|terminal|api|server|deploy\w*|algorithm|study|studi(?:es|ed)|learn|course|exam"
    r"|degree|thesis|phd|university|school|college|language"
    r"|portuguese|japanese|spanish|german|french|chinese|english|math|physics|chemistry|mermaid|keyboard|laptop"
    r"|macbook|thinkpad|homework|class(?:es)?",
    r"代码|编程|语言|开发|数据库|前端|后端|服务器|部署|算法|编辑器|终端|仓库|接口|学习|在学|自学|课程|考试|考研|学位"
    r"|论文|毕业|大学|学校|英语|日语|法语|德语|雅思|托福|数学|专业|读博|电脑|键盘"
    r"|コード|プログラミング|開発|データベース|サーバー|勉強|学習|試験|大学|論文|英語|日本語|数学|パソコン|Python",
    "editor database native_language",
)
_HOME = _theme(
    "home",
    ("Home and Place", "住所与生活", "住まいと暮らし", "집과 생활", "Дом и место"),
    r"live|home|house|flat|apartment|move|moved|rent|neighbou?r\w*|city|town|furniture|garden|kitchen|commute"
    r"|hometown|grew up|born|from|renovat\w*|mortgage|landlord",
    r"住|搬|家在|新家|房|租|小区|城市|老家|家乡|装修|家具|花园|通勤|来自|长大|出生|定居|住んで|引っ越|家賃|部屋|出身"
    r"|実家|通勤|暮ら|살고|живёт|vive en",
    "residence hometown",
)
_FAMILY = _theme(
    "family",
    ("Family and People", "家人与朋友", "家族と友人", "가족과 친구", "Семья и друзья"),
    r"wife|husband|partner|girlfriend|boyfriend|spouse|mother|father|mom|mum|dad|parents|son|daughter|kid"
    r"|child(?:ren)?|brother|sister|grand\w+|aunt|uncle|cousin"
    r"|friend|roommate|married|wedding|engaged|divorced|anniversary|dog|cat|pet|puppy|kitten|parrot|rabbit|hamster"
    r"|birthday party",
    r"妈|爸|母亲|父亲|父母|爷爷|奶奶|外公|外婆|哥|姐|弟|妹|老婆|妻子|老公|丈夫|女儿|儿子|孩子|女朋友|男朋友|朋友|结婚"
    r"|婚|猫|狗|宠物|表姐|邻居|室友"
    r"|母|父|妻|夫|息子|娘|兄|姉|弟|妹|友達|友人|結婚|猫|犬|ペット|家族|子供|彼女|彼氏",
    "dog_name cat_name relationship partner_name",
)
_TRAVEL = _theme(
    "travel",
    ("Travel", "旅行与出行", "旅行", "여행", "Поездки"),
    r"travel\w*|trip|flight|fly|flying|flew|hotel|visa|passport|vacation|holiday|visit|visited|airport|train ticket"
    r"|luggage|booked|tour|abroad|backpack\w*|itinerary",
    r"旅行|旅游|出差|机票|航班|飞|酒店|签证|护照|出行|度假|自驾|高铁|行程|景点|出国|旅行|飛行機|ホテル|パスポート"
    r"|観光|海外",
)
_HOBBIES = _theme(
    "hobbies",
    ("Hobbies and Sport", "爱好与运动", "趣味と運動", "취미와 운동", "Увлечения и спорт"),
    r"hobb(?:y|ies)|work(?:s|ing)? out|exercis|run|running|runner|marathon|swim\w*|hike|hiking|cycl\w*|bike|climb\w*"
    r"|yoga|gym|train for|football|soccer|basketball|tennis|badminton|chess|game|gaming|music"
    r"|guitar|piano|cello|bass|sing|choir|paint\w*|draw\w*|photo\w*|camera|read|reading|book|novel|film|movie|series"
    r"|dance|knit\w*|collect\w*|fishing|ski\w*|surf\w*|garden\w*|pottery",
    r"爱好|兴趣|跑步|晨跑|跑|马拉松|半马|游泳|爬山|登山|徒步|骑行|瑜伽|健身|足球|篮球|羽毛球|网球|乒乓|下棋|游戏|音乐"
    r"|吉他|钢琴|唱歌|合唱|画画|绘画|摄影|相机|读书|看书|小说|电影|剧"
    r"|舞|编织|收藏|钓鱼|滑雪|冲浪|训练|趣味|走|マラソン|水泳|登山|自転車|ヨガ|ジム|サッカー|野球|テニス|将棋|ゲーム"
    r"|音楽|ギター|ピアノ|写真|読書|映画|釣り|スキー",
)
_MONEY = _theme(
    "money",
    ("Money and Things", "财务与物品", "お金と持ち物", "돈과 물건", "Деньги и вещи"),
    r"money|budget|invest\w*|fund|stock|savings?|loan|tax|taxes|bank|credit card|insurance|bought|buy|sold|car|price"
    r"|pay|paid|subscription|phone|watch|camera",
    r"钱|预算|投资|基金|股票|存款|贷款|房贷|税|银行|信用卡|保险|买|卖|车|价格|账单|订阅|手机|お金|予算|投資|株|貯金"
    r"|ローン|税|銀行|保険|買|車|スマホ",
)
_ABOUT = _theme(
    "about",
    ("About the User", "基本情况", "基本情報", "기본 정보", "О пользователе"),
    r"name is|years old|birthday|is called|personality|introvert|extrovert|religio\w*|speaks?|believes?|values?|habit"
    r"|morning person|night owl|wakes?|gets up|timezone|email",
    r"用户叫|名叫|姓名|英文名|岁|生日|性格|内向|外向|信仰|习惯|早起|夜猫子|作息|星座|血型|邮箱|电话|名前|歳|誕生日"
    r"|性格|習慣|早起き",
    "name english_name birthday age email time_zone",
)
OTHER: Final = _theme("other", ("Other", "其他", "その他", "기타", "Прочее"), r"(?!)", r"(?!)")

# Of equal counts the earlier wins: health before work before hobbies.
THEMES: Final = (_FOOD, _WORK, _CODE, _FAMILY, _TRAVEL, _HOBBIES, _HOME, _MONEY, _ABOUT, _TOGETHER, OTHER)
_BY_SLOT = {slot: theme for theme in THEMES for slot in theme.slots}
_BY_TITLE = {title.casefold(): theme for theme in THEMES for title in theme.titles.values()}
_RELATIVE = re.compile(
    r"(?:用户的|The user's |ユーザーの)(?:(?:older|younger|elder|little|late|ex-?) ?)?"
    r"(?:妈|爸|母|父|爷|奶|外[公婆]|哥|姐|弟|妹|老婆|妻|老公|丈夫|女儿|儿子|孩子|[男女]朋友|表|堂|叔|阿姨|舅|姑|朋友"
    r"|室友|邻居|猫|狗|夫|息子|娘|兄|姉|犬|友"
    r"|wife|husband|partner|girlfriend|boyfriend|spouse|mother|father|mom|mum|dad|parents|son|daughter|kid|child"
    r"|brother|sister|grand|aunt|uncle"
    r"|cousin|nephew|niece|friend|best friend|roommate|flatmate|neighbo|dog|cat|pet)"
)
_NUMBERED = re.compile(r"-\d{1,3}$")


def theme_of(content: str, *, type: str = "", slot: str = "", scene_name: str = "") -> Theme:  # noqa: A002
    """Return the theme of a memory. An order about answers is about working together, whatever else it mentions."""
    if slot in _BY_SLOT:
        return _BY_SLOT[slot]
    if type == "instruction" and _TOGETHER.words.search(content):
        return _TOGETHER
    if _RELATIVE.match(content):
        return _FAMILY
    counts = [len({match[0].casefold() for match in theme.words.finditer(content)}) for theme in THEMES]
    best = max(counts)
    if best:
        return THEMES[counts.index(best)]
    if type == "instruction":
        return _TOGETHER
    return theme_named(scene_name) or OTHER


def theme_named(name: str) -> Theme | None:
    """Return the theme that a scene name or the stem of a scene's file stands for, in any language; None if none does."""
    stem = _NUMBERED.sub("", name.strip().removesuffix(".md")).replace("-", " ").casefold()
    return _BY_TITLE.get(stem)
