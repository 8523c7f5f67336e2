import pytest

from memstrata.errors import Misconfigured
from memstrata.server import bind
from memstrata.settings import ServerSettings


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_address_open_to_others_needs_a_key(host: str) -> None:
    with pytest.raises(Misconfigured, match=r"server\.api_key"):
        bind(ServerSettings(host=host, port=0))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_needs_none(host: str) -> None:
    with bind(ServerSettings(host=host, port=0)) as listener:
        assert listener.getsockname()[1] > 0


def test_with_a_key_any_address_is_allowed() -> None:
    with bind(ServerSettings(host="0.0.0.0", port=0, api_key="key")) as listener:
        assert listener.getsockname()[1] > 0


def test_a_port_in_use_is_one_clear_line() -> None:
    with bind(ServerSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Misconfigured) as caught:
            bind(ServerSettings(port=port))

    assert str(caught.value) == f"server.port: 127.0.0.1:{port} is in use by another program"


def test_a_host_that_does_not_exist_is_named() -> None:
    with pytest.raises(Misconfigured, match=r"server\.host: cannot listen on no-such-host\.invalid:8420"):
        bind(ServerSettings(host="no-such-host.invalid"))
