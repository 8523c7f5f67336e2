from hypothesis import given
from hypothesis import strategies as st

from memstrata.proxy.tokens import BridgeToken, read_token, sign_token

SECRET = b"a secret of sixteen bytes"
TOKEN = BridgeToken("default", "usr-1", "claude-code", "2f0b", 1_000)


def test_a_token_is_read_back_until_it_ends() -> None:
    text = sign_token(TOKEN, SECRET)

    assert read_token(text, SECRET, 999) == TOKEN
    assert read_token(text, SECRET, 1_000) is None
    assert text == sign_token(TOKEN, SECRET)


def test_another_secret_reads_nothing() -> None:
    assert read_token(sign_token(TOKEN, SECRET), b"another secret", 0) is None


@given(st.data())
def test_a_changed_token_reads_nothing(data: st.DataObject) -> None:
    text = sign_token(TOKEN, SECRET)
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda one: one != text[at]))

    assert read_token(text[:at] + other + text[at + 1 :], SECRET, 0) is None


@given(st.text())
def test_any_text_is_no_token(text: str) -> None:
    assert read_token(text, SECRET, 0) is None
    assert read_token(f"msb1.{text}", SECRET, 0) is None


@given(st.text(), st.text(), st.text(), st.text())
def test_any_names_survive(instance: str, user: str, client: str, session: str) -> None:
    token = BridgeToken(instance, user, client, session, 5)
    text = sign_token(token, SECRET)

    assert text.isascii()
    assert read_token(text, SECRET, 0) == (token if len(text) <= 2_048 else None)
