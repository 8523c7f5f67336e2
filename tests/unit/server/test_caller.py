import pytest

from memstrata.errors import InvalidRequest, Unauthorized
from memstrata.records import Scope
from memstrata.server.caller import check_key, idempotency_key, instance_of, scope_of, session_of, task_of
from memstrata.server.envelope import IncompleteIds
from memstrata.server.requests import Request

HEADERS = {b"x-tdai-team-id": b"t", b"x-tdai-agent-id": b"a", b"x-tdai-user-id": b"u"}


@pytest.mark.parametrize(
    ("authorization", "text"),
    [
        (None, "missing Bearer token"),
        (b"Basic key", "missing Bearer token"),
        (b"bearer key", "missing Bearer token"),
        (b"Bearer ", "invalid token"),
        (b"Bearer wrong", "invalid token"),
        (b"Bearer key ", "invalid token"),
    ],
)
def test_only_the_exact_key_passes(authorization: bytes | None, text: str) -> None:
    headers = {} if authorization is None else {b"authorization": authorization}

    with pytest.raises(Unauthorized, match=f"Unauthorized: {text}"):
        check_key(headers, b"key")

    check_key({b"authorization": b"Bearer key"}, b"key")


@pytest.mark.parametrize("authorization", [b"", b"Basic x", b"Bearer ", b"Bearer   "])
def test_some_bearer_must_be_there_even_without_a_key(authorization: bytes) -> None:
    with pytest.raises(Unauthorized, match="Missing or invalid Authorization header"):
        instance_of({b"authorization": authorization, b"x-tdai-service-id": b"default"})


@pytest.mark.parametrize("service", [None, b"", b"  "])
def test_the_instance_must_be_named(service: bytes | None) -> None:
    headers = {b"authorization": b"Bearer x"} | ({} if service is None else {b"x-tdai-service-id": service})

    with pytest.raises(Unauthorized, match="Missing x-tdai-service-id header"):
        instance_of(headers)


def test_an_instance_may_have_any_name_up_to_128_characters() -> None:
    headers = {b"authorization": b"Bearer x", b"x-tdai-service-id": "../../Büro 记忆".encode()}

    assert instance_of(headers) == "../../Büro 记忆"
    assert instance_of({**headers, b"x-tdai-service-id": b"i" * 128}) == "i" * 128
    with pytest.raises(InvalidRequest, match="x-tdai-service-id: at most 128"):
        instance_of({**headers, b"x-tdai-service-id": b"i" * 129})


def test_the_body_names_the_scope_and_headers_fill_what_it_leaves_out() -> None:
    assert scope_of(HEADERS, Request(agent_id="b"), "i") == Scope("i", "t", "b", "u")


@pytest.mark.parametrize("value", ["", "  ", 5, True, ["t"], {"id": "t"}])
def test_a_blank_or_untyped_id_in_the_body_wins_over_the_header_and_counts_as_missing(value: object) -> None:
    with pytest.raises(IncompleteIds, match=r"^missing team_id:"):
        scope_of(HEADERS, Request(team_id=value), "i")


def test_missing_ids_are_named_in_order() -> None:
    with pytest.raises(IncompleteIds, match=r"^missing team_id, agent_id, user_id:"):
        scope_of({}, Request(), "i")
    with pytest.raises(IncompleteIds, match=r"^missing team_id, user_id:"):
        scope_of({}, Request(agent_id="a"), "i")


def test_ids_longer_than_512_characters_are_refused_by_name() -> None:
    assert scope_of(HEADERS, Request(user_id="ü" * 512), "i").user == "ü" * 512
    with pytest.raises(InvalidRequest, match="user_id: at most 512"):
        scope_of(HEADERS, Request(user_id="ü" * 513), "i")


def test_a_session_comes_from_the_body_else_from_the_header() -> None:
    headers = {b"x-tdai-session-id": b"from-header"}

    assert session_of(headers, Request(session_id="from-body")) == "from-body"
    assert session_of(headers, Request()) == "from-header"
    assert session_of(headers, Request(session_id="")) == ""
    assert session_of({}, Request()) is None
    with pytest.raises(InvalidRequest, match="session_id: expected a string"):
        session_of({}, Request(session_id=5))


def test_a_blank_task_is_no_task() -> None:
    headers = {b"x-tdai-task-id": b"from-header"}

    assert task_of(headers, Request()) == "from-header"
    assert task_of(headers, Request(task_id="")) is None
    with pytest.raises(InvalidRequest, match="task_id: at most 512"):
        task_of({}, Request(task_id="t" * 513))


def test_header_values_that_are_not_utf8_are_read_as_latin_1() -> None:
    assert task_of({b"x-tdai-task-id": b"caf\xe9"}, Request()) == "café"


def test_an_idempotency_key_has_at_most_256_characters() -> None:
    assert idempotency_key({b"idempotency-key": b"k" * 256}) == "k" * 256
    assert idempotency_key({}) is None
    with pytest.raises(InvalidRequest, match="idempotency-key: at most 256"):
        idempotency_key({b"idempotency-key": b"k" * 257})
