"""The named rules of classes file and stream that conversations keep; those of queues belong to a server of the class."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from tests.conformance.rules.peers import Said, overheard, with_client_session, with_server_session
from tests.engine.verdicts import violation_of

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import CommandReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import file, stream
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command

SESSION: tuple[Said, ...] = (
    ("C", Attach(b"s")), ("S", Attached(b"s")), ("C", CommandPoint(0, 0)), ("S", CommandPoint(0, 0)),
)  # fmt: skip
CONSUME: Said = ("C", file.Consume("q", "t", nowait=True))
Class: TypeAlias = type[file.Consume] | type[stream.Consume]


def content(command: Command, header: Struct, body: bytes = b"", channel: int = 0) -> bytes:
    """The frames of a command with content."""
    payload = AMQP_0_10.codec.encode_command(command, False)
    return b"".join(frame_command(channel, payload, encode_headers([header]), body or None, 65535))


def staged(speaker: Speaker, size: int = 0) -> tuple[Said, ...]:
    """`speaker` stages the file "f" of so many octets."""
    other: Speaker = "S" if speaker == "C" else "C"
    stage = content(file.Stage(), FileProperties(), bytes(size))
    return (speaker, file.Open("f", size)), (other, file.OpenOk(0)), (speaker, stage)


def refusal(command: Command, *before: Command, header: Struct | None = None, body: bytes = b"") -> tuple[str, int]:
    """The rule and the code with which a server refuses a client's last word."""
    speaking, session = with_server_session()
    for command_before in before:
        assert all(isinstance(event, CommandReceived) for event in speaking.say(command_before))
        if isinstance(command_before, file.Open):
            session.send(file.OpenOk(2))
    word = command if header is None else content(command, header, body)
    violation = violation_of(speaking.say(word))
    exceptions = [each for each in speaking.hear() if isinstance(each, Exception_)]
    assert [each.error_code for each in exceptions] == [violation.code]
    return violation.rule, violation.code


@pytest.mark.rule("file.consume.queue.queue-exists-if-empty")
@pytest.mark.rule("stream.consume.queue.queue-exists-if-empty")
@pytest.mark.parametrize("consume", [file.Consume, stream.Consume])
@pytest.mark.parametrize("queue", ["", None])
def test_a_consume_names_a_queue(consume: Class, queue: str | None) -> None:
    rule = f"{consume.VERB}.queue.queue-exists-if-empty"
    assert refusal(consume(queue, "t")) == (rule, 530)
    _, session = with_client_session()
    with pytest.raises(LocalProtocolError) as raised:
        session.send(consume(queue, "t"))
    assert raised.value.rule == rule
    assert overheard(*SESSION, ("C", consume(queue, "t"))) == [f"C {rule}"]


@pytest.mark.rule("file.consume.consumer-tag.not-empty-consumer-tag")
@pytest.mark.rule("stream.consume.consumer-tag.not-empty-consumer-tag")
@pytest.mark.parametrize("consume", [file.Consume, stream.Consume])
@pytest.mark.parametrize("tag", ["", None])
def test_a_consumer_has_a_tag(consume: Class, tag: str | None) -> None:
    rule = f"{consume.VERB}.consumer-tag.not-empty-consumer-tag"
    assert refusal(consume("q", tag)) == (rule, 530)
    _, session = with_client_session()
    with pytest.raises(LocalProtocolError) as raised:
        session.send(consume("q", tag))
    assert raised.value.rule == rule
    assert overheard(*SESSION, ("C", consume("q", tag))) == [f"C {rule}"]


