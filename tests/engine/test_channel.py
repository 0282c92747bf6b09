"""Attach and detach, row by row of the table in the model (4.4), as a server and as a client see them."""

from __future__ import annotations

import pytest
from tests.carriers import BareCarrier, Wire, attached_session
from tests.subscribing import subscribed

from amqp_sansio.config import Profile
from amqp_sansio.engine.channel import Channels
from amqp_sansio.engine.inbound import hear_transfer
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import ConnectionClosedError, LimitError, LocalProtocolError, SessionDetachedError
from amqp_sansio.events import AttachRequested, CommandReceived, Origin, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.spec import execution, message
from amqp_sansio.spec import session as c
from amqp_sansio.spec.session import Attached, Detached
from amqp_sansio.wire.framing import Malformed
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command


def standing(session: Session) -> str:
    return session.state


def server(name: bytes = b"x", *, max_timeout: int | None = 0) -> tuple[BareCarrier, Session]:
    """A server with a session attached on channel 0."""
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(name))
    session = Session(name, "server", max_timeout=max_timeout)
    carrier.channel(0).accept(session)
    carrier.happened()
    assert carrier.said() == [c.Attached(name)]
    return carrier, session


def client(name: bytes = b"x", timeout: int | None = 0) -> tuple[BareCarrier, Session]:
    """A client with a session attached on channel 0."""
    carrier = BareCarrier("client")
    session = Session(name, "client", timeout=timeout)
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(name))
    carrier.happened()
    carrier.take()
    return carrier, session


def test_attach_of_an_unknown_session_is_asked_and_attached() -> None:
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"x"), channel=7)
    assert carrier.happened() == [AttachRequested(b"x", 7, False)]
    assert not carrier.channel(7).free
    session = Session(b"x", "server")
    carrier.channel(7).accept(session)
    assert carrier.said() == [c.Attached(b"x")]
    assert carrier.happened() == [SessionAttached(b"x", 7)]
    assert standing(session) == "attached"


def test_a_refused_attach_leaves_the_channel_free() -> None:
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"x"))
    carrier.channel(0).refuse()
    assert carrier.said() == [c.Detached(b"x", 1)]
    assert carrier.channel(0).free
    with pytest.raises(LocalProtocolError):
        carrier.channel(0).refuse()
    with pytest.raises(LocalProtocolError):
        carrier.channel(0).accept(Session(b"x", "server"))
    assert carrier.said() == []


def test_the_answer_names_the_session_that_was_asked_for() -> None:
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"x"))
    with pytest.raises(LocalProtocolError) as error:
        carrier.channel(0).accept(Session(b"y", "server"))
    assert error.value.legal == ("accept or refuse 'x'",)
    assert carrier.said() == []


def test_session_attach_idempotence() -> None:
    carrier, session = server()
    carrier.hear(c.Attach(b"x"))
    assert carrier.said() == [c.Attached(b"x")]
    assert carrier.happened() == []
    assert standing(session) == "attached"


def test_another_session_on_a_busy_transport_is_refused_and_the_first_is_unaffected() -> None:
    carrier, session = server()
    carrier.hear(c.Attach(b"y"), c.Attach(b""))
    assert carrier.said() == [c.Detached(b"y", 2), c.Detached(b"", 2)]
    assert carrier.happened() == []
    carrier.hear(c.CommandPoint(0, 0), execution.Sync())
    assert carrier.happened() == [CommandReceived(b"x", 0, execution.Sync())]
    assert standing(session) == "attached"


def test_a_session_attached_on_another_channel_is_busy() -> None:
    carrier, _ = server()
    carrier.hear(c.Attach(b"x"), channel=1)
    assert carrier.said() == [c.Detached(b"x", 1)]
    assert carrier.happened() == []


@pytest.mark.parametrize("elsewhere", [False, True])
def test_force_takes_a_session_from_its_other_transport(elsewhere: bool) -> None:
    old, session = server()
    new = BareCarrier("server") if elsewhere else old
    new.hear(c.Attach(b"x", True), channel=1)
    assert new.happened() == [AttachRequested(b"x", 1, True)]
    new.channel(1).accept(session)
    said = old.said()
    assert said[0] == c.Detached(b"x", 1)
    assert ((said[1:] + new.said()) if elsewhere else said[1:]) == [c.Attached(b"x"), c.Flush(True, True, True)]
    assert session._channel is new.channel(1)
    events = old.happened()
    assert isinstance(events[0], SessionDetached)
    assert (events[0].code, events[0].ended) == (1, False)
    old.hear(c.CommandPoint(0, 0), execution.Sync())
    assert old.said() == []
    assert standing(session) == "resuming"
    new.hear(c.Expected(EMPTY), channel=1)
    assert standing(session) == "attached"


