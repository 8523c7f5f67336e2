"""Terms: what must find what, in every script, and what no input may do to the index."""

from __future__ import annotations

import re
import threading

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstrata.text import MAX_CHARACTERS, MAX_QUERY_TERMS, MAX_TERM_LENGTH, index_terms, query_terms
from memstrata.text.folding import fold

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)  # lone surrogates included
# Fragments that a random character stream would hardly put side by side.
FRAGMENTS = ["PMP", "考试", "ねこ", "ﾘﾝｺﾞ", "고양이", "น้ำ", "กา", "ខ្មែរ", "الـ", "קטן", "v2.4-rc1", "C:\\tmp", "50,000"]
FRAGMENTS += [
    "_",
    "__",
    "'s",
    "n't",
    "'",
    '"',
    "-",
    "*",
    ":",
    "//",
    " ",
    "\x00",
    "\ud800",
    "\u0301",
    "\u200d",
    "👩",
    "🇫",
]
FRAGMENTS += ["ß", "İ", "ﷺ", "½"]
TANGLED_TEXT = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)


def shared(statement: str, question: str) -> set[str]:
    """Return the terms by which `question` finds `statement`."""
    return set(index_terms(statement)) & set(query_terms(question))


@given(ANY_TEXT | TANGLED_TEXT)
@example("ㅤ\u3164\xa0\u3000\u2028x")
def test_a_term_never_holds_spaces_quotes_or_ascii_signs(text: str) -> None:
    for term in index_terms(text):
        assert re.fullmatch(r"[a-z0-9_\u0080-\U0010ffff]+", term)
        assert not re.search(r"[\s\ud800-\udfff]", term)
        assert len(term) <= MAX_TERM_LENGTH


@given(ANY_TEXT | TANGLED_TEXT)
def test_a_text_has_at_most_two_terms_per_folded_character(text: str) -> None:
    assert len(index_terms(text)) <= 2 * len(fold(text))


@given(ANY_TEXT | TANGLED_TEXT)
def test_query_terms_are_different_and_all_of_them_are_index_terms(text: str) -> None:
    terms = query_terms(text)
    assert len(terms) == len(set(terms)) <= MAX_QUERY_TERMS
    assert set(terms) <= set(index_terms(text))
    assert bool(terms) == bool(index_terms(text))


@given(TANGLED_TEXT)
def test_the_full_text_index_keeps_every_term_whole(text: str) -> None:
    terms = index_terms(text)
    database = apsw.Connection(":memory:")
    database.execute("create virtual table t using fts5(x, tokenize=\"ascii tokenchars '_'\")").fetchall()
    database.execute("create virtual table v using fts5vocab(t, row)").fetchall()
    database.execute("insert into t values (?)", (" ".join(f"s1_{term}" for term in terms),)).fetchall()
    stored = {row[0] for row in database.execute("select term from v").fetchall()}
    database.close()
    assert stored == {f"s1_{term}" for term in terms}


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("我的储物柜暗号是青石", "暗号"),
        ("我的储物柜暗号是青石", "青"),
        ("用户的PMP考试在六月", "PMP考试是什么时候"),
        ("用户的PMP考试在六月", "pmp"),
        ("ユーザーは東京都世田谷区に住んでいる", "世田谷区"),
        ("りんごが好き", "リンゴ"),
        ("ﾘﾝｺﾞが好き", "リンゴ"),
        ("고양이를 좋아해요", "고양이"),
        ("ฉันเลี้ยงแมวสองตัว", "แมว"),
        ("ดื่มน้ำทุกวัน", "น้ำ"),
        ("ខ្ញុំចូលចិត្តឆ្មា", "ឆ្មា"),
        ("القطة تنام على السرير", "قطة"),
        ("وصل المعلمون", "معلم"),
        ("محمّد يسكن في القاهرة", "محمد القاهره"),
        ("הכלב ישן בבית", "כלב"),
        ("גרסה v2.4-rc1 מוכנה 🎉", "v2.4-rc1"),
        ("גרסה v2.4-rc1 מוכנה 🎉", "🎉"),
        ("אני משתמש בGitHub", "github"),
        ("Я люблю свою кошку", "кошка"),
        ("Он купил чёрный чай", "черного чая"),
        ("η γάτα κοιμάται", "ΓΑΤΕΣ"),
        ("मुझे बिल्लियाँ पसंद हैं", "बिल्ली"),
        ("Ռուբենը ապրում է Երևանում", "Երևան"),
    ],
)
def test_a_word_finds_its_statement_in_every_script(statement: str, question: str) -> None:
    assert shared(statement, question)


