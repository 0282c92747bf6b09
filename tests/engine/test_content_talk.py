"""Files and streams between a client and a server: what each may say, and what it makes of the other's words."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session

from amqp_sansio import (
    ClientConfig,
    ClientConnection,
    LimitError,
    LocalProtocolError,
    ServerConfig,
    ServerConnection,
    Session,
)
from amqp_sansio.config import STRICT_PROFILE
from amqp_sansio.engine.connection import Role
from amqp_sansio.events import CommandReceived, Event, SessionDetached
from amqp_sansio.limits import Limits
from amqp_sansio.spec import file, message, stream
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.layouts.layout import encode_headers

FILE_HEADER = encode_headers([FileProperties("text/plain")])
STREAM_HEADER = encode_headers([StreamProperties("video/x")])

RICH_FILE = FileProperties(
    "text/plain", "utf-8", {"k": 1, "none": None, "text": "ä"}, 9, "back", "id-1", "a.txt", 1_234_567_890, "cluster"
)
RICH_STREAM = StreamProperties("video/x", "gzip", {"k": "v"}, 7, 99)


def joined(**settings: Any) -> tuple[Link[ClientConnection, ServerConnection], Session, Session]:
    """A client and a server with a session, and an observer that holds both to the letter."""
    link = Link(ClientConnection(ClientConfig()), ServerConnection(ServerConfig()), strict=True, **settings)
    link.run()
    ours = link.client.session(b"s")
    link.run()
    (theirs,) = link.server.sessions
    return link, ours, theirs


def heard(link: Link[ClientConnection, ServerConnection]) -> list[CommandReceived]:
    """The commands that were handed out on either side."""
    return [event for _, event in link.run() if isinstance(event, CommandReceived)]


@pytest.mark.rule("file.open-ok.staged-size.staging")
@pytest.mark.parametrize("chunk", [None, 1])
def test_a_file_goes_from_a_client_to_a_server_and_from_a_server_to_a_client(chunk: int | None) -> None:
    link, client, server = joined(chunk=chunk)
    body = bytes(range(256)) * 400  # more than a frame holds
    for sender, receiver in ((client, server), (server, client)):
        if sender is server:
            client.send(file.Consume("q", "t", nowait=True))
            link.run()
        sender.send(file.Open("sha1", len(body)))
        assert heard(link)[-1].command == file.Open("sha1", len(body))
        receiver.send(file.OpenOk(1000))
        assert heard(link)[-1].command == file.OpenOk(1000)
        sender.send(file.Stage(), RICH_FILE, body=body[1000:])
        use: Command
        if sender is client:
            use = file.Publish("amq.direct", "key", True, True, "sha1")
        else:
            use = file.Deliver("t", 1, True, "amq.direct", "key", "sha1")
        sender.send(use)
        staged, used = heard(link)
        assert staged.command == file.Stage()
        assert staged.headers == (RICH_FILE,)
        assert staged.file_properties == RICH_FILE
        assert staged.stream_properties is None
        assert staged.body == body[1000:]
        assert used.command == use
    server.send(file.Return(312, "nowhere to go", "amq.direct", "key"), RICH_FILE, body=b"back")
    (returned,) = heard(link)
    assert (returned.command, returned.headers, returned.body) == (
        file.Return(312, "nowhere to go", "amq.direct", "key"),
        (RICH_FILE,),
        b"back",
    )
    client.send(file.Ack(1))
    assert [event.command for event in heard(link)] == [file.Ack(1)]
    assert link.violations == []


@pytest.mark.parametrize("chunk", [None, 1])
def test_a_stream_goes_both_ways(chunk: int | None) -> None:
    link, client, server = joined(chunk=chunk)
    body = b"\0\xff" * 40_000
    client.send(stream.Qos(1000, 10, 500, True))
    client.send(stream.Consume("q", "t", True, True, arguments={"k": None}))
    assert [event.command for event in heard(link)] == [
        stream.Qos(1000, 10, 500, True),
        stream.Consume("q", "t", True, True, False, {"k": None}),
    ]
    server.send(stream.QosOk())
    server.send(stream.ConsumeOk("t"))
    server.send(stream.Deliver("t", 7, "x", "q"), RICH_STREAM, body=body)
    client.send(stream.Publish("x", "key", True, True), RICH_STREAM, body=body)
    client.send(stream.Publish("", "key"), StreamProperties())
    events = heard(link)
    assert [event.command for event in events if event.body] == [
        stream.Deliver("t", 7, "x", "q"),
        stream.Publish("x", "key", True, True),
    ]
    for event in events:
        if event.body:
            assert event.stream_properties == RICH_STREAM
            assert event.file_properties is None
            assert event.body == body
            assert pickle.loads(pickle.dumps(event)).headers == (RICH_STREAM,)
    assert events[-1].headers == (StreamProperties(),)
    server.send(stream.Return(313, "nobody", "x", "key"), RICH_STREAM, body=b"back")
    client.send(stream.Cancel("t"))
    assert [event.command for event in heard(link)] == [stream.Return(313, "nobody", "x", "key"), stream.Cancel("t")]
    assert link.violations == []


# --- wrong words -------------------------------------------------------------------------------------------------------------

Before = tuple[tuple[Role, Command], ...]
C: Role = "client"
S: Role = "server"
CONSUMING: Before = ((C, file.Consume("q", "t", nowait=True)),)
WATCHING: Before = ((C, stream.Consume("q", "t", nowait=True)),)
OPEN: Before = ((C, file.Open("f", 10)),)
READY: Before = (*OPEN, (S, file.OpenOk(4)))
STAGED: Before = ((S, file.Open("f", 0)), (C, file.OpenOk(0)), (S, file.Stage()))
DELIVERED: Before = (*CONSUMING, *STAGED, (S, file.Deliver("t", 5, identifier="f")))

WRONG: dict[str, tuple[Before, Role, Command, int, str]] = {
    "two questions about quality": (((C, file.Qos(0, 1)),), C, file.Qos(0, 1), 409, "file.qos"),
    "quality that nobody asked for": ((), S, file.QosOk(), 409, "file.qos-ok"),
    "quality twice": (((C, stream.Qos(0, 1)), (S, stream.QosOk())), S, stream.QosOk(), 409, "stream.qos-ok"),
    "consuming from nothing": ((), C, file.Consume("", "t"), 530, "file.consume.queue.queue-exists-if-empty"),
    "consuming without a tag": ((), C, stream.Consume("q", ""), 530, "stream.consume.consumer-tag.not-empty-consumer-tag"),
    "a tag twice": (CONSUMING, C, file.Consume("r", "t"), 530, "file.consume.consumer-tag.not-existing-consumer"),
    "a stream's tag twice": (WATCHING, C, stream.Consume("r", "t"), 530, "stream.consume.consumer-tag.not-existing-consumer"),
    "an answer to nowait": (CONSUMING, S, file.ConsumeOk("t"), 409, "file.consume-ok"),
    "an answer to nobody": ((), S, stream.ConsumeOk("t"), 409, "stream.consume-ok"),
    "cancelling nothing": ((), C, file.Cancel("t"), 404, "file.cancel"),
    "cancelling twice": ((*WATCHING, (C, stream.Cancel("t"))), C, stream.Cancel("t"), 404, "stream.cancel"),
    "delivering to nobody": (STAGED, S, file.Deliver("t", 1, identifier="f"), 404, "file.deliver"),
    "streaming to nobody": ((), S, stream.Deliver("t", 1), 404, "stream.deliver"),
    "delivering before consume-ok": (((C, stream.Consume("q", "t")),), S, stream.Deliver("t", 1), 409, "stream.deliver"),
    "a tag of zero": ((*CONSUMING, *STAGED), S, file.Deliver("t", 0, identifier="f"), 531,
                      "file.deliver.delivery-tag.non-zero"),
    "a delivery tag twice": (DELIVERED, S, file.Deliver("t", 5, identifier="f"), 409, "file.deliver.delivery-tag"),
    "two files at once": (OPEN, C, file.Open("g", 1), 409, "file.open"),
    "ready for nothing": ((), S, file.OpenOk(0), 409, "file.open-ok"),
    "ready for its own": (OPEN, C, file.OpenOk(0), 409, "file.open-ok"),
    "more staged than there is": (OPEN, S, file.OpenOk(11), 542, "file.open-ok.staged-size.behavior"),
    "staging before open-ok": (OPEN, C, file.Stage(), 409, "file.stage"),
    "staging the wrong rest": (READY, C, file.Stage(), 542, "file.open-ok.staged-size.behavior"),
    "staging another size": ((*OPEN, (S, file.OpenOk(0))), C, file.Stage(), 542, "file.open.content-size.content-size"),
    "returning what nobody sent": ((), S, file.Return(312), 409, "file.return"),
    "returning for no known reason": ((*READY, (C, file.Publish("x", identifier="f"))), S, file.Return(7), 531,
                                      "file.return.reply-code"),
    "acknowledging nothing": (CONSUMING, C, file.Ack(1), 542, "file.ack.multiple.validation"),
    "acknowledging twice": ((*DELIVERED, (C, file.Ack(5))), C, file.Ack(5), 542, "file.ack.multiple.validation"),
    "acknowledging zero alone": (DELIVERED, C, file.Ack(0), 542, "file.ack.multiple.validation"),
    "rejecting nothing": (CONSUMING, C, file.Reject(1), 542, "file.reject.delivery-tag.session-local"),
}  # fmt: skip


def content_of(command: Command) -> tuple[bytes | None, bytes | None]:
    """A header and a body for those commands that have them; staged files have the 6 octets of READY's rest."""
    if isinstance(command, file.Stage | file.Return):
        return FILE_HEADER, None
    if isinstance(command, stream.Publish | stream.Return | stream.Deliver):
        return STREAM_HEADER, b"packet"
    return None, None