@pytest.mark.rule("file.consume.consumer-tag.not-existing-consumer")
@pytest.mark.rule("stream.consume.consumer-tag.not-existing-consumer")
@pytest.mark.parametrize("consume", [file.Consume, stream.Consume])
@pytest.mark.parametrize("nowait", [False, True])
def test_a_tag_names_one_consumer(consume: Class, nowait: bool) -> None:
    rule = f"{consume.VERB}.consumer-tag.not-existing-consumer"
    assert refusal(consume("r", "t"), consume("q", "t", nowait=nowait)) == (rule, 530)
    _, session = with_client_session()
    session.send(consume("q", "t", nowait=nowait))
    session.send(consume("q", "u", nowait=nowait))
    with pytest.raises(LocalProtocolError) as raised:
        session.send(consume("r", "t"))
    assert raised.value.rule == rule
    twice: list[Said] = [("C", consume("q", "t", nowait=nowait)), ("C", consume("q", "t"))]
    assert overheard(*SESSION, *twice) == [f"C {rule}"]
    cancel = file.Cancel("t") if consume is file.Consume else stream.Cancel("t")
    ended: list[Said] = [("C", consume("q", "t", nowait=True)), ("C", cancel), ("C", consume("q", "t", nowait=nowait))]
    assert overheard(*SESSION, *ended, strict=True) == []


@pytest.mark.rule("file.open.content-size.content-size")
@pytest.mark.rule("file.open-ok.staged-size.behavior")
@pytest.mark.parametrize(("size", "rest"), [(2, 0), (10, 8)])
def test_what_is_staged_is_the_rest_of_the_size_that_was_announced(size: int, rest: int) -> None:
    rule = "file.open-ok.staged-size.behavior"
    for octets_ in (rest - 1, rest + 1):
        if octets_ >= 0:
            assert refusal(file.Stage(), file.Open("f", size), header=FileProperties(), body=bytes(octets_)) == (rule, 542)
    speaking, session = with_server_session()
    speaking.say(file.Open("f", size))
    session.send(file.OpenOk(2))
    (event,) = speaking.say(content(file.Stage(), FileProperties(), bytes(rest)))
    assert isinstance(event, CommandReceived)
    assert len(event.body) == rest
    assert overheard(*SESSION, ("C", file.Open("f", size)), ("S", file.OpenOk(size + 1))) == [f"S {rule}"]
    four = content(file.Stage(), FileProperties(), b"four")
    short: list[Said] = [("C", file.Open("f", 5)), ("S", file.OpenOk(0)), ("C", four)]
    assert overheard(*SESSION, *short) == ["C file.open.content-size.content-size"]
    assert overheard(*SESSION, *staged("C", size=5), *staged("S"), *staged("C"), strict=True) == []


@pytest.mark.rule("file.consume.min-consumers")
@pytest.mark.rule("stream.consume.min-consumers")
@pytest.mark.parametrize("consume", [file.Consume, stream.Consume])
def test_sixteen_consumers_of_one_queue_fit_into_the_default_limits(consume: Class) -> None:
    consumes = [consume("q", f"t{number}", nowait=True) for number in range(16)]
    speaking, _ = with_server_session()
    assert all(isinstance(event, CommandReceived) for event in speaking.say(*consumes))
    assert not any(isinstance(each, Exception_) for each in speaking.hear())
    _, session = with_client_session()
    for each in consumes:
        session.send(each)
    assert overheard(*SESSION, *[("C", each) for each in consumes], strict=True) == []


@pytest.mark.rule("file.publish.exchange.default")
@pytest.mark.rule("stream.publish.exchange.default")
@pytest.mark.parametrize("publish", [file.Publish, stream.Publish])
@pytest.mark.parametrize("name", ["", None])
def test_an_empty_exchange_is_not_refused(publish: type[file.Publish] | type[stream.Publish], name: str | None) -> None:
    """It reaches the application as it was said, and means the default exchange there."""
    speaking, session = with_client_session()
    if publish is stream.Publish:
        word: Command = stream.Publish(name, "k")
        said: bytes | Command = content(word, StreamProperties())
        session.send(word, StreamProperties())
    else:
        word = said = file.Publish(name, "k", identifier="f")
        session.send(file.Open("f", 0))
        speaking.say(CommandPoint(0, 0), file.OpenOk(0))
        session.send(file.Stage(), FileProperties())
        session.send(word)
    speaking, _ = with_server_session()
    (event,) = speaking.say(said)
    assert isinstance(event, CommandReceived)
    assert event.command == word
    assert not any(isinstance(each, Exception_) for each in speaking.hear())
    assert overheard(*SESSION, *staged("C"), ("C", said), strict=True) == []


