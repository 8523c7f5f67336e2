"""Japanese: what a user states about himself, plans, did, and asks for.

The predicate comes last and the subject is mostly left out, so a sentence is taken as the user's unless a topic names
somebody else. Content keeps the user's words with 私 as ユーザー. Lengths in patterns are bounded, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memstrata.distill.rules.dates import mentions_a_date
from memstrata.distill.rules.reading import Correction, Emphasis, Finding, Reader, Reading, Sentence, Tense, plain_value
from memstrata.distill.rules.slots import DIET, TASTE, taste_of
from memstrata.records import AppliesTo, MemoryType

__all__ = ["READER"]

_I = r"(?:私|わたし|あたし|僕|ぼく|俺|おれ|自分|わたくし)"
_LEAD = re.compile(
    r"(?:あの|えっと|えーと|はい|いいえ|うん|ちなみに|実は|じつは|それと|あと|それから|そして|でも|だから|なので|ところで|さて|まず|いや|違います|訂正します?"
    r"|はじめまして|初めまして|こんにちは|こんばんは|おはよう(?:ございます)?|よろしく(?:お願いします)?|今は|現在は?|最近は?|普段は?)[、。,\s!！]*"
)
_SUBJECT = re.compile(rf"(?:{_I}|ユーザー(?:[（(](?P<name>[^）)\s]{{1,20}})[）)])?)(?P<particle>は|が|も|って)、?")
_MINE = re.compile(rf"(?:{_I}|ユーザー)の")
_KIN = (
    r"(?:お?母(?:さん)?|お?父(?:さん)?|両親|妻|夫|旦那|嫁|息子|娘|子供|子ども|お?兄(?:さん)?|お?姉(?:さん)?|弟|妹|祖父|祖母|おじいちゃん|おばあちゃん|彼女|彼氏|恋人"
    r"|友達|友人|同僚|上司|部長|先生|猫|犬|ペット|うちの(?:猫|犬|子))"
)
_OTHER_TOPIC = re.compile(
    r"(?:彼ら?|彼女|あの人|この人|その人|みんな|誰か|[\u4e00-\u9fffァ-ヶー]{1,8}(?:さん|くん|君|ちゃん|様|氏))(?:は|が|も)"
)
_TAIL = re.compile(r"(?:[\s。．.!！…~～♪]|[😀-🙏🤀-🫿])+$|(?:よ|ね|よね|なあ?|わ|けど|のよ|んだ)[。！!\s]*$")
_REMEMBER = re.compile(
    r"(?P<what>.*?)(?:を|と|って|ことを?)?[、,]?\s?(?:覚えて(?:おいて|いて)?|記憶して(?:おいて)?|忘れないで)(?:ください|下さい|ね|よ|くれ|ほしい)?[。！!]*$"
)
_REMEMBER_FIRST = re.compile(
    r"(?:覚えて(?:おいて)?(?:ください|下さい|ね)?|メモして(?:ください)?|忘れないで(?:ください)?)[：:、。,\s]+"
)
_BACK = re.compile(r"(?:これ|それ|このこと|そのこと)(?:を|は|も)?$")

_ASK = r"(?:てください|て下さい|で下さい|でください|てほしい(?:です)?|て欲しい(?:です)?|でほしい(?:です)?|で欲しい(?:です)?|てね|でね|てくれ|でくれ|てもらえますか|こと|ようにして(?:ください|ほしい)?|お願いします|ないで|ましょう)[。！!ねよ]*$"
_STANDING = re.compile(
    r"今後|これから(?:は|も|ずっと)|以後|以降|常に|いつも|必ず|絶対に?|決して|二度と|毎回|ずっと|(?:回答|返信|返事|答え|説明|コード|要約|出力)(?:は|を|の(?:際|とき|時)(?:は|に)?|では|には)"
)
_ASKED = re.compile(_ASK)
_ONE_OFF = re.compile(
    r"今回(?:だけ|は|のみ)|今だけ|この(?:質問|返信|回答|テスト|確認|場合)(?:だけ|は|には|では|では)|とりあえず|一時的に|今日だけ|一度だけ"
)
_PROJECT = re.compile(r"この(?:プロジェクト|リポジトリ|コードベース)")
_CONVERSATION = re.compile(r"この(?:会話|チャット|スレッド)")
_CALL_ME = re.compile(
    rf"(?:{_I}(?:の)?(?:こと)?(?:は|を))?(?P<value>[^、。\s]{{1,16}}?)(?:って|と)呼んで(?:ください|下さい|ね|くれ|ほしい)?"
)
_ABSOLUTE = re.compile(r"絶対に?|決して|何があっても|例外なく")
_DEICTIC = re.compile(r"^(?:これ|それ|あれ|この|その|あの|ここ|そこ|こう|そう|あなた|君)")
_VALUE_TAIL = re.compile(r"(?:が|は|を|も|の|とか|など|だけ|ほど)+$")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    type: MemoryType
    priority: int
    slot: str = ""
    tense: Tense | None = None
    ends: str = ""
    dated: bool = False


def _rule(
    pattern: str,
    type: MemoryType,  # noqa: A002 - the record's own word
    priority: int,
    slot: str = "",
    *,
    tense: Tense | None = None,
    ends: str = "",
    dated: bool = False,
) -> _Rule:
    return _Rule(re.compile(pattern), type, priority, slot, tense, ends, dated)


_NAME = r"(?P<value>[^、。\s]{1,16}?)"
_THING = r"(?P<value>[^。]{1,40}?)"
_RULES = (
    _rule(r"(?:名前|氏名)は" + _NAME + r"(?:です|だ|といいます|と言います|と申します|$)", "persona", 85, "name"),
    _rule(_NAME + r"(?:と申します|といいます|と言います)$", "persona", 85, "name"),
    _rule(
        _THING + r"(?:の|に)?アレルギー(?:です|だ|があ(?:る|ります)|持ち(?:です)?|なんです|が出ます|$)", "persona", 90
    ),
    _rule(
        r".{0,20}?(?P<value>糖尿病|高血圧|喘息|うつ病|偏頭痛|乳糖不耐症|腰痛|不眠症|花粉症|痛風).{0,12}(?:です|だ|があります|がある|を患って|持ち|になり|$)",
        "persona",
        85,
    ),
    _rule(
        r".{0,8}?(?P<value>ベジタリアン|ヴィーガン|菜食主義者?|肉を食べ(?:ません|ない)|肉は食べ(?:ません|ない))",
        "persona",
        80,
        DIET,
    ),
    _rule(
        r"(?:今は|現在は?|今|もう)?、?(?P<value>[^、。]{1,24}?)に(?:住んで|暮らして|引っ越し|移住し|移り住)(?:い?ます|い?る|ました|た|みました|んだ)?",
        "persona",
        75,
        "residence",
    ),
    _rule(
        r"(?:出身|実家|地元)は(?P<value>[^、。]{1,20}?)(?:です|だ|に(?:あります|ある)|$)|(?P<value2>[^、。は]{1,16}?)(?:の)?出身(?:です|だ|$)",
        "persona",
        65,
        "hometown",
    ),
    _rule(
        r".{0,12}?(?P<value>[^、。はに]{1,20}?)(?:で|に)(?:働いて|勤めて|勤務して|就職し|転職し|入社し)(?:い?ます|い?る|ました|た)",
        "persona",
        75,
        "employer",
    ),
    _rule(
        r"(?:(?P<value>[^、。はを]{1,20}?)を|会社を|仕事を)(?:退職し|辞め)(?:ました|た)",
        "episodic",
        75,
        tense="past",
        ends="employer",
    ),
    _rule(
        r".{0,12}?(?P<value>[^、。は]{1,20}?)として(?:働いて|勤めて|勤務して|活動して)(?:い?ます|い?る)",
        "persona",
        75,
        "occupation",
    ),
    _rule(
        r"(?:職業は|仕事は)?(?P<value>[^、。は]{0,16}?(?:エンジニア|デザイナー|プログラマー?|看護師|医師|医者|教師|先生|弁護士|学生|大学院生|大学生|高校生|会社員|公務員|主婦|主夫|研究者|研究員|作家|編集者|記者|営業|マネージャー|店長|社長|フリーランス|料理人|シェフ|美容師|保育士|建築家|会計士|コンサルタント))(?:です|だ|をして(?:い?ます|い?る)|$)",
        "persona",
        70,
        "occupation",
    ),
    _rule(r".{0,6}?(?P<value>\d{1,3})歳(?:です|だ|になりました|になった|$)", "persona", 60, "age"),
    _rule(r"誕生日は(?P<value>[^、。]{2,20}?)(?:です|だ|$)", "persona", 70, "birthday"),
    _rule(_THING + r"を(?:飼って|育てて)(?:い?ます|い?る)", "persona", 65),
    _rule(
        r"(?:一番|最も)?"
        + _THING
        + r"(?:が|は)(?:とても|本当に|すごく|大の)?(?:大?好き|好物|お気に入り|好み)(?:です|だ|なんです|になりました|$)",
        "persona",
        65,
        TASTE,
    ),
    _rule(
        _THING
        + r"(?:が|は)(?:とても|本当に|あまり|すごく)?(?:大?嫌い|苦手|好きじゃ(?:ない|ありません)|好きでは(?:ない|ありません)|食べられ(?:ません|ない)|飲め(?:ません|ない)|だめ|ダメ|無理)(?:です|だ|なんです|$)?",
        "persona",
        70,
        TASTE,
    ),
    _rule(
        _THING + r"(?:を|は)(?:全く|一切|もう)?(?:食べ|飲み|吸い)(?:ません|ない|まない|わない)", "persona", 70, TASTE
    ),
    _rule(_THING + r"より(?:も)?.{1,20}?(?:が|の方が|のほうが)(?:好き|良い|いい)", "persona", 65),
    _rule(r"趣味は(?P<value>[^。]{1,30}?)(?:です|だ|$)", "persona", 60),
    _rule(
        r"(?:毎日|毎朝|毎晩|毎週|毎月|毎年|週に|週末は|普段は?|いつも|朝は).{2,60}(?:ます|る|い|です|す|く|む)$",
        "persona",
        60,
    ),
    _rule(_THING + r"を(?:勉強|学習|練習|習っ)(?:して)?(?:い?ます|て(?:い?ます|い?る)|い?る)", "persona", 60),
    _rule(_THING + r"を(?:使って|愛用して|使い)(?:い?ます|い?る|ます)", "persona", 60),
    _rule(
        r".{2,60}(?:予定です|予定だ|つもりです|つもりだ|計画です|予約しました|申し込みました|申し込んだ|することにしました)$",
        "episodic",
        70,
        tense="future",
    ),
    _rule(
        r".{2,60}(?:行きます|行く|受けます|始めます|引っ越します|出張します|結婚します|帰ります|会います|参加します)$",
        "episodic",
        70,
        tense="future",
        dated=True,
    ),
    _rule(
        r".{1,60}(?:に合格|を卒業|を購入|を取得|を完走|を始め|と結婚|が終わり|を終え|を買い|をやめ|に受かり|を達成|を出版|に昇進)(?:しました|した|ました|た)$",
        "episodic",
        70,
        tense="past",
    ),
    _rule(
        r".{2,60}(?:行きました|行った|食べました|見ました|会いました|参加しました|走りました)$",
        "episodic",
        65,
        tense="past",
        dated=True,
    ),
)
_DISLIKE = re.compile(
    r"嫌い|苦手|好きじゃ|好きでは|食べられ|飲め|食べ(?:ません|ない)|飲み(?:ません|ない)|まない|わない|吸い|だめ|ダメ|無理"
)
_KIN_CLAUSE = re.compile(
    rf"(?:{_I}の|うちの)?(?P<what>{_KIN})(?P<rest>(?:は|が|の(?:名前|誕生日)は)(?!言|思|聞).{{2,120}})"
)
_PET = re.compile(r"(?P<animal>犬|猫)(?:の名前)?は(?P<value>[^、。\s]{1,12}?)(?:です|だ|といいます|と言います|$)")
_TEAM = re.compile(
    r"(?:うち|私たち|我々|弊社|僕たち)(?:の(?P<what>チーム|会社|プロジェクト|部署|学校|研究室))?(?P<rest>(?:で)?は.{2,120})"
)
_CORRECTIONS = (
    re.compile(
        r"(?:さっき|先ほど|前に)?(?P<wrong>[^、。]{1,20}?)(?:と言いました|と言った|って言った)(?:けど|が)、?(?:実は|本当は|正しくは)?(?P<right>[^、。]{1,30}?)(?:です|でした|だった|$)"
    ),
    re.compile(
        r"(?P<wrong>[^、。]{1,20}?)(?:ではなく(?:て)?|じゃなく(?:て)?)、?(?P<right>[^、。]{1,30}?)(?:です|でした|$)"
    ),
)


def _read(sentence: Sentence) -> tuple[Finding, ...]:
    text = _tidy(sentence.text)
    for pattern in _CORRECTIONS:
        if (corrected := pattern.match(_without_leads(text))) is not None and not sentence.supposed:
            return (Correction(corrected["wrong"], corrected["right"]),)
    remembered = False
    if (first := _REMEMBER_FIRST.match(text)) is not None:
        text, remembered = text[first.end() :], True
    elif (last := _REMEMBER.match(text)) is not None:
        text, remembered = last["what"].rstrip("、, "), True
        if not text or _BACK.fullmatch(text):
            return (Emphasis(),)
    if (order := _order(text)) is not None:
        return order
    if sentence.supposed or _ONE_OFF.search(text):
        return ()
    readings = list(_facts(text))
    if remembered:
        readings = readings or [
            Reading(f"ユーザーは「{_of_the_user(text)}」ことを覚えておくよう求めている", "persona", 70)
        ]
        readings = [replace(reading, priority=max(reading.priority, 80)) for reading in readings]
    return tuple(readings)


def _join(first: str, second: str) -> str | None:
    return None


READER = Reader("ja", _read, _join)


def _tidy(text: str) -> str:
    tidy = " ".join(text.split())
    for _ in range(2):
        tidy = _TAIL.sub("", tidy)
    return tidy


def _without_leads(text: str) -> str:
    for _ in range(3):
        lead = _LEAD.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def _order(text: str) -> tuple[Reading, ...] | None:
    """Return the standing instruction of a sentence: () for one that is for once only, None when it is none."""
    bare = _without_leads(text)
    if (name := _CALL_ME.match(bare)) is not None:
        value = name["value"]
        return (
            Reading(
                f"ユーザーはAIに「{value}」と呼ぶよう求めている",
                "instruction",
                80,
                "form_of_address",
                plain_value(value),
            ),
        )
    if not _ASKED.search(text) or re.match(rf"{_I}(?:は|が)", bare):
        return None
    if _ONE_OFF.search(text):
        return ()
    if not _STANDING.search(text):
        return None
    applies_to: AppliesTo = "project" if _PROJECT.search(text) else "scene" if _CONVERSATION.search(text) else "always"
    priority = -1 if _ABSOLUTE.search(text) else 90 if re.search(r"必ず|常に|いつも|毎回|二度と", text) else 85
    language = re.search(r"(日本語|英語|中国語|韓国語)で(?:答|返|回答|書|話)", text)
    slot = "reply_language" if language else ""
    value = language[1] if language else ""
    told = _of_the_user(_without_leads(text))
    return (Reading(f"ユーザーはAIに「{told}」と求めている", "instruction", priority, slot, value, applies_to),)


def _facts(text: str) -> Iterator[Reading]:
    """Yield what a sentence states, and what each part of it states when the parts are joined with commas."""
    bare = _without_leads(text)
    subject = _SUBJECT.match(bare)
    if subject is not None and subject["name"]:
        yield Reading(f"ユーザーの名前は{subject['name']}", "persona", 85, "name", plain_value(subject["name"]))
    if _OTHER_TOPIC.match(bare):
        return
    if (team := _TEAM.match(bare)) is not None:
        yield Reading(f"ユーザーの{team['what'] or 'チーム'}{_of_the_user(team['rest'])}", "persona", 60)
        return
    if (kin := _KIN_CLAUSE.match(bare)) is not None:
        pet = _PET.search(bare)
        slot = {"犬": "dog_name", "猫": "cat_name"}[pet["animal"]] if pet else ""
        yield Reading(
            f"ユーザーの{kin['what'].removeprefix('うちの')}{_of_the_user(kin['rest'])}",
            "persona",
            65,
            slot,
            plain_value(pet["value"]) if pet else "",
        )
        return
    for part in re.split(r"(?<=で)、|(?<=て)、|(?<=し)、|、(?=趣味|誕生日|出身|職業|名前)", bare)[:8]:
        reading = _predicate(part)
        if reading is not None:
            yield reading


def _predicate(part: str) -> Reading | None:
    part = _without_leads(part.rstrip("、"))
    subject = _SUBJECT.match(part)
    mine = _MINE.match(part)
    rest = part[subject.end() :] if subject else part[mine.end() :] if mine else part
    for rule in _RULES:
        match = rule.pattern.match(rest)
        if match is None:
            continue
        value = next((group for name, group in match.groupdict().items() if name.startswith("value") and group), "")
        value = _VALUE_TAIL.sub("", re.sub(r"^(?:今は?|現在は?|最近は?)、?", "", value)).strip()
        if value and _DEICTIC.match(value):
            continue
        if rule.dated and not mentions_a_date(rest):
            continue
        slot, held = rule.slot, plain_value(value)
        if slot == TASTE:
            thing = (
                ""
                if len(held) > 10 or re.search(r"[、と]|や", held)
                else re.sub(r"を?(?:食べる|飲む|見る|聴く|読む)の$", "", held)
            )
            slot, held = taste_of(thing, liked=not _DISLIKE.search(rest))
        head = (
            "ユーザーの" if mine or re.match(r"(?:名前|誕生日|趣味|出身|職業|仕事|実家|地元)は", rest) else "ユーザーは"
        )
        return Reading(
            f"{head}{_of_the_user(rest)}",
            rule.type,
            rule.priority,
            slot,
            held if slot else "",
            tense=rule.tense,
            ends=rule.ends,
        )
    return None


def _of_the_user(text: str) -> str:
    return re.sub(_I + r"(?=[はがのもをに]|$)", "ユーザー", text)