def told(role: Role, before: Before, **settings: Any) -> tuple[BareCarrier, Session]:
    """A session in which these words were said."""
    carrier, session = attached_session(role, **settings)
    for speaker, command in before:
        header, body = content_of(command)
        if speaker == role:
            session.send(command, *((header,) if header else ()), body=body or b"")
        else:
            carrier.hear(command, header=header, body=body)
    assert session.state == "attached", carrier.happened()
    carrier.happened()
    carrier.take()
    return carrier, session


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_word_of_our_own_is_not_sent(name: str) -> None:
    before, role, command, _, rule = WRONG[name]
    carrier, session = told(role, before)
    snapshot = session.snapshot()
    header, body = content_of(command)
    with pytest.raises(LocalProtocolError) as raised:
        session.send(command, *((header,) if header else ()), body=body or b"")
    assert raised.value.rule == rule
    assert raised.value.said.startswith(command.VERB)
    assert session.snapshot() == snapshot
    assert carrier.take() == b""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_word_of_the_other_side_ends_the_session_with_the_right_code(name: str) -> None:
    before, speaker, command, code, rule = WRONG[name]
    carrier, _ = told(S if speaker == C else C, before)
    header, body = content_of(command)
    carrier.hear(command, header=header, body=body)
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert (event.violation.rule, event.violation.code) == (rule, code)
    assert event.violation.speaker == speaker