@pytest.mark.rule("file.publish.exchange.refusal")
@pytest.mark.rule("stream.publish.exchange.refusal")
@pytest.mark.parametrize("publish", [file.Publish("fanout", identifier="f"), stream.Publish("fanout")])
def test_an_exchange_may_refuse_files_and_packets(publish: Command) -> None:
    speaking, session = with_server_session()
    header = StreamProperties() if isinstance(publish, stream.Publish) else None
    (event,) = speaking.say(publish if header is None else content(publish, header))
    assert isinstance(event, CommandReceived)
    speaking.hear()
    session.fail(event.id, ErrorCode.NOT_IMPLEMENTED, "not here")
    exceptions = [each for each in speaking.hear() if isinstance(each, Exception_)]
    assert [(each.error_code, each.command_id) for each in exceptions] == [(540, event.id)]
    said: list[Said] = [*staged("C"), ("C", publish if header is None else content(publish, header))]
    assert overheard(*SESSION, *said, ("S", Exception_(540, 2)), strict=True)[-1:] == ["(S execution.exception)"]


@pytest.mark.rule("file.deliver.delivery-tag.non-zero")
def test_no_delivery_has_the_tag_zero() -> None:
    rule = "file.deliver.delivery-tag.non-zero"
    speaking, session = with_client_session()
    session.send(file.Consume("q", "t", nowait=True))
    violation = violation_of(speaking.say(CommandPoint(0, 0), file.Deliver("t", 0)))
    assert (violation.rule, violation.code, violation.speaker) == (rule, 531, "server")
    speaking, server = with_server_session()
    speaking.say(file.Consume("q", "t", nowait=True))
    with pytest.raises(LocalProtocolError) as raised:
        server.send(file.Deliver("t", 0))
    assert raised.value.rule == rule
    assert overheard(*SESSION, CONSUME, ("S", file.Deliver("t", 0))) == [f"S {rule}"]


@pytest.mark.rule("file.acknowledgement-support")
def test_deliveries_are_acknowledged_explicitly_or_not_at_all() -> None:
    for no_ack in (False, True):
        said: list[Said] = [("C", file.Consume("q", "t", no_ack=no_ack, nowait=True)), *staged("S")]
        said += [("S", file.Deliver("t", 3, identifier="f")), ("C", file.Ack(3))]
        assert overheard(*SESSION, *said) == (["C file.ack.multiple.validation"] if no_ack else [])
        assert refusal(file.Ack(3), file.Consume("q", "t", no_ack=no_ack)) == ("file.ack.multiple.validation", 542)


@pytest.mark.rule("file.ack.multiple.validation")
def test_an_acknowledgement_names_a_delivery() -> None:
    deliveries: list[Said] = [("S", file.Deliver("t", tag, identifier="f")) for tag in (4, 2, 9)]
    before = (*SESSION, CONSUME, *staged("S"), *deliveries)
    wrong = ["C file.ack.multiple.validation"]
    for acks, told in [
        ([file.Ack(2)], []),
        ([file.Ack(2), file.Ack(9), file.Ack(4)], []),
        ([file.Ack(9, True)], []),
        ([file.Ack(0, True)], []),
        ([file.Ack(2, True), file.Ack(9)], []),
        ([file.Ack(3)], wrong),
        ([file.Ack(2), file.Ack(2)], wrong),
        ([file.Ack(2, True), file.Ack(4)], wrong),
        ([file.Ack(7, True)], wrong),
    ]:
        assert overheard(*before, *[("C", ack) for ack in acks]) == told, acks


@pytest.mark.rule("file.ack.delivery-tag.session-local")
@pytest.mark.rule("file.reject.delivery-tag.session-local")
@pytest.mark.parametrize("word", [file.Ack(1), file.Reject(1)])
def test_a_delivery_is_settled_in_the_session_in_which_it_came(word: Command) -> None:
    rule = "file.reject.delivery-tag.session-local" if isinstance(word, file.Reject) else "file.ack.multiple.validation"
    speaking, session = with_client_session()
    session.send(file.Consume("q", "t", nowait=True))
    (event,) = speaking.say(CommandPoint(0, 0), file.Deliver("t", 1))
    assert isinstance(event, CommandReceived)
    second = speaking.peer.client.session(b"other")
    assert second._channel is not None
    speaking.peer.say(Attached(b"other"), channel=second._channel.number)
    with pytest.raises(LocalProtocolError) as raised:
        second.send(word)
    assert raised.value.rule == rule
    session.send(word)
    assert refusal(word, file.Consume("q", "t")) == (rule, 542)


