"""The grammar of class connection."""

from __future__ import annotations

from tests.grammar.naive import equivalent

from amqp_sansio.grammar import connection
from amqp_sansio.grammar.algebra import difference

OPENING = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
)  # fmt: skip
C_CLOSE, C_OK, S_CLOSE, S_OK = connection.closes()
WHOLE = connection.conversation()


def test_a_connection_ends_closed_redirected_or_refused() -> None:
    assert not WHOLE.accepts(OPENING)
    assert WHOLE.prefixes().accepts(OPENING)
    for end in ([C_CLOSE, S_OK], [S_CLOSE, C_OK], [C_CLOSE, S_CLOSE, C_OK, S_OK], [C_CLOSE, S_CLOSE, S_OK, C_OK]):
        assert WHOLE.accepts([*OPENING, *connection.USE, *end])
    assert WHOLE.accepts([*OPENING[:-1], "server:connection.redirect"])
    assert WHOLE.accepts(["client:protocol-header", "server:other-protocol-header"])


def test_challenges_and_a_close_in_their_midst() -> None:
    begun = [*OPENING[:4], *["server:connection.secure", "client:connection.secure-ok"] * 3]
    assert WHOLE.accepts([*begun, *OPENING[4:], C_CLOSE, S_OK])
    assert WHOLE.accepts([*begun, S_CLOSE, C_OK])
    assert not WHOLE.prefixes().accepts([*begun, "client:connection.tune-ok"])
    assert not WHOLE.prefixes().accepts(["client:protocol-header", C_CLOSE])


def test_nothing_comes_after_a_close_but_what_was_on_its_way() -> None:
    legal = WHOLE.prefixes()
    assert legal.accepts([*OPENING, C_CLOSE, *["server:session-traffic"] * 3, S_OK])
    assert not legal.accepts([*OPENING, C_CLOSE, "client:session-traffic"])
    assert not legal.accepts([*OPENING, C_CLOSE, S_OK, "server:session-traffic"])
    assert not legal.accepts([*OPENING, C_OK])
    assert not legal.accepts([*OPENING, C_CLOSE, C_CLOSE])


def test_heartbeats_from_tune_ok_on() -> None:
    legal = WHOLE.prefixes()
    for beat in connection.BEATS:
        assert [legal.accepts([*OPENING[:length], beat]) for length in range(9)] == [length > 5 for length in range(9)]


def test_parts_and_whole() -> None:
    assert connection.negotiation().accepts(OPENING[:6])
    assert connection.handshake().accepts(OPENING)
    # A handshake without any close is a beginning of the whole.
    assert difference(connection.handshake().prefixes(), WHOLE.prefixes()).empty
    assert equivalent(connection.close(), connection.close().prefixes())
