"""What a session says again, as much at a time as there is room for."""

from __future__ import annotations

from tests.scripted import ScriptedPeer

from amqp_sansio import ServerConfig, ServerConnection, Session
from amqp_sansio.engine.replaying import Replaying
from amqp_sansio.events import AttachRequested, Event, SessionAttached, SessionDetached
from amqp_sansio.kernel.serials import TOP, MutableRangeSet, RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import message, queue
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.spec.connection import Open, StartOk, TuneOk

HEADER = b"AMQP\x01\x01\x00\x0a"
ROOM = 10_000
BODY = 3000


def opened(room: int = ROOM, frame: int = 0, limits: Limits = DEFAULT_LIMITS) -> ScriptedPeer:
    """A server with so much room for what can wait, and its client."""
    peer = ScriptedPeer(ServerConnection(ServerConfig(session_timeout=600, limits=limits)))
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, frame, 0), Open(""))
    peer.connection._most_waiting = room
    peer.connection.data_to_send()
    return peer


def kept(messages: int, body: int = BODY, frame: int = 0, limits: Limits = DEFAULT_LIMITS) -> tuple[ScriptedPeer, Session]:
    """A session with so many deliveries in doubt, which the client has detached."""
    peer = opened(frame=frame, limits=limits)
    peer.say(c.Attach(b"s"), c.RequestTimeout(600), c.CommandPoint(0, 0), channel=1)
    (session,) = peer.server.sessions
    peer.say(message.Subscribe("q", "d", 1, 1), message.Flow("d", 0, messages), message.Flow("d", 1, 1 << 30), channel=1)
    for _ in range(messages):
        session.publish("d", body=bytes(body), accept_mode=AcceptMode.NONE)
    peer.say(c.Detach(b"s"), channel=1)
    peer.connection.data_to_send()
    assert session.state == "detached"
    return peer, session


def again(peer: ScriptedPeer, session: Session, expected: RangeSet, channel: int = 1) -> list[Event]:
    """The session is attached by the client, who says what it expects: what happens then."""
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    connection.receive_data(peer.octets_of(c.Attach(session.name), channel))
    assert isinstance(connection.next_event(), AttachRequested)
    connection.accept(session.name, resume=session)
    return peer.say(c.Expected(expected), channel=channel)


def test_it_goes_through_what_is_kept_and_what_is_not_over_the_top() -> None:
    ids = MutableRangeSet(RangeSet([(TOP - 1, 0), (3, 3), (9, 12)]))
    replaying = Replaying(ids, RangeSet([(TOP - 3, 10)]))
    assert [replaying.gap(2), replaying.gap(2), replaying.gap(2)] == [
        RangeSet([(TOP - 3, TOP - 2), (1, 2)]), RangeSet([(4, 8)]), RangeSet(),
    ]  # fmt: skip
    assert replaying.next() == TOP - 1
    ids.discard(RangeSet.of(TOP, 9))  # kept no more
    assert list(iter(replaying.next, None)) == [0, 3, 10]
    assert Replaying(ids, RangeSet()).next() is None


def test_no_more_is_written_than_there_is_room_for() -> None:
    """One command more at most; the session is attached when all was said, and says nothing else before."""
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    connection = peer.connection
    octets = b""
    while session._replaying is not None:
        assert ROOM <= connection.bytes_to_send < ROOM + BODY + 200
        assert (session.state, list(connection.events())) == ("resuming", [])
        octets += connection.data_to_send()
    assert [type(event) for event in connection.events()] == [SessionAttached]
    octets += connection.data_to_send()
    assert octets.count(bytes(BODY)) == 20
    assert connection.data_to_send() == b""
    assert session._speaks


def test_where_there_is_room_all_is_sent_at_once() -> None:
    peer, session = kept(20)
    peer.connection._most_waiting = 1 << 62
    assert [type(event) for event in again(peer, session, RangeSet.of(0))] == [SessionAttached]
    assert len(peer.connection.data_to_send()) > 20 * BODY


def test_two_sessions_have_their_turns() -> None:
    peer, session = kept(20)
    peer.say(c.Attach(b"t"), c.RequestTimeout(600), c.CommandPoint(0, 0), channel=2)
    (other,) = peer.server.sessions
    assert other is not session
    peer.say(message.Subscribe("q", "d", 1, 1), message.Flow("d", 0, 9), message.Flow("d", 1, 1 << 30), channel=2)
    for _ in range(9):
        other.publish("d", body=bytes(BODY), accept_mode=AcceptMode.NONE)
    peer.connection.data_to_send()
    peer.say(c.Detach(b"t"), channel=2)
    again(peer, session, RangeSet.of(0))
    again(peer, other, RangeSet.of(0), channel=2)
    attached: list[bytes] = []
    octets = b""
    while octets.count(bytes(BODY)) < 29:
        assert peer.connection.bytes_to_send < 2 * ROOM
        octets += peer.connection.data_to_send()
        attached += [event.session for event in peer.connection.events() if isinstance(event, SessionAttached)]
    assert attached == [b"t", b"s"]


def test_a_detach_in_the_middle_ends_it_and_it_begins_anew() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    assert [type(event) for event in peer.say(c.Detach(b"s"), channel=1)] == [SessionDetached]
    peer.connection.data_to_send()
    assert (peer.connection.data_to_send(), session._replaying, len(session._outbound.kept)) == (b"", None, 20)
    again(peer, session, RangeSet.of(18))
    assert peer.connection.data_to_send().count(bytes(BODY)) == 2
    assert session._speaks


def test_the_end_of_the_connection_in_the_middle_keeps_the_session() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    peer.end()
    assert (session.state, session._replaying, len(session._outbound.kept)) == ("detached", None, 20)


def test_a_close_in_the_middle_says_nothing_more() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    peer.connection.close()
    peer.connection.data_to_send()
    assert peer.connection.data_to_send() == b""
    assert session._replaying is not None or session.state == "detached"


def test_a_command_that_fits_into_no_frame_ends_the_session_when_its_turn_comes() -> None:
    peer, session = kept(2, body=1)
    session._outbound.kept[1] = (bytes(5000), None, None)
    peer = opened(frame=4096)
    (event,) = again(peer, session, RangeSet.of(0))
    assert isinstance(event, SessionDetached)
    assert event.ended
    assert "command 1 does not fit" in event.text


def test_gaps_are_cut_by_the_room_too() -> None:
    """Every second id is complete, and expected all the same."""
    peer, session = kept(8000, body=0, frame=4096)
    session._outbound.completed(RangeSet.of(*range(0, 8000, 2)), False)
    again(peer, session, RangeSet.of(0))
    sizes = []
    while octets := peer.connection.data_to_send():
        sizes.append(len(octets))
    assert max(sizes) < ROOM + 4096
    assert session._speaks


def test_commands_wait_until_all_was_sent_again() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    assert peer.say(c.CommandPoint(3, 0), queue.Declare("q"), channel=1) == []
    while session._replaying is not None:
        peer.connection.data_to_send()
    assert [type(event).__name__ for event in peer.connection.events()] == ["SessionAttached", "CommandReceived"]


def test_a_command_beyond_the_octets_that_may_come_early_is_not_taken() -> None:
    peer, session = kept(20, limits=Limits(early_octets=20))
    again(peer, session, RangeSet.of(0))
    (event,) = peer.say(c.CommandPoint(3, 0), queue.Declare("q" * 40), channel=1)
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "limits.early_octets"
