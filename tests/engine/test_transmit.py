"""How commands leave a session."""

from __future__ import annotations

import pytest
from tests.carriers import attached_session

from amqp_sansio.config import Profile
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.subscription import Subscriber
from amqp_sansio.engine.transmit import check_command, check_modes, transfer, violate
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.events import Origin, SessionDetached, Violation
from amqp_sansio.kernel.serials import EMPTY, TOP, RangeSet
from amqp_sansio.ledger.ids import EXPLICIT, Delivery
from amqp_sansio.limits import Limits
from amqp_sansio.spec import execution, message, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.tables import transfer as rows


def test_the_golden_transfer() -> None:
    """The frames of model section 1.7, made by an independent codec, here on channel 0."""
    carrier, session = attached_session("client")
    properties = message.MessageProperties(
        content_length=5,
        reply_to=message.ReplyTo("amq.direct", "r"),
        content_type="text/plain",
        application_headers={"k": 1},
    )
    session.publish("", message.DeliveryProperties(delivery_mode=2, routing_key="q"), properties, body=b"hello")
    octets = carrier.take()[28:]
    golden = bytes.fromhex(
        "0b0100150001 0000 00000000 0401010007000001 00"
        "030200560001 0000 00000000 00000007 0401100202 0171"
        "0000003b 04031901 0000000000000005 000f 03000a 616d712e646972656374 0172 0a 746578742f706c61696e"
        "0000000f 00000001 016b 31 0000000000000001"
        "070300110001 0000 00000000 68656c6c6f"
    )
    assert octets == golden


def test_sync_transfers_and_modes_are_remembered_apart() -> None:
    carrier, session = attached_session("client")
    for _ in range(2):
        session.publish("a", body=b"x")
        session.publish("a", body=b"x", sync=True)
        session.publish("a", body=b"x", accept_mode=AcceptMode.EXPLICIT)
    modes = [thing.accept_mode for thing in carrier.said() if isinstance(thing, message.Transfer)]
    assert modes == [1, 1, 0] * 2
    assert len(carrier.channel(0).commands) == 3


def test_remembered_commands_are_bounded() -> None:
    carrier, session = attached_session("client")
    for n in range(1000):
        session.publish(str(n))
    assert len(carrier.channel(0).commands) <= 256


def test_fragments_with_the_profile_that_lets_them_be_sent() -> None:
    carrier, session = attached_session("client", profile=Profile(fragments=True))
    session.publish("", message.FragmentProperties(True, False), body=b"half")
    session.send(message.Resume("d", "r"))
    assert len(carrier.said()) == 3


def test_a_body_that_changes_later_does_not_change_what_is_kept() -> None:
    _, session = attached_session("client", timeout=60)
    body = bytearray(b"abc")
    session.publish(body=body)  # type: ignore[arg-type]
    body[0] = 0
    assert session._outbound.kept[0][2] == b"abc"


@pytest.mark.parametrize("empty", [False, True])
def test_a_body_of_no_octets_is_a_segment_when_asked_for(empty: bool) -> None:
    carrier, session = attached_session("client", timeout=60)
    header = carrier.layout.encode_struct32(message.DeliveryProperties(routing_key="q"))
    carrier.take()
    transfer(session, "", 1, 0, (), b"", False, header, empty_body=empty)
    octets = carrier.take()
    assert octets.endswith(bytes.fromhex("0703000c0001000000000000")) == empty
    assert octets.endswith(header) != empty
    assert session._outbound.kept[0][1:] == (header, b"" if empty else None)


def test_commands_without_content_are_one_frame() -> None:
    carrier, session = attached_session("client")
    session.send(queue.Declare("q"), sync=True)
    octets = carrier.take()[28:]
    assert (octets[0], octets[1], octets[15]) == (0x0F, 1, 1)


def test_properties_one_by_one_are_those_in_structs() -> None:
    """The same properties make the same octets whether they are given one by one or in structs, by a client or a server."""
    for role in ("client", "server"):
        said = []
        for one_by_one in (False, True):
            carrier, session = attached_session(role)
            session._subscribers.current["d"] = Subscriber("q", "d", 1, 0)
            session.subscribers["d"]._book.grant(0, 9)
            session.subscribers["d"]._book.grant(1, 999)
            if one_by_one:
                session.publish("d", body=b"x", routing_key="k", application_headers={"a": 1})
            else:
                session.publish(
                    "d",
                    message.DeliveryProperties(routing_key="k"),
                    message.MessageProperties(application_headers={"a": 1}),
                    body=b"x",
                )
            said.append(carrier.take())
        assert said[0] == said[1]


def test_properties_come_one_way_only() -> None:
    """Properties given both ways, or such as cannot be written, are refused before anything is said."""
    carrier, session = attached_session("client")
    carrier.take()
    with pytest.raises(EncodeError, match="not both"):
        session.publish("a", message.DeliveryProperties(priority=1), body=b"x", routing_key="k")
    with pytest.raises(EncodeError, match="priority"):
        session.publish("a", body=b"x", priority=256)
    with pytest.raises(EncodeError, match="frame"):
        session.publish("a", body=b"x", user_id=bytes(65535), app_id=bytes(65535))
    assert carrier.take() == b""
    assert session.publish("a", body=b"x", routing_key="k") == 0


