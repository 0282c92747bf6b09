"""The named rules of class message that concern sessions and subscriptions; those of queues are the broker's."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.rules.peers import Said, Speaking, overheard, with_client_session, with_server_session
from tests.engine.verdicts import violation_of

from amqp_sansio.engine.session import Session
from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.errors import LocalProtocolError, NoCredit
from amqp_sansio.events import CommandReceived, CommandsCompleted, ProducerCreditChanged, ResultReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.spec.message import (
    Accept,
    Acquire,
    Acquired,
    Cancel,
    DeliveryProperties,
    Flow,
    MessageProperties,
    Reject,
    Release,
    SetFlowMode,
    Stop,
    Subscribe,
    Transfer,
)
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detach

INFINITE = 0xFFFFFFFF
SESSION: tuple[Said, ...] = (
    ("C", Attach(b"s")), ("S", Attached(b"s")), ("C", CommandPoint(0, 0)), ("S", CommandPoint(0, 0)),
)  # fmt: skip


def subscribed(accept_mode: int = 0, acquire_mode: int = 0) -> tuple[Speaking, Session, Subscription]:
    """A client that subscribed as "d" with all the credit there is, and the server, told what to say, that began its half."""
    speaking, session = with_client_session()
    subscription = session.subscribe("q", "d", accept_mode=AcceptMode(accept_mode), acquire_mode=AcquireMode(acquire_mode))
    subscription.grant(INFINITE)
    speaking.say(CommandPoint(0, 0))
    speaking.hear()
    return speaking, session, subscription


def serving(messages: int | None = None, octets: int | None = None, mode: int | None = None) -> tuple[Speaking, Session]:
    """A server to which a client subscribed as "d" and granted so much, and the client, told what to say."""
    speaking, session = with_server_session()
    flows = [Flow("d", unit, value) for unit, value in ((0, messages), (1, octets)) if value is not None]
    modes = [] if mode is None else [SetFlowMode("d", mode)]
    speaking.say(Subscribe("q", "d", 0, 0), *modes, *flows)
    speaking.hear()
    return speaking, session


def heard(speaking: Speaking, kind: type[Command]) -> list[Command]:
    """The commands of one kind in what the connection has to say."""
    return [each for each in speaking.hear() if isinstance(each, kind)]


# --- throttling, properties -------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.throttling")
def test_a_server_may_slow_a_publisher_down() -> None:
    speaking, session = with_client_session()
    session.publish("x")
    events = speaking.say(CommandPoint(0, 0), SetFlowMode("", 0), Stop(""))
    assert events[-1] == ProducerCreditChanged(b"s", 0)
    with pytest.raises(NoCredit):
        session.publish("x")
    assert speaking.say(Flow("", 0, 2))[-1] == ProducerCreditChanged(b"s", 2)
    session.publish("x")
    session.publish("x")
    with pytest.raises(NoCredit):
        session.publish("x")
    assert len(heard(speaking, Transfer)) == 3


@pytest.mark.rule("message.throttling")
def test_a_server_of_ours_says_it() -> None:
    speaking, session = with_server_session()
    session.send(Stop(""))
    session.send(Flow("", 0, 5))
    assert speaking.hear()[-2:] == [Stop(""), Flow("", 0, 5)]


@given(st.uuids(), st.binary(max_size=40))
@pytest.mark.rule("message.message-properties.message-id.immutable")
def test_a_message_keeps_its_id_wherever_it_is_sent(id: UUID, body: bytes) -> None:
    """Whatever comes in is handed on with the same id, as octets and as structs."""
    publisher, theirs = with_client_session()
    theirs.publish("x", DeliveryProperties(routing_key="k"), MessageProperties(message_id=id), body=body)
    octets = publisher.peer.connection.data_to_send()
    entrance, _ = with_server_session()
    number = publisher.channel.to_bytes(2, "big")
    events = entrance.say(octets.replace(b"\x00\x01" + number + b"\0\0\0\0", b"\x00\x01\0\0\0\0\0\0"))
    (event,) = [each for each in events if isinstance(each, TransferReceived)]
    exit_, session = serving(9, INFINITE)
    session.deliver("d", event.header, body=event.body)
    session.deliver("d", *event.headers, body=event.body)
    sent = exit_.peer.connection.data_to_send()
    assert sent.count(event.header) == 2
    assert event.message_properties is not None
    assert event.message_properties.message_id == id


# --- accept, reject, acquire ------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.accept.acquisition")
def test_only_what_is_acquired_is_accepted() -> None:
    speaking, session, _ = subscribed(acquire_mode=1)
    speaking.say(Transfer("d", 0, 1), Transfer("d", 0, 1))
    with pytest.raises(LocalProtocolError) as raised:
        session.accept([0, 1])
    assert raised.value.rule == "message.accept.acquisition"
    asked = session.acquire([0, 1])
    assert heard(speaking, Acquire) == [Acquire(RangeSet.of(0, 1))]
    with pytest.raises(LocalProtocolError):  # the result has to come before
        session.accept(1)
    speaking.say(Result(asked, Acquired(RangeSet.of(1))))
    with pytest.raises(LocalProtocolError):
        session.accept(0)
    session.accept(1)
    assert heard(speaking, Accept) == [Accept(RangeSet.of(1))]


@pytest.mark.rule("message.reject.acquisition")
def test_a_reject_of_what_is_not_acquired_costs_nothing() -> None:
    """Our client does not say it; said by another, it does no harm: what becomes of the message is the broker's."""
    speaking, session, _ = subscribed(acquire_mode=1)
    speaking.say(Transfer("d", 0, 1))
    with pytest.raises(LocalProtocolError) as raised:
        session.reject(0)
    assert raised.value.rule == "message.reject.acquisition"
    client, server = with_server_session()
    client.say(Subscribe("q", "d", 0, 1), Flow("d", 0, 9), Flow("d", 1, INFINITE))
    id = server.deliver("d", body=b"x")
    (event,) = client.say(Reject(RangeSet.of(id), 0))
    assert isinstance(event, CommandReceived)
    assert server.state == "attached"
    server.complete(event.id)
    server.deliver("d", body=b"x")