@pytest.mark.parametrize(("role", "command"), [(C, stream.Publish("x")), (S, file.Return(312)), (S, stream.Deliver("t", 1))])
def test_content_has_a_header(role: Role, command: Command) -> None:
    before: Before = (*WATCHING, *READY, (C, file.Publish("x", identifier="f")))
    _, session = told(role, before)
    with pytest.raises(LocalProtocolError, match="without header") as raised:
        session.send(command, body=b"x")
    assert "properties" in raised.value.legal[0]
    carrier, _ = told(S if role == C else C, before)
    carrier.hear(command, body=b"x")
    (event,) = carrier.happened()
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert (event.violation.rule, event.violation.code) == (f"{command.VERB}.header", 503)


def test_what_was_staged_in_another_session_is_let_pass_unless_the_letter_is_kept() -> None:
    for role, command, before in ((C, file.Publish("x", identifier="old"), ()), (S, file.Deliver("t", 1), CONSUMING)):
        assert isinstance(command, Command)
        other = S if role == C else C
        carrier, session = told(other, before)
        carrier.hear(command)
        (event,) = carrier.happened()
        assert isinstance(event, CommandReceived)
        carrier, _ = told(other, before, profile=STRICT_PROFILE)
        carrier.hear(command)
        (end,) = carrier.happened()
        assert isinstance(end, SessionDetached)
        assert end.violation is not None
        assert (end.violation.rule, end.violation.code) == (f"{command.VERB}.identifier", 409)
        _, session = told(role, before)
        with pytest.raises(LocalProtocolError) as raised:
            session.send(command)
        assert raised.value.legal == ("file.open",)