@pytest.mark.rule("session.attach.one-transport-per-session")
def test_without_force_a_session_is_not_taken() -> None:
    _, session = server()
    other = BareCarrier("server")
    other.hear(c.Attach(b"x"))
    with pytest.raises(LocalProtocolError, match="attached elsewhere"):
        other.channel(0).accept(session)
    assert standing(session) == "attached"
    other.channel(0).refuse()
    assert other.said() == [c.Detached(b"x", 1)]


def test_an_ended_session_is_not_accepted() -> None:
    carrier, session = server()
    carrier.hear(c.Detach(b"x"), c.Attach(b"x"))
    assert standing(session) == "ended"
    with pytest.raises(SessionDetachedError):
        carrier.channel(0).accept(session)


def test_detach_is_answered_and_frees_the_transport() -> None:
    carrier, session = server(max_timeout=None)
    carrier.hear(c.RequestTimeout(60), c.Detach(b"x"))
    assert carrier.said() == [c.Timeout(60), c.Detached(b"x", 0)]
    assert carrier.happened() == [SessionDetached(b"x", 0, Origin.PEER, 0)]
    assert standing(session) == "detached"
    assert carrier.channel(0).free
    carrier.hear(c.Attach(b"x"))
    carrier.channel(0).accept(session)
    assert standing(session) == "resuming"


def test_detach_ends_a_session_that_nobody_wants_kept() -> None:
    carrier, session = server()
    carrier.hear(c.Detach(b"x"))
    assert carrier.happened() == [SessionDetached(b"x", 0, Origin.PEER, 0, ended=True)]
    assert standing(session) == "ended"


@pytest.mark.parametrize("role", ["client", "server"])
def test_session_attachment_words_without_a_session_are_discarded_and_answered(role: str) -> None:
    carrier = BareCarrier("client" if role == "client" else "server")
    carrier.hear(c.Flush(True, True, True))
    assert carrier.said() == [c.Detached(b"", 3)]
    carrier.hear(message.Transfer("", 0, 0), body=b"x")
    assert carrier.said() == [c.Detached(b"", 3)]
    carrier.hear(c.Detach(b"z"))
    assert carrier.said() == [c.Detached(b"z", 3)]
    carrier.hear(c.Detached(b"z", 3), c.Detached(b"", 0), c.Detached(None, None))
    assert carrier.said() == []  # no detached tennis
    assert carrier.happened() == []
    assert carrier.channel(0).free


def test_attached_that_nobody_asked_for() -> None:
    carrier = BareCarrier("client")
    carrier.hear(c.Attached(b"z"))
    assert carrier.said() == [c.Detached(b"z", 3)]
    carrier, session = client()
    carrier.hear(c.Attached(b"z"), c.Attached(b"x"))
    assert carrier.said() == []
    assert carrier.happened() == []
    assert standing(session) == "attached"


def test_a_client_is_no_server() -> None:
    carrier = BareCarrier("client")
    carrier.hear(c.Attach(b"z"))
    assert carrier.said() == [c.Detached(b"z", 3)]
    assert carrier.happened() == []


def test_words_about_another_session() -> None:
    carrier, session = server()
    carrier.hear(c.Detach(b"y"))
    assert carrier.said() == [c.Detached(b"y", 3)]
    carrier.hear(c.Detached(b"y", 0))
    assert carrier.said() == []
    assert standing(session) == "attached"
    session.flush()
    carrier.hear(c.CommandPoint(0, 0), execution.Sync())
    assert carrier.happened() == [CommandReceived(b"x", 0, execution.Sync())]


def test_detached_with_an_empty_name_is_about_whatever_is_attached() -> None:
    carrier, session = client(timeout=50)
    carrier.hear(c.Detached(b"", 3))
    assert carrier.happened() == [SessionDetached(b"x", 0, Origin.PEER, 3)]
    assert standing(session) == "detached"
    assert carrier.said() == []