@pytest.mark.rule("message.acquire.one-to-one")
@pytest.mark.parametrize("acquired", [RangeSet(), RangeSet.of(0), RangeSet.of(0, 1)])
def test_every_acquire_has_one_result(acquired: RangeSet) -> None:
    client, server = with_server_session()
    client.say(Subscribe("q", "d", 0, 1), Flow("d", 0, 9), Flow("d", 1, INFINITE))
    server.deliver("d")
    server.deliver("d")
    (event,) = client.say(Acquire(RangeSet.of(0, 1)))
    assert isinstance(event, CommandReceived)
    with pytest.raises(LocalProtocolError, match="result"):
        server.complete(event.id)
    server.result(event.id, Acquired(acquired))
    with pytest.raises(LocalProtocolError, match="result"):
        server.result(event.id, Acquired(acquired))
    server.complete(event.id)
    assert heard(client, Result) == [Result(event.id, Acquired(acquired))]

    speaking, session, _ = subscribed(acquire_mode=1)
    speaking.say(Transfer("d", 0, 1), Transfer("d", 0, 1))
    asked = session.acquire([0, 1])
    speaking.hear()
    assert speaking.say(Result(asked, Acquired(acquired))) == [ResultReceived(b"s", asked, Acquired(acquired))]
    assert speaking.say(Result(asked, Acquired(acquired))) == []
    assert session._outbound.stray == 1


@pytest.mark.rule("message.acquire.one-to-one")
def test_a_second_result_is_held_against_its_speaker() -> None:
    result = Result(0, Acquired(RangeSet()))
    said: tuple[Said, ...] = (*SESSION, ("C", Acquire(RangeSet())), ("S", result))
    assert overheard(*said) == []
    assert overheard(*said, ("S", result)) == ["S execution.result"]


# --- subscribe, cancel ------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.subscribe.initial-credit")
def test_a_new_subscription_has_no_credit() -> None:
    _, session = with_client_session()
    subscription = session.subscribe("q", "d")
    assert (subscription.message_credit, subscription.octet_credit) == (0, 0)
    for given_, unit in (((None, None), "message"), ((9, None), "byte"), ((None, 999), "message")):
        _, server = serving(*given_)
        with pytest.raises(NoCredit) as raised:
            server.deliver("d", body=b"x")
        assert raised.value.unit == unit
    said: tuple[Said, ...] = (*SESSION, ("C", Subscribe("q", "d", 0, 0)), ("S", Transfer("d", 0, 0)))
    assert overheard(*said) == ["(S message.flow)"]
    assert overheard(*said, strict=True) == ["S message.flow"]


@pytest.mark.rule("message.subscribe.default-flow-mode", "message.set-flow-mode.default-flow-mode")
def test_a_new_subscription_is_in_window_mode() -> None:
    _, session = with_client_session()
    assert session.subscribe("q", "d").mode == 1
    speaking, server = serving(1, INFINITE)
    assert server.subscribers["d"].mode == 1
    server.deliver("d")
    with pytest.raises(NoCredit):
        server.deliver("d")
    assert speaking.say(Completed(RangeSet.of(0))) == [CommandsCompleted(b"s", RangeSet.of(0))]
    server.deliver("d")  # a window moves with what is completed

    chosen, other = serving(1, INFINITE, mode=0)
    other.deliver("d")
    chosen.say(Completed(RangeSet.of(0)))
    with pytest.raises(NoCredit):
        other.deliver("d")


