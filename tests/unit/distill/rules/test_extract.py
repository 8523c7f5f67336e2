"""What the rules read in one message: tables of sentences, and what a batch makes of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.distill.protocol import MessageBatch
from memstrata.distill.rules.extract import extract_by_rules, normal_form
from memstrata.distill.validate import valid_drafts
from memstrata.records import MemoryDraft, Message, Scope

BatchOf = Callable[..., MessageBatch]


def drafts_of(batch: MessageBatch) -> tuple[MemoryDraft, ...]:
    return extract_by_rules(batch, UTC).drafts


def contents(batch: MessageBatch) -> list[str]:
    return [draft.content for draft in drafts_of(batch)]


STATED = [
    # English
    ("My name is Maya", "The user's name is Maya", "persona", "name"),
    ("Hi, I'm Arun, a data scientist from Chennai.", "The user's name is Arun", "persona", "name"),
    ("I live in Berlin.", "The user lives in Berlin", "persona", "residence"),
    ("Actually, I live in Munich now", "The user lives in Munich now", "persona", "residence"),
    ("I no longer live in Berlin.", "The user no longer lives in Berlin", "persona", "residence"),
    ("I grew up in Cornwall.", "The user grew up in Cornwall", "persona", "hometown"),
    ("I work at Orion as a backend engineer", "The user works at Orion as a backend engineer", "persona", "employer"),
    ("I'm freelance now.", "The user is freelance now", "persona", "employer"),
    ("I work as a nurse", "The user works as a nurse", "persona", "occupation"),
    ("I'm a nurse at St Thomas' Hospital", "The user is a nurse at St Thomas' Hospital", "persona", "occupation"),
    ("I'm 34 years old", "The user is 34 years old", "persona", "age"),
    ("My birthday is on 12 May", "The user's birthday is on 12 May", "persona", "birthday"),
    ("I'm vegetarian", "The user is vegetarian", "persona", "diet"),
    ("I don't eat meat", "The user doesn't eat meat", "persona", "diet"),
    ("I have a peanut allergy.", "The user has a peanut allergy", "persona", ""),
    ("I love hiking", "The user loves hiking", "persona", "taste hiking"),
    ("I don't like cilantro", "The user doesn't like cilantro", "persona", "taste cilantro"),
    ("I can't stand loud music", "The user can't stand loud music", "persona", "taste loud music"),
    ("I've stopped drinking", None, "", ""),
    ("I prefer tea over coffee.", "The user prefers tea over coffee", "persona", ""),
    ("My favourite editor is Helix", "The user's favourite editor is Helix", "persona", "favourite editor"),
    ("My manager is Helena Bergström.", "The user's manager is Helena Bergström", "persona", "manager"),
    ("My daughter plays the cello.", "The user's daughter plays the cello", "persona", ""),
    ("I have a dog named Rex", "The user has a dog named Rex", "persona", "dog_name"),
    ("I usually wake up at 6.", "The user usually wakes up at 6", "persona", ""),
    ("The user (Maya) likes tea", "The user likes tea", "persona", "taste tea"),
    ("I passed the bar exam", "The user passed the bar exam", "episodic", ""),
    ("I bought a Fujifilm X-T5.", "The user bought a Fujifilm X-T5", "episodic", ""),
    ("I plan to run a marathon", "The user plans to run a marathon", "episodic", ""),
    ("I left Orion.", "The user left Orion", "episodic", ""),
    # Chinese
    ("我叫小林", "用户叫小林", "persona", "name"),
    ("我住在杭州市西湖区文三路", "用户住在杭州市西湖区文三路", "persona", "residence"),
    ("不对，我住在上海", "用户住在上海", "persona", "residence"),
    ("我搬到上海了", "用户搬到上海了", "persona", "residence"),
    ("我是四川人", "用户是四川人", "persona", "hometown"),
    ("我在腾讯上班", "用户在腾讯上班", "persona", "employer"),
    ("我现在在上海工作", "用户现在在上海工作", "persona", "work_city"),
    ("我是护士", "用户是护士", "persona", "occupation"),
    ("我28岁", "用户28岁", "persona", "age"),
    ("我的生日是1990年5月12日", "用户的生日是1990年5月12日", "persona", "birthday"),
    ("我吃素", "用户吃素", "persona", "diet"),
    ("我对花生过敏，吃了会起荨麻疹", "用户对花生过敏，吃了会起荨麻疹", "persona", ""),
    ("我喜欢喝乌龙茶", "用户喜欢喝乌龙茶", "persona", "taste 乌龙茶"),
    ("我不吃香菜", "用户不吃香菜", "persona", "taste 香菜"),
    ("我不再喜欢喝咖啡了", "用户不再喜欢喝咖啡了", "persona", "taste 咖啡"),
    ("我讨厌早起", "用户讨厌早起", "persona", "taste 早起"),
    ("我养了一条柯基犬，名字叫土豆", "用户养了一条柯基犬，名字叫土豆", "persona", "dog_name"),
    ("我妈妈住在武汉，患有高血压", "用户的妈妈住在武汉，患有高血压", "persona", ""),
    ("我每周三晚上七点打羽毛球", "用户每周三晚上七点打羽毛球", "persona", ""),
    ("我平时用 Neovim 写代码", "用户平时用 Neovim 写代码", "persona", ""),
    ("我完成了毕业论文", "用户完成了毕业论文", "episodic", ""),
    ("我计划2026年10月去京都旅行", "用户计划2026年10月去京都旅行", "episodic", ""),
    ("我从阿里离职了", "用户从阿里离职了", "episodic", ""),
    # Japanese
    ("はじめまして、田中と申します。", "ユーザーは田中と申します", "persona", "name"),
    ("東京都世田谷区に住んでいます。", "ユーザーは東京都世田谷区に住んでいます", "persona", "residence"),
    ("私はそばアレルギーがあります。", "ユーザーはそばアレルギーがあります", "persona", ""),
    ("看護師として働いています", "ユーザーは看護師として働いています", "persona", "occupation"),
    ("寿司が大好きです。", "ユーザーは寿司が大好きです", "persona", "taste 寿司"),
    ("コーヒーは飲みません。", "ユーザーはコーヒーは飲みません", "persona", "taste コーヒー"),
    ("犬の名前はポチです。", "ユーザーの犬の名前はポチです", "persona", "dog_name"),
    ("うちのチームは木曜日にマージを凍結します。", "ユーザーのチームは木曜日にマージを凍結します", "persona", ""),
    # in brief
    ("제 이름은 민수입니다.", "사용자의 이름은 민수이다", "persona", "name"),
    ("저는 땅콩 알레르기가 있어요.", "사용자는 땅콩 알레르기가 있다", "persona", ""),
    ("Я живу в Москве", "Пользователь живёт в Москве", "persona", "residence"),
    ("Я не люблю кофе.", "Пользователь не любит кофе", "persona", "taste кофе"),
    ("Vivo en Madrid.", "El usuario vive en Madrid", "persona", "residence"),
]


@pytest.mark.parametrize(("said", "content", "type_", "slot"), [row for row in STATED if row[1]])
def test_a_plain_statement_is_read(said: str, content: str, type_: str, slot: str, batch_of: BatchOf) -> None:
    draft = next((draft for draft in drafts_of(batch_of(said)) if draft.content == content), None)
    assert draft is not None, contents(batch_of(said))
    assert (draft.type, draft.slot) == (type_, slot)


@pytest.mark.parametrize(
    ("said", "stated"),
    [
        (
            "My name is Maya and I live in Berlin with a dog named Rex",
            [
                "The user's name is Maya",
                "The user lives in Berlin with a dog named Rex",
                "The user's dog is called Rex",
            ],
        ),
        ("用户（小林）喜欢喝乌龙茶，不吃香菜", ["用户叫小林", "用户喜欢喝乌龙茶", "用户不吃香菜"]),
        (
            "我叫小林，是产品经理，住在杭州，对花生过敏。",
            ["用户叫小林", "用户是产品经理", "用户住在杭州", "用户对花生过敏"],
        ),
        ("I'm vegetarian, allergic to peanuts.", ["The user is vegetarian", "The user is allergic to peanuts"]),
        (
            "I use Neovim for everything, so please never give me VS Code shortcuts :)",
            [
                "The user uses Neovim for everything",
                "The user asks the AI to never give the user VS Code shortcuts",
            ],
        ),
        (
            "私は東京に住んでいて、看護師として働いています。",
            ["ユーザーは東京に住んでいます", "ユーザーは看護師として働いています"],
        ),
        (
            "I work as a backend engineer. Mostly Python, some Go.",
            ["The user works as a backend engineer, mostly Python, some Go"],
        ),
    ],
)
def test_a_sentence_with_several_statements_gives_each(said: str, stated: list[str], batch_of: BatchOf) -> None:
    assert contents(batch_of(said)) == stated


@pytest.mark.parametrize(
    ("said", "content", "priority"),
    [
        ("Always include units in your answers.", "The user asks the AI to always include units in its answers", 90),
        ("Never use emojis.", "The user asks the AI to never use emojis", 90),
        ("From now on, answer in bullet points.", "The user asks the AI to answer in bullet points from now on", 85),
        ("Don't call me sir again.", "The user asks the AI not to call the user sir again", 80),
        ("Please stop apologising in every reply.", "The user asks the AI to stop apologising in every reply", 80),
        ("Whenever I ask for tea, list allergens.", "The user asks the AI to list allergens whenever the user asks for tea", 80),
        ("Remember to always use metric units.", "The user asks the AI to always use metric units", 90),
        ("Under no circumstances share my age.", "The user asks the AI to share the user's age under no circumstances", -1),
        ("I prefer concise answers.", "The user prefers concise answers", 75),
        ("Call me Lin.", "The user asks the AI to call the user Lin", 80),
        ("以后推荐菜谱都要注明过敏原", "用户要求AI以后推荐菜谱都要注明过敏原", 90),
        ("从现在起，每次回答先给结论", "用户要求AI从现在起，每次回答先给结论", 90),
        ("记住哦，以后别再给我推荐牛排啦。", "用户要求AI以后别再给用户推荐牛排", 90),
        ("你以后都用中文回答我", "用户要求AI以后都用中文回答用户", 85),
        ("会议纪要控制在五百字以内，以后都这样", "用户要求AI会议纪要控制在五百字以内，以后都这样", 85),
        ("以后叫我老王就行", "用户要求AI称呼用户为老王", 80),
        ("永远不要提交代码到main分支", "用户要求AI永远不要提交代码到main分支", -1),
        ("今後は敬語で答えてください。", "ユーザーはAIに「今後は敬語で答えてください」と求めている", 85),
        ("二度と絵文字を使わないでください。", "ユーザーはAIに「二度と絵文字を使わないでください」と求めている", 90),
        ("Всегда отвечай по-русски.", "Пользователь просит ИИ: Всегда отвечай по-русски", 85),
        ("A partir de ahora responde en español.", "El usuario pide a la IA: A partir de ahora responde en español", 85),
    ],
)  # fmt: skip
def test_a_standing_order_is_an_instruction(said: str, content: str, priority: int, batch_of: BatchOf) -> None:
    (draft,) = drafts_of(batch_of(said))
    assert (draft.content, draft.type) == (content, "instruction")
    assert draft.priority == priority


@pytest.mark.parametrize(
    ("said", "reach"),
    [
        ("In this project, always use tabs.", "project"),
        ("In this conversation, always answer in French.", "scene"),
        ("在这个项目里，始终用四个空格缩进", "project"),
        ("Always use tabs.", "always"),
    ],
)
def test_an_order_reaches_as_far_as_it_says(said: str, reach: str, batch_of: BatchOf) -> None:
    assert [draft.applies_to for draft in drafts_of(batch_of(said))] == [reach]


@pytest.mark.parametrize(
    "said",
    [
        # for once only
        "For this check answer with a single dot.", "Just this once, reply in French.",
        "One check: for this test, answer with a dot.",
        "这次回答简短一点", "今天先用英文回答", "今回だけ短く答えてください。",
        # questions
        "Do I live in Berlin?", "Can you remember that I like tea?", "我住在哪里", "我叫什么名字？", "我对海鲜过敏吗",
        "你还记得我叫什么吗",
        "東京に住んでいますか？", "저는 어디에 살고 있나요?", "Где я живу?",
        # suppositions
        "If I lived in Rome I would eat pasta every day.", "Imagine I live in Rome.", "如果我住在北京就好了",
        "もし東京に住んでいたら、毎日寿司を食べます。",
        # others and their words
        'He said "I live in Rome".', '"I love Rome," said Anna.', "My sister said I am a nurse.", "他说“我喜欢咖啡”",
        "他说我喜欢咖啡", "我朋友说我是护士",
        "彼は東京に住んでいます。", "田中さんは犬が好きです。", "She lives in Rome.",
        # text to work on
        "Translate this: I live in Paris.", "翻译：我住在巴黎", "帮我把下面这段话翻译成英文：\n我住在巴黎",
        "Write an email: I am a nurse.",
        "Can you translate the sentence below into French?\nI live in Paris.",
        # code, logs, quotes
        "```\n# I live in Rome\n```", "> I live in Rome", "2026-01-06 00:00:03 INFO my name is Bob",
        # small talk and what points at nothing
        "I like it.", "I like that.", "Never mind.", "I always get this error.", "I'm going to bed now.",
        "I'm a bit tired.", "I'd like a summary.",
        "I have a question.", "I need help with my code.", "I think you are wrong.", "我喜欢这个", "我不吃了",
        "我吃饭去了", "我要睡觉了", "我有个问题",
        "我觉得你说得对", "以后我想去日本", "做好了，好喝！", "手伝ってください", "哈哈", "ok that was it.",
    ],
)  # fmt: skip
def test_nothing_is_read_where_nothing_is_stated(said: str, batch_of: BatchOf) -> None:
    assert contents(batch_of(said)) == []


def test_the_assistant_states_nothing_about_the_user(batch_of: BatchOf) -> None:
    assert drafts_of(batch_of("My name is Maya", "You live in Rome", role="assistant")) == ()


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("our team freezes merges on Mondays; Lina tests", "The user's team freezes merges on Mondays; Lina tests"),
        ("我们团队每周四冻结合并，Lina负责发布", "用户的团队每周四冻结合并，Lina负责发布"),
        ("我们项目用PostgreSQL", "用户的项目用PostgreSQL"),
    ],
)  # fmt: skip
def test_a_rule_of_the_team_is_the_teams(said: str, content: str, batch_of: BatchOf) -> None:
    assert contents(batch_of(said)) == [content]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("Remember that the garage code is 4417", "The user asked to remember: the garage code is 4417"),
        ("请记住：车库密码是4417", "用户要求记住：车库密码是4417"),
        ("Запомни, что у меня встреча по средам.", "Пользователь попросил запомнить: у меня встреча по средам"),
    ],
)
def test_what_is_to_be_remembered_is_kept_even_if_no_pattern_knows_it(
    said: str, content: str, batch_of: BatchOf
) -> None:
    assert contents(batch_of(said)) == [content]


def test_remember_raises_what_a_pattern_knows(batch_of: BatchOf) -> None:
    assert [draft.priority for draft in drafts_of(batch_of("记住我不喝酒"))] == [80]
    assert [draft.priority for draft in drafts_of(batch_of("我不喝酒"))] == [70]


def test_remember_that_points_back_at_what_was_said_before(batch_of: BatchOf) -> None:
    plain = drafts_of(batch_of("My manager is Mara."))[0].priority
    stressed = drafts_of(batch_of("My manager is Mara. Remember that, please, I want to come prepared."))
    assert [draft.priority for draft in stressed] == [plain + 10]


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("I live in Berlin. I said Berlin, but it's Munich.", "The user lives in Munich"),
        ("I said I live in Berlin, but it is Munich.", "The user lives in Munich"),
        ("Our database is Postgres 14... no wait, I said 14, actually it's 16.", "The user's team's database is Postgres 16"),
        ("我住在北京。不对，不是北京，是上海", "用户住在上海"),
        ("東京に住んでいます。東京ではなく、大阪です。", "ユーザーは大阪に住んでいます"),
    ],
)  # fmt: skip
def test_a_correction_gives_the_new_value(said: str, content: str, batch_of: BatchOf) -> None:
    assert contents(batch_of(said)) == [content]


def test_a_correction_finds_what_it_corrects_in_the_background(batch_of: BatchOf) -> None:
    said = "I have an interview with Halcyon on Thursday, March 12."
    (draft,) = drafts_of(batch_of("Sorry, I said Thursday, actually it's Friday, March 13.", background=(said,)))
    assert draft.content == "The user has an interview with Halcyon on Friday, March 13 (2026-03-13)"
    assert draft.metadata["replaced"] == "The user has an interview with Halcyon on Thursday, March 12 (2026-03-12)"
    assert draft.source_seqs == (2,)


def test_a_correction_of_nothing_known_is_nothing(batch_of: BatchOf) -> None:
    assert contents(batch_of("Actually it's Munich, not Berlin.")) == []


def test_background_is_not_distilled_again(batch_of: BatchOf) -> None:
    assert contents(batch_of("ok then", background=("I live in Berlin",))) == []


def test_a_value_that_changes_within_a_batch_is_stored_in_its_last_form(batch_of: BatchOf) -> None:
    (draft,) = drafts_of(batch_of("I live in Berlin", "I moved to Lisbon"))
    assert draft.content == "The user moved to Lisbon"
    assert draft.metadata["replaced"] == "The user lives in Berlin"


def test_the_same_words_twice_are_one_draft_with_both_sources(batch_of: BatchOf) -> None:
    (draft,) = drafts_of(batch_of("I love hiking.", "i love hiking!"))
    assert draft.source_seqs == (1, 2)


def test_two_liked_dishes_do_not_contradict(batch_of: BatchOf) -> None:
    assert contents(batch_of("我喜欢吃牛排", "我喜欢吃红烧肉")) == ["用户喜欢吃牛排", "用户喜欢吃红烧肉"]


@pytest.mark.parametrize(
    ("said", "content", "day"),
    [
        ("I passed the bar exam yesterday.", "The user passed the bar exam yesterday (2026-02-10)", "2026-02-10"),
        ("我昨天买了一台相机", "用户昨天（2026-02-10）买了一台相机", "2026-02-10"),
        ("昨日試験に合格しました。", "ユーザーは昨日（2026-02-10）試験に合格しました", "2026-02-10"),
        ("下个月我要去东京出差", "用户下个月（2026-03）要去东京出差", "2026-03-01"),
    ],
)
def test_an_episode_carries_the_day_it_tells_of(said: str, content: str, day: str, batch_of: BatchOf) -> None:
    (draft,) = drafts_of(batch_of(said))
    assert draft.content == content
    assert draft.happened_from is not None
    assert datetime.fromtimestamp(draft.happened_from / 1000, UTC).date().isoformat() == day


def test_which_day_yesterday_was_depends_on_the_zone() -> None:
    said_at = int(datetime(2026, 2, 10, 20, 0, tzinfo=UTC).timestamp() * 1000)
    message = Message(1, "m", "s", "", "user", "我昨天买了一台相机", said_at, said_at)
    batch = MessageBatch(Scope("i", "t", "a", "u"), "s", "", (), (message,))
    assert "2026-02-10" in extract_by_rules(batch, timezone(timedelta(hours=8))).drafts[0].content
    assert "2026-02-09" in extract_by_rules(batch, UTC).drafts[0].content


def test_an_episode_without_a_derivable_day_has_none(batch_of: BatchOf) -> None:
    (draft,) = drafts_of(batch_of("I bought a Fujifilm X-T5."))
    assert (draft.happened_from, draft.happened_to) == (None, None)


def test_the_scene_is_named_in_the_speakers_language_and_carried_over(batch_of: BatchOf) -> None:
    assert extract_by_rules(batch_of("我对花生过敏"), UTC).scene_name == "饮食与健康"
    assert (
        extract_by_rules(batch_of("I'm allergic to nuts", previous_scene="饮食与健康"), UTC).scene_name == "饮食与健康"
    )
    assert extract_by_rules(batch_of("ok", previous_scene="Work"), UTC).scene_name == "Work"
    assert extract_by_rules(batch_of("I live in Berlin", previous_scene="Work"), UTC).scene_name == "Home and Place"


def test_equal_statements_have_one_normal_form() -> None:
    assert normal_form("The user likes TEA!") == normal_form("the user likes  tea")
    assert normal_form("用户喜欢ＡＢ茶。") == normal_form("用户喜欢AB茶")
    assert normal_form("用户喜欢茶") != normal_form("用户不喜欢茶")


FRAGMENTS = st.sampled_from(
    [
        "我", "我的", "用户", "喜欢", "住在", "叫", "了", "吃", "不", "，", "。", "；", "？", "：", "以后", "记住",
        "从", "对", "过敏", "小林", "昨天", "1月2日", "I", "I'm", "my", "name", "is", "live", "in", "Berlin", "work",
        "at", "never", "always", "remember", "that", ".", ",", ";", "?", "!", "(", ")", '"', "“", "”", "\n", "```",
        ">", "-", "it's", "not", "said", "actually", "if", "私は", "です", "저는", "я", "yo", "😀", "http://x.y",
        "2026-02-30", "next", "Friday", "in", "3", "days",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(FRAGMENTS | st.text(max_size=8), max_size=30), min_size=1, max_size=4),
    st.integers(-(10**14), 10**15),
)
def test_whatever_is_said_drafts_cite_the_batch_and_pass_the_validators(said: list[list[str]], when: int) -> None:
    messages = tuple(
        Message(seq, str(seq), "s", "", "user", glue.join(words), when, when)
        for seq, (words, glue) in enumerate(zip(said, (" ", "", " ", ""), strict=False), 1)
    )
    batch = MessageBatch(Scope("i", "t", "a", "u"), "s", "", (), messages)
    drafts = extract_by_rules(batch, UTC).drafts
    assert all(
        draft.source_seqs and set(draft.source_seqs) <= {message.seq for message in messages} for draft in drafts
    )
    assert [rejected for rejected in valid_drafts(drafts, batch).rejected if "more than" not in rejected.reason] == []
    assert extract_by_rules(batch, UTC).drafts == drafts


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=2000))
def test_any_text_is_read_without_error(text: str) -> None:
    batch = MessageBatch(Scope("i", "t", "a", "u"), "s", "", (), (Message(1, "m", "s", "", "user", text, 0, 0),))
    assert valid_drafts(extract_by_rules(batch, UTC).drafts, batch).rejected == ()