def test_more_matching_terms_count_more() -> None:
    statement = "我的储物柜暗号是青石"
    assert (
        len(shared(statement, "储物柜 青石 书单"))
        > len(shared(statement, "青石 书单"))
        > len(shared(statement, "书单"))
    )


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("ordered a Café latte", "cafe"),
        ("ordered a cafe\u0301 latte", "CAFÉ"),
        ("ＡＢＣ１２３", "abc123"),
        ("Die Straße ist lang", "STRASSE"),
        ("Lives in Łódź", "lodz"),
        ("Tên tôi là Đặng", "dang"),
        ("year ٢٠٢٤", "2024"),
        ("soft\u00adware", "software"),
        ("the user's allergies", "allergy of the user"),
        ("the user’s running shoes", "user runs"),
        ("a salary of 50,000 euros", "50000"),
    ],
)
def test_case_width_accents_digits_and_inflection_make_no_difference(statement: str, question: str) -> None:
    assert set(query_terms(question)) <= set(index_terms(statement))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("src/app-v2.py", ["src/app-v2.py", "app-v2.py", "app", "v2", "py"]),
        ("C:\\tmp\\x", ["C:\\tmp\\x", "c:\\tmp\\x", "tmp"]),
        ("snake_case_name", ["snake_case_name", "snake", "name"]),
        ("parseHTTPResponse", ["parseHTTPResponse", "parsehttpresponse", "parse", "HTTP", "response"]),
        ("iPhone15", ["iphone15", "iphone 15", "15"]),
        ("v2.4-rc1", ["V2.4-RC1", "rc1"]),
        ("bob.smith@example.com", ["bob.smith@example.com", "bob", "example.com"]),
        ("https://example.com/docs?page=2", ["https://example.com/docs?page=2", "example.com", "docs"]),
        ("550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000", "550e8400"]),
    ],
)
def test_a_path_or_identifier_is_found_whole_and_by_its_parts(text: str, parts: list[str]) -> None:
    for part in parts:
        assert shared(f"see {text}.", part), part


def test_the_whole_form_tells_a_path_from_another_with_the_same_parts() -> None:
    literal = shared("open src/app-v2.py", "src/app-v2.py")
    assert literal > shared("open app/src-py.v2", "src/app-v2.py")


@pytest.mark.parametrize("text", ['"unbalanced', "NEAR(a b)", "foo*", "-bar", "a:b", "AND", "x'); drop table t; --"])
def test_operators_of_the_query_language_are_plain_words(text: str) -> None:
    assert shared(f"said {text} aloud", text)


@pytest.mark.parametrize("text", ["", " \t\n", "?!…。，、", "___ -- ''", "\ud800", "\u0301\u200d\ufeff"])
def test_text_without_words_has_no_terms(text: str) -> None:
    assert index_terms(text) == query_terms(text) == ()


def test_repeats_are_kept_for_the_index_and_dropped_for_the_query() -> None:
    assert index_terms("tea, tea, tea") == ("tea", "tea", "tea")
    assert query_terms("tea, tea, tea") == ("tea",)


def test_unspaced_text_gives_characters_and_pairs_within_the_run() -> None:
    assert index_terms("吃花生，好") == ("吃", "花", "生", "吃花", "花生", "好")


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("what is the name of my dog", ("name", "dog")),
        ("I don't know what it's about", ("know",)),
        ("我的生日是什么时候", {"生", "日", "生日", "时", "候"}),
        ("где живёт моя сестра", {"живет", "сестр"}),
    ],
)
def test_function_words_are_left_out_of_a_query(question: str, terms: tuple[str, ...] | set[str]) -> None:
    assert set(terms) <= set(query_terms(question))
    assert not {"what", "of", "my", "it", "什", "么", "什么", "的", "я", "где"} & set(query_terms(question))


@pytest.mark.parametrize("question", ["什么", "你是谁", "who are you", "to be or not to be"])
def test_a_query_of_function_words_alone_keeps_them(question: str) -> None:
    assert query_terms(question) == tuple(dict.fromkeys(index_terms(question)))


def test_a_long_query_keeps_what_it_repeats_and_reaches_its_end() -> None:
    words = " ".join(f"filler{number}x" for number in range(300))
    terms = query_terms(f"{words} zebra zebra omega1x omega2x omega3x omega4x omega5x omega6x")
    assert len(terms) == MAX_QUERY_TERMS
    assert "zebra" in terms
    assert any(term.startswith("omega") for term in terms)


def test_a_word_beyond_the_limit_is_found_as_a_whole_only() -> None:
    blob = "QmFzZTY0" * 40
    (term,) = index_terms(blob)
    assert len(term) == MAX_TERM_LENGTH
    assert shared(f"key {blob}", blob) == {term}
    assert not shared(f"key {blob}", blob[:-1])


def test_no_repetition_takes_more_than_linear_time() -> None:
    # Each of these takes minutes when any step is quadratic.
    repeats = 400_000
    for unit in (
        "\u0300\u0316",
        "ﾞ\u0334",
        "a.",
        "'",
        "1,",
        "_",
        "A",
        "aA",
        "://",
        "ก\u0e48",
        "\u0e48",
        "क्",
        "\u094d",
        "👩\u200d",
    ):
        assert len(index_terms("x" + unit * repeats)) <= 2 * MAX_CHARACTERS


def test_characters_past_the_limit_are_not_analysed() -> None:
    assert "late" in index_terms(" " * (MAX_CHARACTERS - 4) + "late")
    assert index_terms(" " * MAX_CHARACTERS + "late") == ()


def test_threads_share_no_stemmer() -> None:
    words = [f"running{suffix}" for suffix in ("ly", "ness", "s", "ed")]
    expected = [index_terms(f"{word}{number % 7}x {word}") for number in range(200) for word in words]
    results: list[list[tuple[str, ...]]] = []

    def analyse() -> None:
        results.append([index_terms(f"{word}{number % 7}x {word}") for number in range(200) for word in words])

    threads = [threading.Thread(target=analyse) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4
