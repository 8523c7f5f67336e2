"""Japanese: what a user states about himself, plans, did, and asks for.

The predicate comes last and the subject is mostly left out, so a sentence is taken as the user's unless a topic names
somebody else. Content keeps the user's words with 私 as ユーザー. Lengths in patterns are bounded, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memstrata.distill.rules.dates import mentions_a_date
from memstrata.distill.rules.reading import Correction, Emphasis, Finding, Reader, Reading, Sentence, plain_value
from memstrata.distill.rules.rule import Rule, episode, fact, value_of
from memstrata.distill.rules.slots import DIET, TASTE, taste_of
from memstrata.records import AppliesTo

__all__ = ["READER"]

_REMEMBERED = 80
_I = r"(?:私|わたし|あたし|僕|ぼく|俺|おれ|自分|わたくし)"
_LEAD = re.compile(
    r"(?:あの|えっと|えーと|はい|いいえ|うん|ちなみに|実は|じつは|それと|あと|それから|そして|でも|だから|なので|ところで"
    r"|さて|まず|いや|違います|訂正します?|はじめまして|初めまして|こんにちは|こんばんは|おはよう(?:ございます)?"
    r"|よろしく(?:お願いします)?|今は|現在は?|最近は?|普段は?)[、。,\s!！]{0,4}"
)
_SUBJECT = re.compile(rf"(?:{_I}|ユーザー(?:[（(](?P<name>[^）)\s]{{1,20}})[）)])?)(?:は|が|も|って)、?")
_MINE = re.compile(rf"(?:{_I}|ユーザー)の")
_ABOUT_ITSELF = re.compile(r"(?:名前|氏名|誕生日|趣味|出身|職業|仕事|実家|地元)は")
_RELATIVE = re.compile(
    rf"(?:{_I}の|うちの)?(?P<what>お?母(?:さん)?|お?父(?:さん)?|両親|妻|夫|旦那|嫁|息子|娘|子供|子ども|お?兄(?:さん)?"
    r"|お?姉(?:さん)?|弟|妹|祖父|祖母|彼氏|恋人|友達|友人|同僚|上司|部長|先生|猫|犬|ペット)"
    r"(?P<rest>(?:は|が|の(?:名前|誕生日)は)(?!言|思|聞).{2,120})"
)
_SOMEBODY_ELSE = re.compile(
    r"(?:彼ら?|彼女|あの人|この人|その人|みんな|誰か|[\u4e00-\u9fffァ-ヶー]{1,8}(?:さん|くん|君|ちゃん|様|氏))(?:は|が|も)"
)
_TEAM = re.compile(
    r"(?:うち|私たち|我々|弊社|僕たち)(?:の(?P<what>チーム|会社|プロジェクト|部署|学校|研究室))?(?P<rest>で?は.{2,120})"
)
_PET = re.compile(r"(?P<animal>[犬猫])(?:の名前)?は(?P<value>[^、。\s]{1,12}?)(?:です|だ|といいます|と言います|$)")
_ANIMALS = {"犬": "dog_name", "猫": "cat_name"}
_PART_END = re.compile(r"(?<=[でてし])、|、(?=趣味|誕生日|出身|職業|名前)")
_MOST_PARTS = 8
_PAUSED_VERB = re.compile(r"いて$")
_PAUSED_STATE = re.compile(r"(?<!ん)で$")

_END_MARKS = " 。．.!！…~～♪😀😊🙂👍🙏✨"
_PARTICLE = re.compile(r"(?:よね|のよ|んだ|けど|よ|ね|なあ?|わ)$")
_REMEMBER_FIRST = re.compile(
    r"(?:覚えて(?:おいて)?(?:ください|下さい|ね)?|メモして(?:ください)?|忘れないで(?:ください)?)[：:、。,\s]{1,3}"
)
_REMEMBER_LAST = re.compile(
    r"(?:を|と|って|ことを?)?[、,]?\s?(?:覚えて(?:おいて|いて)?|記憶して(?:おいて)?|忘れないで)"
    r"(?:ください|下さい|くれ|ほしい)?$"
)
_WHAT_WAS_SAID = re.compile(r"(?:これ|それ|このこと|そのこと)[をはも]?")

_ASKED = re.compile(
    r"(?:[てで](?:ください|下さい|ほしい(?:です)?|欲しい(?:です)?|くれ|もらえますか)?|ないで|こと|お願いします|ましょう)$"
)
_STANDING = re.compile(
    r"今後|これから(?:は|も|ずっと)|以後|以降|常に|いつも|必ず|絶対に?|決して|二度と|毎回|ずっと"
    r"|(?:回答|返信|返事|答え|説明|コード|要約|出力)(?:は|を|の(?:際|とき|時)(?:は|に)?|では|には)"
)
_ONE_OFF = re.compile(
    r"今回(?:だけ|は|のみ)|今だけ|この(?:質問|返信|回答|テスト|確認|場合)(?:だけ|は|には|では)|とりあえず|一時的に"
    r"|今日だけ|一度だけ"
)
_PROJECT = re.compile(r"この(?:プロジェクト|リポジトリ|コードベース)")
_CONVERSATION = re.compile(r"この(?:会話|チャット|スレッド)")
_CALL_ME = re.compile(
    rf"(?:{_I}(?:の)?(?:こと)?[はを])?(?P<value>[^、。\s]{{1,16}}?)(?:って|と)呼んで(?:ください|下さい|くれ|ほしい)?$"
)
_ABSOLUTE = re.compile(r"絶対に?|決して|何があっても|例外なく")
_STRONG = re.compile(r"必ず|常に|いつも|毎回|二度と")
_LANGUAGE = re.compile(r"(?P<value>日本語|英語|中国語|韓国語)で[答返回書話]")

_DEICTIC = re.compile(r"これ|それ|あれ|この|その|あの|ここ|そこ|こう|そう|あなた|君")
_VALUE_HEAD = re.compile(r"^(?:今は?|現在は?|最近は?)、?")
_VALUE_TAIL = re.compile(r"(?:が|は|を|も|の|とか|など|だけ|ほど)$")
_ACT_OF_TASTING = re.compile(r"を?(?:食べる|飲む|見る|聴く|読む)の$")
_DISLIKE = re.compile(
    r"嫌い|苦手|好きじゃ|好きでは|食べられ|飲め|食べ(?:ません|ない)|飲み(?:ません|ない)|まない|わない|吸い|だめ|ダメ|無理"
)
_SEVERAL = re.compile(r"[、とや]")
_LONGEST_THING = 10

_NOW = r"(?:い?ます|い?る)"
_IS = r"(?:です|だ|$)"
_NAME = r"(?P<value>[^、。\s]{1,16}?)"
_THING = r"(?P<value>[^。]{1,40}?)"
_ILLNESS = r"(?:糖尿病|高血圧|喘息|うつ病|偏頭痛|乳糖不耐症|腰痛|不眠症|花粉症|痛風)"
_JOB = (
    r"(?:エンジニア|デザイナー|プログラマー?|看護師|医師|医者|教師|先生|弁護士|学生|大学院生|大学生|高校生|会社員|公務員|主婦"
    r"|主夫|研究者|研究員|作家|編集者|記者|営業|マネージャー|店長|社長|フリーランス|料理人|シェフ|美容師|保育士|建築家|会計士"
    r"|コンサルタント)"
)
_RULES = (
    fact(85, rf"(?:名前|氏名)は{_NAME}(?:です|だ|といいます|と言います|と申します|$)", "name"),
    fact(85, rf"{_NAME}(?:と申します|といいます|と言います)$", "name"),
    fact(90, rf"{_THING}[のに]?アレルギー(?:です|だ|である|があ(?:る|ります)|持ち(?:です)?|なんです|が出ます|$)"),
    fact(85, rf".{{0,20}}?{_ILLNESS}.{{0,12}}(?:です|だ|があります|がある|を患って|持ち|になり|$)"),
    fact(80, r".{0,8}?(?P<value>ベジタリアン|ヴィーガン|菜食主義者?|肉[をは]食べ(?:ません|ない))", DIET),
    fact(
        75,
        r"(?:今は|現在は?|今|もう)?、?(?P<value>[^、。]{1,24}?)に(?:住んで|暮らして|引っ越し|移住し|移り住)"
        r"(?:い?ます|い?る|ました|た|みました)?",
        "residence",
    ),
    fact(65, r"(?:出身|実家|地元)は(?P<value>[^、。]{1,20}?)(?:です|だ|に(?:あります|ある)|$)", "hometown"),
    fact(65, rf"(?P<value>[^、。は]{{1,16}}?)の?出身{_IS}", "hometown"),
    fact(
        75,
        r".{0,12}?(?P<value>[^、。はに]{1,20}?)[でに](?:働いて|勤めて|勤務して|就職し|転職し|入社し)(?:い?ます|い?る|ました|た)",
        "employer",
    ),
    episode(75, r"(?:(?P<value>[^、。はを]{1,20}?)|会社|仕事)を(?:退職し|辞め)(?:ました|た)", "past", ends="employer"),
    fact(
        75,
        rf"(?:[^、。は]{{1,16}}?で)?(?P<value>[^、。は]{{1,20}}?)として(?:働いて|勤めて|勤務して|活動して){_NOW}",
        "occupation",
    ),
    fact(70, rf"(?:職業は|仕事は)?(?P<value>[^、。は]{{0,16}}?{_JOB})(?:です|だ|をして{_NOW}|$)", "occupation"),
    fact(60, r".{0,6}?(?P<value>\d{1,3})歳(?:です|だ|になりました|になった|$)", "age"),
    fact(70, rf"誕生日は(?P<value>[^、。]{{2,20}}?){_IS}", "birthday"),
    fact(65, rf"{_THING}を(?:飼って|育てて){_NOW}"),
    fact(65, rf"{_THING}より(?:も)?.{{1,20}}?(?:が|の方が|のほうが)(?:好き|良い|いい)"),
    fact(
        65,
        rf"(?:一番|最も)?{_THING}[がは](?:とても|本当に|すごく)?(?:大?好き|好物|お気に入り|好み)(?:です|だ|なんです|になりました|$)",
        TASTE,
    ),
    fact(
        70,
        rf"{_THING}[がは](?:とても|本当に|あまり|すごく)?(?:大?嫌い|苦手|好きじゃ(?:ない|ありません)"
        r"|好きでは(?:ない|ありません)|食べられ(?:ません|ない)|飲め(?:ません|ない)|だめ|ダメ|無理)",
        TASTE,
    ),
    fact(70, rf"{_THING}[をは](?:全く|一切|もう)?(?:食べ|飲み|吸い)(?:ません|ない)", TASTE),
    fact(60, rf"趣味は(?P<value>[^。]{{1,30}}?){_IS}"),
    fact(60, r"(?:毎日|毎朝|毎晩|毎週|毎月|毎年|週に|週末は|いつも|朝は).{2,60}(?:ます|る|い|です|す|く|む)$"),
    fact(60, rf"{_THING}を(?:勉強|学習|練習|習っ)(?:して)?(?:い?ます|て{_NOW}|い?る)"),
    fact(60, rf"{_THING}を(?:使って|愛用して|使い)(?:い?ます|い?る|ます)"),
    episode(
        70,
        r".{2,60}(?:予定です|予定だ|つもりです|つもりだ|計画です|予約しました|申し込みました|申し込んだ|することにしました)$",
        "future",
    ),
    episode(
        70,
        r".{2,60}(?:行きます|行く|受けます|始めます|引っ越します|出張します|結婚します|帰ります|会います|参加します)$",
        "future",
        dated=True,
    ),
    episode(
        70,
        r".{1,60}(?:に合格|を卒業|を購入|を取得|を完走|を始め|と結婚|が終わり|を終え|を買い|をやめ|に受かり|を達成|を出版|に昇進)"
        r"(?:しました|した|ました|た)$",
        "past",
    ),
    episode(
        65, r".{2,60}(?:行きました|行った|食べました|見ました|会いました|参加しました|走りました)$", "past", dated=True
    ),
)
_CORRECTIONS = (
    re.compile(
        r"(?:さっき|先ほど|前に)?(?P<wrong>[^、。]{1,20}?)(?:と言いました|と言った|って言った)(?:けど|が)、?"
        r"(?:実は|本当は|正しくは)?(?P<right>[^、。]{1,30}?)(?:です|でした|だった|$)"
    ),
    re.compile(r"(?P<wrong>[^、。]{1,20}?)(?:では|じゃ)なく(?:て)?、?(?P<right>[^、。]{1,30}?)(?:です|でした|$)"),
)


def _read(sentence: Sentence) -> tuple[Finding, ...]:
    text = _without_leads(_tidied(sentence.text))
    if not sentence.supposed:
        for form in _CORRECTIONS:
            if (exchanged := form.match(text)) is not None:
                return (Correction(exchanged["wrong"], exchanged["right"]),)
    remembered = False
    if (first := _REMEMBER_FIRST.match(text)) is not None:
        text, remembered = text[first.end() :], True
    elif (last := _REMEMBER_LAST.search(text, max(0, len(text) - 30))) is not None:
        text, remembered = text[: last.start()].rstrip("、, "), True
        if not text or _WHAT_WAS_SAID.fullmatch(text):
            return (Emphasis(),)
    if (order := _order(text)) is not None:
        return order
    if sentence.supposed or _ONE_OFF.search(text):
        return ()
    readings = list(_facts(text))
    if not remembered:
        return tuple(readings)
    if not readings:
        readings = [Reading(f"ユーザーは「{_of_the_user(text)}」ことを覚えておくよう求めている", "persona", 70)]
    return tuple(replace(reading, priority=max(reading.priority, _REMEMBERED)) for reading in readings)


def _join(first: str, second: str) -> str | None:
    return None


READER = Reader("ja", _read, _join)


def _tidied(text: str) -> str:
    tidy = " ".join(text.split()).rstrip(_END_MARKS)
    return _PARTICLE.sub("", tidy).rstrip(_END_MARKS)


def _without_leads(text: str) -> str:
    for _ in range(3):
        lead = _LEAD.match(text)
        if lead is None or lead.end() == len(text):
            break
        text = text[lead.end() :]
    return text


def _order(text: str) -> tuple[Reading, ...] | None:
    """Return the standing order of a sentence: () for one that is for once only, None when it is none."""
    if (name := _CALL_ME.match(text)) is not None:
        told = f"ユーザーはAIに「{name['value']}」と呼ぶよう求めている"
        return (Reading(told, "instruction", 80, "form_of_address", plain_value(name["value"])),)
    if not _ASKED.search(text) or _SUBJECT.match(text):
        return None
    if _ONE_OFF.search(text):
        return ()
    if not _STANDING.search(text):
        return None
    applies_to: AppliesTo = "project" if _PROJECT.search(text) else "scene" if _CONVERSATION.search(text) else "always"
    priority = -1 if _ABSOLUTE.search(text) else 90 if _STRONG.search(text) else 85
    language = _LANGUAGE.search(text)
    slot, value = ("reply_language", language["value"]) if language else ("", "")
    told = f"ユーザーはAIに「{_of_the_user(text)}」と求めている"
    return (Reading(told, "instruction", priority, slot, value, applies_to),)


def _facts(text: str) -> Iterator[Reading]:
    """Yield what a sentence states, part by part where its parts are joined with commas."""
    subject = _SUBJECT.match(text)
    if subject is not None and subject["name"]:
        yield Reading(f"ユーザーの名前は{subject['name']}", "persona", 85, "name", plain_value(subject["name"]))
    if _SOMEBODY_ELSE.match(text):
        return
    if (team := _TEAM.match(text)) is not None:
        yield Reading(f"ユーザーの{team['what'] or 'チーム'}{_of_the_user(team['rest'])}", "persona", 60)
        return
    if (relative := _RELATIVE.match(text)) is not None:
        pet = _PET.search(text)
        slot, value = (_ANIMALS[pet["animal"]], plain_value(pet["value"])) if pet else ("", "")
        content = f"ユーザーの{relative['what']}{_of_the_user(relative['rest'])}"
        yield Reading(content, "persona", 65, slot, value)
        return
    for part in _PART_END.split(text)[:_MOST_PARTS]:
        reading = _predicate(_closed(_without_leads(part.rstrip("、"))))
        if reading is not None:
            yield reading


def _closed(part: str) -> str:
    """End a part that only paused: "東京に住んでいて" → "東京に住んでいます", "看護師で" → "看護師です"."""
    return _PAUSED_STATE.sub("です", _PAUSED_VERB.sub("います", part))


def _predicate(part: str) -> Reading | None:
    subject, mine = _SUBJECT.match(part), _MINE.match(part)
    rest = part[subject.end() if subject else mine.end() if mine else 0 :]
    for rule in _RULES:
        match = rule.pattern.match(rest)
        if match is None:
            continue
        value = _VALUE_TAIL.sub("", _VALUE_HEAD.sub("", value_of(match))).strip()
        if _DEICTIC.match(value) or (rule.dated and not mentions_a_date(rest)):
            continue
        return _reading(rule, rest, value, is_owned=bool(mine or _ABOUT_ITSELF.match(rest)))
    return None


def _reading(rule: Rule, rest: str, value: str, *, is_owned: bool) -> Reading:
    slot, held = rule.slot, plain_value(value)
    if slot == TASTE:
        is_phrase = len(held) > _LONGEST_THING or _SEVERAL.search(held)
        slot, held = taste_of("" if is_phrase else _ACT_OF_TASTING.sub("", held), liked=not _DISLIKE.search(rest))
    content = f"ユーザー{'の' if is_owned else 'は'}{_of_the_user(rest)}"
    return Reading(content, rule.type, rule.priority, slot, held if slot else "", tense=rule.tense, ends=rule.ends)


_ME = re.compile(_I + r"(?=[はがのもをに]|$)")


def _of_the_user(text: str) -> str:
    return _ME.sub("ユーザー", text)
