"""PLAIN."""

from __future__ import annotations

import pytest

from amqp_sansio.config import Accepted, Challenge, Deferred, Rejected, SaslError
from amqp_sansio.engine.sasl import Plain, PlainServer
from amqp_sansio.engine.sasl.amqplain import AmqPlainServer


def test_plain_cannot_encode_a_password_with_nul() -> None:
    with pytest.raises(SaslError):
        Plain("a", "b\0c").start()


@pytest.mark.parametrize("response", [b"", b"a", b"a\0b", b"a\0b\0c\0d", b"\0\xff\0c", b"other\0ann\0pw", b"\0ann\0no"])
def test_what_is_not_a_response_or_not_right_is_rejected(response: bytes) -> None:
    exchange = PlainServer(lambda user, password: (user, password) == ("ann", "pw")).start()
    assert isinstance(exchange.step(response), Rejected)


def test_one_may_act_for_oneself() -> None:
    server = PlainServer(lambda user, password: True)
    assert server.start().step(b"ann\0ann\0pw") == Accepted("ann")


def test_a_server_may_ask_for_what_did_not_come_at_first() -> None:
    exchange = PlainServer(lambda user, password: True).start()
    assert exchange.step(None) == Challenge(b"")
    client = Plain("ann", "pw").start()
    assert client.step(b"") == b"\0ann\0pw"
    with pytest.raises(SaslError):
        client.step(b"")


@pytest.mark.parametrize(("server", "response"), [
    (PlainServer, b"\0ann\0%s"),
    (AmqPlainServer, b"\x05LOGINS\0\0\0\x03ann\x08PASSWORDS\0\0\0\x05%s"),
])  # fmt: skip
def test_what_is_known_is_not_deferred(server: type[PlainServer] | type[AmqPlainServer], response: bytes) -> None:
    exchange = server(lambda *_: False, slow=True, known=lambda *said: said == ("ann", "right")).start()
    assert exchange.step(response % b"right") == Accepted("ann")
    assert isinstance(server(lambda *_: False, slow=True, known=lambda *_: False).start().step(response % b"wrong"), Deferred)