def test_attach_refused_as_busy_can_be_sent_again_with_force() -> None:
    carrier = BareCarrier("client")
    session = Session(b"x", "client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Detached(b"x", 1))
    assert carrier.happened() == [
        SessionDetached(b"x", 0, Origin.PEER, 1, "attach was refused: session-busy, it is attached elsewhere")
    ]
    carrier.channel(0).bind(session)
    session.attach(force=True)
    assert carrier.said() == [c.Attach(b"x"), c.Attach(b"x", True)]
    carrier.hear(c.Attached(b"x"))
    assert carrier.happened() == [SessionAttached(b"x", 0)]


def test_after_our_detach_everything_but_its_answer_is_ignored() -> None:
    carrier, session = client()
    session.detach()
    assert carrier.said() == [c.Detach(b"x")]
    assert session._channel is not None
    carrier.hear(c.CommandPoint(0, 0), message.Transfer("d", 0, 0), c.Flush(True, True, True), c.Attach(b"x"))
    assert carrier.said() == []
    assert carrier.happened() == []
    with pytest.raises(SessionDetachedError):
        session.sync()
    with pytest.raises(SessionDetachedError):
        session.detach()
    carrier.hear(c.Detached(b"x", 0))
    assert carrier.happened() == [SessionDetached(b"x", 0, Origin.LOCAL, 0, ended=True)]
    assert carrier.channel(0).free


def test_detach_crosses_detach() -> None:
    carrier, session = client()
    session.detach()
    carrier.hear(c.Detach(b"x"))
    assert carrier.said() == [c.Detach(b"x"), c.Detached(b"x", 0)]
    assert carrier.happened() == []
    carrier.hear(c.Detached(b"x", 0))
    assert len(carrier.happened()) == 1
    assert carrier.channel(0).free


def test_detached_without_a_code_as_old_clients_say_it() -> None:
    carrier, session = client()
    session.detach()
    carrier.hear(c.Detached(b"x", None))
    assert carrier.happened() == [SessionDetached(b"x", 0, Origin.LOCAL, 0, ended=True)]


def test_the_connection_ends() -> None:
    carrier, session = client(timeout=60)
    session.publish(body=b"1")
    carrier.lost("reset by peer")
    assert carrier.happened() == [
        SessionDetached(b"x", 0, Origin.EOF, None, "reset by peer", in_doubt=RangeSet.of(0)),
    ]
    with pytest.raises(SessionDetachedError, match="reset by peer"):
        session.publish(body=b"2")
    with pytest.raises(SessionDetachedError):
        session.attach()


def test_a_closing_connection_sends_nothing() -> None:
    carrier, session = client()
    carrier._closed_cause = "closed by us"
    before = session.snapshot()
    for say in (session.sync, session.publish, session.detach, session.flush, lambda: session.request_timeout(3)):
        with pytest.raises(ConnectionClosedError, match="closed by us"):
            say()
    assert carrier.said() == []
    assert session.snapshot() == before


@pytest.mark.rule("session.attach.one-transport-per-session", "session.attach.one-session-per-transport")
def test_a_session_has_one_transport_and_a_transport_one_session() -> None:
    carrier, session = client()
    with pytest.raises(LocalProtocolError, match="one-transport-per-session"):
        carrier.channel(1).bind(session)
    with pytest.raises(LocalProtocolError, match="one-session-per-transport"):
        carrier.channel(0).bind(Session(b"y", "client"))


def test_attach_again_does_no_harm() -> None:
    carrier, session = client()
    session.attach()
    session.attach(force=True)
    assert carrier.said() == []
    assert standing(session) == "attached"


def test_session_command_point_newly_attached_transports() -> None:
    carrier, session = server()
    carrier.hear(message.Transfer("", 0, 0), body=b"x")
    assert carrier.said() == [c.Detached(b"x", 4)]
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert (event.origin, event.code, event.ended) == (Origin.VIOLATION, 4, True)
    assert event.violation is not None
    assert event.violation.speaker == "client"
    assert event.violation.rule == "session.command-point.newly-attached-transports"
    assert event.violation.legal == ("session.command-point",)
    with pytest.raises(SessionDetachedError, match="newly-attached-transports"):
        session.sync()
    carrier.hear(message.Transfer("", 0, 0), body=b"x")
    assert carrier.said() == []
    assert carrier.failed == []


def test_unpointed_data_as_qpidd_answers_it() -> None:
    carrier = BareCarrier("server")
    carrier.hear(c.Attach(b"x"))
    session = Session(b"x", "server", profile=Profile(unpointed="illegal-state"))
    carrier.channel(0).accept(session)
    carrier.hear(message.Transfer("", 0, 0))
    said = carrier.said()
    assert isinstance(said[2], execution.Exception_)
    assert said[2].error_code == 409
    assert said[3] == c.Detach(b"x")


def test_the_fast_path_does_what_the_slow_one_does() -> None:
    said = message.Subscribe("q", "d", 0, 0), message.Flow("d", 0, 9), message.Flow("d", 1)
    for mode in (0, 1):
        states = []
        events = []
        for fast in (False, True):
            carrier, session = client()
            for command in said:
                session.send(command)
            carrier.hear(c.CommandPoint(0, 0))
            for _ in range(3):
                if fast:
                    event = hear_transfer(
                        session, message.Transfer("d", mode, 0), b"", b"body", False, session.subscriptions["d"]
                    )
                    assert event is not None
                    carrier._emit(event)
                else:
                    carrier.hear(message.Transfer("d", mode, 0), body=b"body")
            events.append(carrier.happened())
            states.append((session.snapshot(), carrier.take()))
        assert events[0] == events[1]
        assert states[0] == states[1]


def test_the_fast_path_without_a_point_or_news() -> None:
    transfer = message.Transfer("d", 0, 0)
    _, session = client()
    assert hear_transfer(session, transfer, b"", b"", False, None) is None
    assert standing(session) == "ended"
    carrier, session = client()
    (subscription,) = subscribed(session, "d")
    carrier.hear(c.CommandPoint(0, 0))
    assert isinstance(hear_transfer(session, transfer, b"", b"", False, subscription), TransferReceived)
    carrier.hear(c.CommandPoint(0, 0))
    assert hear_transfer(session, transfer, b"", b"", False, subscription) is None


def malformed(rule: str, code: int, offset: int, legal: tuple[str, ...] = ()) -> Malformed:
    return Malformed(rule, "a text", code, 0, offset, said="message.transfer", legal=legal)


def test_a_breach_within_a_command_ends_the_session_alone() -> None:
    carrier, _ = server()
    carrier.channel(0).receive_malformed(malformed("assembly.segments", 503, 77, ("body",)))
    said = carrier.said()
    assert isinstance(said[1], execution.Exception_)
    assert said[1].error_code == 503
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert (event.violation.offset, event.violation.legal) == (77, ("body",))
    carrier.channel(0).receive_malformed(malformed("assembly.segments", 503, 99))
    assert carrier.said() == carrier.happened() == []
    carrier.hear(c.Detached(b"x", 0))
    assert carrier.channel(0).free


@pytest.mark.parametrize(("code", "pointed", "names"), [(506, True, 0), (506, False, None), (503, True, None)])
def test_a_command_that_is_too_large_is_named_where_its_id_is_known(code: int, pointed: bool, names: int | None) -> None:
    carrier, _ = server()
    if pointed:
        carrier.hear(c.CommandPoint(0, 0))
    carrier.channel(0).receive_malformed(Malformed("limits.assembly_octets", "a text", code, 0, 7, method=4 << 16 | 1))
    (refused,) = [each for each in carrier.said() if isinstance(each, execution.Exception_)]
    assert (refused.error_code, refused.command_id) == (code, names)
    assert (refused.class_code, refused.command_code) == (4, 1)


def test_the_same_over_a_wire() -> None:
    wire = Wire()
    ours, theirs = wire.session()
    assert standing(ours) == standing(theirs) == "attached"
    ours.detach()
    wire.run()
    assert standing(ours) == standing(theirs) == "ended"
    assert ours.in_doubt == EMPTY


SYNC = len(frame_command(0, LAYOUT.encode_command(execution.Sync(), False))[0])


def refusing() -> tuple[BareCarrier, int]:
    """A server whose session was refused for what its client said, and how much then counts as discarded."""
    carrier, _ = server(b"s")
    carrier.hear(c.CommandPoint(0, 0), c.Completed(RangeSet.of(7)), *[execution.Sync()] * 3)
    return carrier, carrier.channels.discarded


def test_what_was_on_its_way_counts_as_discarded_until_the_other_side_answers() -> None:
    carrier, discarded = refusing()
    assert discarded == 3 * SYNC
    carrier.hear(c.Detach(b"s"))
    assert carrier.channels.discarded == discarded
    carrier.hear(c.Detached(b"s", 0))
    assert carrier.channels.discarded == 0


def test_what_was_on_its_way_counts_no_more_when_a_session_is_attached() -> None:
    """A violation that is answered by detached: nothing has to be answered to that."""
    carrier, _ = server(b"s")
    carrier.hear(c.CommandPoint(0, 7), execution.Sync())
    assert carrier.channels.discarded == SYNC
    carrier.hear(c.Attach(b"t"))
    carrier.channel(0).accept(Session(b"t", "server"))
    assert carrier.channels.discarded == 0


def test_what_comes_on_channels_that_nobody_attached_counts_together() -> None:
    carrier = BareCarrier("server")
    for number in (3, 4, 5):
        carrier.hear(execution.Sync(), channel=number)
    assert (carrier.channels.discarded, carrier.channels.used) == (3 * SYNC, {})


def test_what_comes_behind_an_exception_of_the_other_side_counts_as_discarded() -> None:
    carrier, _ = server(b"s")
    carrier.hear(c.CommandPoint(0, 0), execution.Exception_(404))
    assert carrier.channels.discarded == 0
    carrier.hear(execution.Sync())
    assert carrier.channels.discarded == SYNC


def attached(channels: Channels, number: int, name: bytes) -> Session:
    session = Session(name, "client")
    channel = channels.at(number)
    channel.bind(session)
    session.attach()
    channel.receive_control(Attached(name), 0)
    return session


def test_sessions_with_something_to_write_wake_their_connection_once() -> None:
    carrier, session = attached_session("server")
    woken: list[bool] = []
    carrier._wake = lambda: woken.append(True)
    carrier.channels.touch(session)
    carrier.channels.touch(session)
    assert woken == [True]
    carrier.channels.flush()
    carrier.take()
    carrier.channels.touch(session)
    assert len(woken) == 2


def test_the_lowest_free_one_from_1_on_and_0_at_last() -> None:
    channels = Channels(BareCarrier("client"), LAYOUT)
    for number in (1, 2, 3):
        assert channels.free(4).number == number
        attached(channels, number, b"%d" % number)
    assert channels.free(4).number == 0
    attached(channels, 0, b"0")
    with pytest.raises(LimitError) as caught:
        channels.free(4)
    assert (caught.value.limit, caught.value.asked) == ("channels", 5)


def test_a_channel_is_free_again_when_its_session_is_detached() -> None:
    carrier = BareCarrier("client")
    channels = Channels(carrier, LAYOUT)
    session = attached(channels, 1, b"a")
    attached(channels, 2, b"b")
    assert channels.free(5).number == 3
    assert (channels.session_named(b"a"), channels.attached) == (session, 2)
    session.detach()
    channels.at(1).receive_control(Detached(b"a", 0), 0)
    channels.forget(1)
    channels.sweep(channels.at(1))
    assert (channels.session_named(b"a"), channels.attached) == (None, 1)
    assert channels.free(5).number == 1


def test_the_lowest_one_is_found_whatever_was_released_last() -> None:
    """Of several channels that are free again the lowest is taken, also when a higher one became free behind it."""
    channels = Channels(BareCarrier("client"), LAYOUT)
    for number in (1, 2, 3):
        assert channels.free(5).number == number
        attached(channels, number, b"%d" % number)
    for number in (1, 3):
        channels.at(number).session = None
        channels.forget(number)
        channels.used.pop(number)
    assert channels.free(5).number == 1


@pytest.mark.parametrize("swept", [False, True])
def test_channel_0_is_the_last_one_also_when_it_was_released_last(swept: bool) -> None:
    """As long as another channel is free, a session does not get channel 0, whichever became free at last."""
    channels = Channels(BareCarrier("client"), LAYOUT)
    sessions: dict[int, Session] = {}
    for number in (1, 2, 3, 0):
        assert channels.free(4).number == number
        sessions[number] = attached(channels, number, b"%d" % number)
    for number in (2, 0):
        if swept:
            sessions[number].detach()
            channels.at(number).receive_control(Detached(b"%d" % number, 0), 0)
            channels.sweep(channels.at(number))
        else:
            channels.forget(number)
            channels.used.pop(number)
    assert channels.free(4).number == 2


def test_an_unused_one_is_forgotten_and_a_used_one_is_not() -> None:
    channels = Channels(BareCarrier("client"), LAYOUT)
    channels.at(7)
    attached(channels, 8, b"a")
    channels.sweep(channels.at(7))
    channels.sweep(channels.at(8))
    assert [channel.number for channel in channels.all()] == [8]