@pytest.mark.rule("message.subscribe.destination.unique-subscriber-destination")
def test_two_subscriptions_of_a_session_have_different_names() -> None:
    speaking, session, _ = subscribed()
    with pytest.raises(LocalProtocolError) as raised:
        session.subscribe("other", "d")
    assert raised.value.rule == "message.subscribe.destination.unique-subscriber-destination"
    session.subscribe("other", "e")
    assert [each.destination for each in speaking.hear() if isinstance(each, Subscribe)] == ["e"]

    client, _server = with_server_session()
    client.say(Subscribe("q", "d", 0, 0), Subscribe("q", "e", 0, 0))
    client.hear()
    violation = violation_of(client.say(Subscribe("other", "d", 0, 0)))
    assert (violation.rule, violation.code) == ("message.subscribe.destination.unique-subscriber-destination", 530)
    *_, exception, detach = client.hear()
    assert isinstance(exception, Exception_)
    assert (exception.error_code, exception.command_id, exception.class_code, exception.command_code) == (530, 2, 4, 7)
    assert detach == Detach(b"s")
    twice: list[Said] = [("C", Subscribe(name, "d", 0, 0)) for name in ("q", "other")]
    assert overheard(*SESSION, *twice) == ["C message.subscribe.destination.unique-subscriber-destination"]


@pytest.mark.rule("message.cancel.destination.subscription-not-found")
def test_a_subscription_that_does_not_exist_cannot_be_cancelled() -> None:
    speaking, session, subscription = subscribed()
    subscription.cancel()
    speaking.hear()
    for name in ("d", "never"):
        with pytest.raises(LocalProtocolError):
            session.send(Cancel(name))
    with pytest.raises(LocalProtocolError) as raised:
        session.send(Cancel("never"))
    assert raised.value.rule == "message.cancel.destination.subscription-not-found"
    assert speaking.hear() == []

    client, _ = with_server_session()
    client.say(Subscribe("q", "d", 0, 0), Cancel("d"))
    client.hear()
    violation = violation_of(client.say(Cancel("d")))
    assert (violation.rule, violation.code) == ("message.cancel.destination.subscription-not-found", 404)
    (exception,) = heard(client, Exception_)
    assert isinstance(exception, Exception_)
    assert (exception.error_code, exception.command_id) == (404, 2)


@pytest.mark.rule("message.cancel.post-cancel-transfer-resolution")
def test_what_came_before_a_cancel_can_still_be_resolved() -> None:
    speaking, session, subscription = subscribed()
    speaking.say(*[Transfer("d", 0, 0)] * 4)
    id = subscription.cancel()
    speaking.say(Transfer("d", 0, 0), Completed(RangeSet.of(id)))  # it may come until the cancel is complete
    speaking.hear()
    session.accept([0, 4])
    session.release(1)
    session.reject(2)
    assert [each for each in speaking.hear() if isinstance(each, Command)] == [
        Accept(RangeSet.of(0, 4)),
        Release(RangeSet.of(1)),
        Reject(RangeSet.of(2), 0),
    ]
    browser, theirs, browsing = subscribed(acquire_mode=1)
    browser.say(Transfer("d", 0, 1))
    browsing.cancel()
    theirs.acquire(0)
    assert heard(browser, Acquire) == [Acquire(RangeSet.of(0))]

    client, server = serving(9, INFINITE)
    server.deliver("d")
    client.say(Cancel("d"))
    (event,) = client.say(Accept(RangeSet.of(0)))
    assert isinstance(event, CommandReceived)
    with pytest.raises(LocalProtocolError):
        server.deliver("d")


# --- credit -----------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.set-flow-mode.byte-accounting")
@pytest.mark.parametrize("body", [b"", b"x", b"x" * 4000, b"x" * 70_000])
@pytest.mark.parametrize("short", [0, 1])
def test_credit_in_octets_pays_for_header_and_body(body: bytes, short: int) -> None:
    """Payloads only, however many frames they take; the command and the frame headers are free."""
    struct = MessageProperties(content_type="text/plain", content_length=len(body))
    speaking, server = serving(9, 0)
    header = server._place.layout.encode_struct32(struct)
    cost = len(header) + len(body)
    speaking.say(Flow("d", 1, cost - short))
    if short:
        with pytest.raises(NoCredit) as raised:
            server.deliver("d", struct, body=body)
        assert (raised.value.unit, raised.value.needed, raised.value.available) == ("byte", cost, cost - 1)
    else:
        server.deliver("d", struct, body=body)
        assert server.subscribers["d"].octet_credit == 0
        speaking.say(Completed(RangeSet.of(0)))
        assert server.subscribers["d"].octet_credit == cost  # a window moves by what the message cost


@pytest.mark.rule("message.set-flow-mode.mode-switching")
def test_the_mode_changes_only_without_credit() -> None:
    speaking, session, subscription = subscribed()
    with pytest.raises(LocalProtocolError) as raised:
        subscription.set_mode(FlowMode.CREDIT)
    assert raised.value.rule == "message.set-flow-mode.mode-switching"
    subscription.stop()
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    with pytest.raises(LocalProtocolError):
        subscription.set_mode(FlowMode.WINDOW)
    assert [each for each in speaking.hear() if isinstance(each, SetFlowMode)] == [SetFlowMode("d", 0)]
    assert session.state == "attached"