def test_a_limit_of_ours_is_reported_as_one() -> None:
    _, session = told(C, CONSUMING, limits=Limits(subscriptions=1))
    with pytest.raises(LimitError, match="subscriptions"):
        session.send(file.Consume("q", "u"))


def test_several_that_decide_about_one_another_are_not_sent_together() -> None:
    _, session = told(C, ())
    with pytest.raises(LocalProtocolError):
        session.send_all([file.Consume("q", "t"), file.Consume("q", "t")])


def test_a_cancelled_consumer_ends_for_the_server_at_once_and_for_the_client_when_it_is_carried_out() -> None:
    _, server = told(S, (*WATCHING, (C, stream.Cancel("t"))))
    with pytest.raises(LocalProtocolError):
        server.send(stream.Deliver("t", 1), StreamProperties())
    carrier, client = told(C, (*WATCHING, (C, stream.Cancel("t"))))
    carrier.hear(stream.Deliver("t", 1), header=STREAM_HEADER)
    assert isinstance(carrier.happened()[0], CommandReceived)
    carrier.hear(c.Completed(client._outbound.outstanding.freeze()))
    carrier.happened()
    carrier.hear(stream.Deliver("t", 2), header=STREAM_HEADER)
    assert isinstance(carrier.happened()[0], SessionDetached)


def test_one_global_quality_makes_the_windows_of_other_sessions_unknown() -> None:
    def deliveries(global_: bool) -> list[Event]:
        carrier, _ = told(C, (*CONSUMING, (C, file.Qos(0, 1)), (S, file.QosOk())))
        second = Session(b"t", "client")
        carrier.channel(1).bind(second)
        second.attach()
        carrier.hear(c.Attached(b"t"), channel=1)
        second.send(file.Qos(0, 5, global_))
        carrier.happened()
        carrier.hear(file.Deliver("t", 1), file.Deliver("t", 2))
        return carrier.happened()

    assert isinstance(deliveries(False)[-1], SessionDetached)
    assert isinstance(deliveries(True)[-1], CommandReceived)


@pytest.mark.parametrize("role", [C, S])
def test_a_snapshot_holds_the_conversation(role: Role) -> None:
    before: Before = (*DELIVERED, *WATCHING, *OPEN, (C, file.Qos(7, 1)), (C, stream.Cancel("t")))
    _, session = told(role, before)
    snapshot = session.snapshot()
    again = Session.restore(pickle.loads(pickle.dumps(snapshot)))
    assert again.snapshot()["contents"] == snapshot["contents"]
    assert snapshot["contents"] is not None
    assert attached_session(role)[1].snapshot()["contents"] is None


