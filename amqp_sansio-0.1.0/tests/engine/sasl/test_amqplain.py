"""AMQPLAIN."""

from __future__ import annotations

import pytest

from amqp_sansio.config import Accepted, Deferred, Rejected, SaslError
from amqp_sansio.engine.sasl import IN_CLEAR
from amqp_sansio.engine.sasl.amqplain import AmqPlain, AmqPlainServer
from amqp_sansio.limits import USERNAME_OCTETS


def test_the_response_is_a_table_without_its_size() -> None:
    """As RabbitMQ and the clients of it write it."""
    exchange = AmqPlain("guest", "secret").start()
    assert exchange.done
    assert exchange.initial() == b"\5LOGINS\0\0\0\5guest\x08PASSWORDS\0\0\0\6secret"


def test_both_halves_understand_each_other() -> None:
    said: list[tuple[str, str]] = []

    def verify(username: str, password: str) -> bool:
        said.append((username, password))
        return password == "pw"

    for password, verdict in (("pw", Accepted("änn")), ("no", Rejected("wrong name or password"))):
        assert AmqPlainServer(verify).start().step(AmqPlain("änn", password).start().initial()) == verdict
    assert said == [("änn", "pw"), ("änn", "no")]


def test_a_slow_one_is_deferred() -> None:
    verdict = AmqPlainServer(lambda *_: True, slow=True).start().step(AmqPlain("ann", "pw").start().initial())
    assert isinstance(verdict, Deferred)
    assert verdict.decide() == Accepted("ann")


@pytest.mark.parametrize(
    "response",
    [
        None,
        b"",
        b"\5LOGIN",
        b"\5LOGINS\0\0\0\3ann",
        b"\5LOGINS\0\0\0\3ann\x08PASSWORDV",
        b"\5LOGINS\0\0\0\3an\xff\x08PASSWORDS\0\0\0\2pw",
        b"\5LOGINS\0\0\0\4ann\x08PASSWORDS\0\0\0\2pw",
        b"\0ann\0pw",
    ],
)
def test_what_is_no_response_is_rejected(response: bytes | None) -> None:
    verdict = AmqPlainServer(lambda *_: True).start().step(response)
    assert isinstance(verdict, Rejected)
    assert "pw" not in verdict.reason


@pytest.mark.parametrize("size", [USERNAME_OCTETS - 1, USERNAME_OCTETS, USERNAME_OCTETS + 1])
def test_the_longest_name(size: int) -> None:
    verdict = AmqPlainServer(lambda *_: True).start().step(AmqPlain("n" * size, "pw").start().initial())
    assert isinstance(verdict, Rejected if size > USERNAME_OCTETS else Accepted)


def test_it_says_one_message_and_shows_no_password() -> None:
    exchange = AmqPlain("ann", "hush").start()
    with pytest.raises(SaslError):
        exchange.step(b"what?")
    assert "hush" not in repr(AmqPlain("ann", "hush"))
    assert "AMQPLAIN" in IN_CLEAR