def test_a_check_changes_nothing_and_its_effect_does() -> None:
    _, session = attached_session("client")
    before = session.snapshot()
    effect = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert session.snapshot() == before
    assert effect is not None
    effect(0)
    assert list(session.subscriptions) == ["d"]


def test_a_command_with_a_result_is_remembered() -> None:
    _, session = attached_session("client")
    effect = check_command(session, queue.Query("q"))
    assert effect is not None
    effect(17)
    assert session._outbound.asked == {17: queue.Query("q")}
    assert check_command(session, queue.Declare("q")) is None


def test_what_the_other_role_says() -> None:
    _, session = attached_session("server")
    for command in (message.Subscribe("q", "d", 0, 0), tx.Select(), queue.Declare("q"), message.Acquire(RangeSet.of(0))):
        with pytest.raises(LocalProtocolError) as raised:
            check_command(session, command)
        assert raised.value.legal == (f"client:{command.VERB}",)


@pytest.mark.parametrize(("held", "fits"), [(1, True), (2, False), (3, False)])
def test_limit_of_subscriptions(held: int, fits: bool) -> None:
    _, session = attached_session("client", limits=Limits(subscriptions=2))
    for n in range(min(held, 2)):
        session.subscribe("q", str(n))
    if fits:
        session.subscribe("q", "last")
    else:
        with pytest.raises(LimitError, match="subscriptions"):
            session.subscribe("q", "last")


def test_throttling_the_other_side() -> None:
    carrier, session = attached_session("server")
    session.send(message.SetFlowMode("", 0))
    session.send(message.Flow("", 0, 5))
    session.send(message.Stop(""))
    session.send(message.Flow("", 0, 5))
    session.send(message.Flow("", 1, 5))
    assert len(carrier.said()) == 6
    with pytest.raises(LocalProtocolError):
        session.send(message.Flow("d", 0, 5))


def test_modes() -> None:
    check_modes(0, 1)
    with pytest.raises(EncodeError):
        check_modes(2, 0)
    with pytest.raises(EncodeError):
        check_modes(0, 2)


def acquired_and_shown() -> Session:
    """A client with a transfer that it acquired, number 1, and one that it was shown, number 2."""
    _, session = attached_session("client")
    for id, state in ((1, rows.ACQUIRED), (2, rows.NOT_ACQUIRED)):
        session._transfers.deliveries[id] = Delivery(state, EXPLICIT, None, 7, False, 7)
    return session


def test_all_or_none() -> None:
    session = acquired_and_shown()
    for ids in (RangeSet([(1, 2)]), RangeSet([(0, 1)]), RangeSet([(1, TOP)]), EMPTY):
        with pytest.raises(LocalProtocolError):
            check_command(session, message.Accept(ids))


def test_settling_what_may_not_be_settled_raises_what_may() -> None:
    """The error lists for which transfers the word would be right, and what may be said of the one for which it is not."""
    session = acquired_and_shown()
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Accept(RangeSet.of(2)))
    assert caught.value.legal == ("message.accept {1}", "message.acquire 2", "message.release 2", "session.completed 2")
    assert caught.value.rule == "message.accept.acquisition"
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Release(RangeSet.of(9)))
    assert (caught.value.legal, caught.value.state) == (("message.release {1-2}",), "no such unsettled transfer")
    assert caught.value.rule == "message"


def test_a_subscription_made_while_the_session_is_detached_has_no_channel_to_learn_anew() -> None:
    """The effect of a check is there whether or not a channel is."""
    _, session = attached_session("client")
    before = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert before is not None
    channel, session._channel = session._channel, None
    before(0)
    session._channel = channel
    assert list(session.subscriptions) == ["d"]


def test_an_error_code_goes_out_in_an_exception_behind_what_was_gathered() -> None:
    carrier, session = attached_session("server")
    carrier.hear(execution.Sync())
    session.send(execution.Sync())
    carrier.out.clear()
    carrier.happened()
    carrier.channel(0).channels.offset = 99
    violate(session, "a.rule", "said", ("legal",), 542, "text", 7, (4, 1))
    assert carrier.said() == [
        c.Completed(RangeSet.of(0)),
        execution.Exception_(542, 7, 4, 1, None, "a.rule: text"),
        c.Detach(b"s"),
    ]
    violation = Violation("client", "a.rule", "said", ("legal",), 542, 0, 99, "text")
    assert carrier.happened() == [
        SessionDetached(b"s", 0, Origin.VIOLATION, None, "text", violation, in_doubt=RangeSet.of(0), ended=True)
    ]
    assert not carrier.channel(0).free
    carrier.hear(c.Detached(b"s", 0))
    assert carrier.channel(0).free


def test_a_detach_code_goes_out_in_detached() -> None:
    carrier, session = attached_session("client")
    violate(session, "a.rule", "said", (), 4, "text")
    assert carrier.said() == [c.Detached(b"s", 4)]
    assert carrier.channel(0).free