def test_other_commands_have_no_headers() -> None:
    event = CommandReceived(b"s", 0, message.Flush("d"))
    assert event.headers == ()
    assert event.file_properties is None


# --- crossings -------------------------------------------------------------------------------------------------------------

Say = Callable[[Random, int], tuple[Command, bytes | None]]
CLIENT_SAYS: list[Say] = [
    lambda r, n: (file.Qos(r.choice([0, 30]), r.choice([0, 1, 3])), None),
    lambda r, n: (stream.Qos(0, 1), None),
    lambda r, n: (file.Consume("q", r.choice("tu"), no_ack=r.random() < 0.3, nowait=r.random() < 0.5), None),
    lambda r, n: (stream.Consume("q", r.choice("tu"), nowait=r.random() < 0.5), None),
    lambda r, n: (file.Cancel(r.choice("tu")), None),
    lambda r, n: (stream.Cancel(r.choice("tu")), None),
    lambda r, n: (file.Publish("x", identifier=r.choice("fg")), None),
    lambda r, n: (stream.Publish("x"), STREAM_HEADER),
    lambda r, n: (file.Ack(r.randrange(n + 1), r.random() < 0.4), None),
    lambda r, n: (file.Ack(0, True), None),
    lambda r, n: (file.Reject(r.randrange(n + 1)), None),
]
SERVER_SAYS: list[Say] = [
    lambda r, n: (file.QosOk(), None),
    lambda r, n: (stream.QosOk(), None),
    lambda r, n: (file.ConsumeOk(r.choice("tu")), None),
    lambda r, n: (stream.ConsumeOk(r.choice("tu")), None),
    lambda r, n: (file.Deliver(r.choice("tu"), n, identifier=r.choice("fg")), None),
    lambda r, n: (file.Deliver(r.choice("tu"), n, identifier=r.choice("fg")), None),
    lambda r, n: (stream.Deliver(r.choice("tu"), n), STREAM_HEADER),
    lambda r, n: (file.Return(311), FILE_HEADER),
    lambda r, n: (stream.Return(313), STREAM_HEADER),
]
BOTH_SAY: list[Say] = [
    lambda r, n: (file.Open(r.choice("fg"), r.choice([0, 20])), None),
    lambda r, n: (file.OpenOk(r.choice([0, 5])), None),
    lambda r, n: (file.Stage(), FILE_HEADER),
]


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_whatever_two_sessions_let_through_on_a_slow_link_nobody_is_accused_of(seed: int, delay: int) -> None:
    """Whatever crosses whatever on the way: what one side may say, neither the other side nor a strict observer refuses."""
    choices = Random(seed)
    link, client, server = joined(delay=(1, delay), choices=choices)
    tag = 1
    said: list[Command] = []
    ended: list[SessionDetached] = []
    for _ in range(120):
        session, own = choices.choice([(client, CLIENT_SAYS), (server, SERVER_SAYS)])
        command, header = choices.choice(own + BOTH_SAY)(choices, tag)
        tag += isinstance(command, file.Deliver | stream.Deliver)
        body = bytes(choices.choice([0, 15, 20])) if isinstance(command, file.Stage) else b""
        try:
            session.send(command, *((header,) if header else ()), body=body)
            said.append(command)
        except LocalProtocolError:
            continue
        if choices.random() < 0.5:
            ended += [event for _, event in link.step() if isinstance(event, SessionDetached)]
            assert ended == [], said
            waiting = server._inbound.outstanding.freeze()
            if waiting and choices.random() < 0.5:
                server.complete(waiting)
    ended += [event for _, event in link.run() if isinstance(event, SessionDetached)]
    assert ended == [], said
    assert (client.state, server.state) == ("attached", "attached")
    assert link.violations == [], said