@pytest.mark.rule("stream.deliver.delivery-tag.session-local")
def test_a_packet_is_acknowledged_nowhere() -> None:
    speaking, session = with_client_session()
    session.send(stream.Consume("q", "t", nowait=True))
    (event,) = speaking.say(CommandPoint(0, 0), content(stream.Deliver("t", 1), StreamProperties(), channel=speaking.channel))
    assert isinstance(event, CommandReceived)
    second = speaking.peer.client.session(b"other")
    assert second._channel is not None
    speaking.peer.say(Attached(b"other"), channel=second._channel.number)
    for each in (session, second):
        with pytest.raises(LocalProtocolError):
            each.send(file.Ack(1))


@pytest.mark.rule("file.qos.prefetch-count.prefetch-discretion")
@pytest.mark.parametrize(("octets_", "messages", "fits"), [(0, 0, 9), (0, 2, 2), (10, 0, 2), (10, 1, 1), (4, 9, 1), (15, 9, 3)])
def test_no_more_is_sent_in_advance_than_was_asked_for(octets_: int, messages: int, fits: int) -> None:
    rule = "file.qos.prefetch-count.prefetch-discretion"
    ask = file.Qos(octets_, messages)
    # The client hears one too many.
    speaking, session = with_client_session()
    session.send(file.Consume("q", "t", nowait=True))
    session.send(ask)
    speaking.say(CommandPoint(0, 0), file.QosOk(), file.Open("f", 5))
    session.send(file.OpenOk(0))
    speaking.say(content(file.Stage(), FileProperties(), b"12345", speaking.channel))
    for tag in range(1, fits + 1):
        (event,) = speaking.say(file.Deliver("t", tag, identifier="f"))
        assert isinstance(event, CommandReceived)
    if fits < 9:
        violation = violation_of(speaking.say(file.Deliver("t", 99, identifier="f")))
        assert (violation.rule, violation.code) == (rule, 409)
    # A server does not send it, and goes on when something was acknowledged.
    speaking, server = with_server_session()
    speaking.say(file.Consume("q", "t", nowait=True), file.Consume("q", "u", no_ack=True, nowait=True), ask)
    server.send(file.Open("f", 5))
    speaking.say(file.OpenOk(0))
    server.send(file.Stage(), FileProperties(), body=b"12345")
    server.send(file.QosOk())
    for tag in range(1, fits + 1):
        server.send(file.Deliver("t", tag, identifier="f"))
    if fits < 9:
        with pytest.raises(LocalProtocolError) as raised:
            server.send(file.Deliver("t", 99, identifier="f"))
        assert raised.value.rule == rule
    server.send(file.Deliver("u", 1000, identifier="f"))  # nothing waits for it
    speaking.say(file.Reject(1))
    server.send(file.Deliver("t", 99, identifier="f"))
    # Who overhears it accuses the server.
    said: list[Said] = [CONSUME, ("C", ask), ("S", file.QosOk()), *staged("S", size=5)]
    said += [("S", file.Deliver("t", tag, identifier="f")) for tag in range(1, fits + 1)]
    assert overheard(*SESSION, *said) == []
    if fits < 9:
        assert overheard(*SESSION, *said, ("S", file.Deliver("t", 99, identifier="f"))) == [f"S {rule}"]


def test_what_is_acknowledged_as_one_of_all_may_be_named_when_it_was_under_way() -> None:
    first: list[Said] = [CONSUME, *staged("S"), ("S", file.Deliver("t", 1, identifier="f"))]
    crossing: list[Said] = [("C", file.Ack(0, True)), ("S", file.Deliver("t", 2, identifier="f"))]
    assert overheard(*SESSION, *first, *crossing, ("C", file.Ack(1)), ("C", file.Ack(2)), strict=True) == []
    received: Said = ("C", Completed(RangeSet([(0, 2)])))
    assert overheard(*SESSION, *first, received, *crossing, ("C", file.Ack(1))) == ["C file.ack.multiple.validation"]
