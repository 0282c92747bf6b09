"""A caller's mistake raises one of our errors, says what would have been legal, sends nothing and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builds import attributes
from tests.scripted import ScriptedPeer, Word

from amqp_sansio import (
    AmqpError,
    ClientConnection,
    Connection,
    ConnectionClosedError,
    LimitError,
    LocalProtocolError,
    ServerConnection,
    Session,
)
from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.spec.session import Attach, Attached

HEADER = b"AMQP\x01\x01\x00\x0a"
CLIENT: tuple[Word, ...] = (
    HEADER,
    Start({}, ("ANONYMOUS",), ("en_US",)),
    Tune(3, 4096, 0, 120),
    OpenOk(()),
    Close(320, "go"),
)
SERVER: tuple[Word, ...] = (HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(3, 4096, 0), Open(""), Close(320, "go"))

Call = Callable[[Connection], object]


def as_server(call: Callable[[ServerConnection], object]) -> Call:
    def checked(connection: Connection) -> object:
        assert isinstance(connection, ServerConnection)
        return call(connection)

    return checked


def as_client(call: Callable[[ClientConnection], object]) -> Call:
    def checked(connection: Connection) -> object:
        assert isinstance(connection, ClientConnection)
        return call(connection)

    return checked


BOTH: dict[str, Call] = {
    "close 404": lambda conn: conn.close(ReplyCode.NOT_FOUND, "x"),
    "close with a long text": lambda conn: conn.close(CloseCode.NORMAL, "x" * 256),
    "close -1": lambda conn: conn.close(-1),  # type: ignore[arg-type]
    "take_unread": lambda conn: conn.take_unread(),
}
CLIENTS: dict[str, Call] = {
    "session": as_client(lambda conn: conn.session("s")),
    "session with a long name": as_client(lambda conn: conn.session(b"x" * 70000)),
    "session with a name too long for a frame": as_client(lambda conn: conn.session(b"x" * 5000)),
    "session of the same name": as_client(lambda conn: conn.session(b"taken")),
    "resume what is attached": as_client(lambda conn: conn.resume(next(iter(conn.sessions), Session(b"x" * 5000, conn.role)))),
}
SERVERS: dict[str, Call] = {
    "open_ok": as_server(lambda conn: conn.open_ok()),
    "open_ok with a long host": as_server(lambda conn: conn.open_ok(["x" * 70000])),
    "open_ok with hosts that are none": as_server(lambda conn: conn.open_ok(5)),  # type: ignore[arg-type]
    "redirect to hosts that are none": as_server(lambda conn: conn.redirect("h", 5)),  # type: ignore[arg-type]
    "redirect": as_server(lambda conn: conn.redirect("h")),
    "redirect to a long host": as_server(lambda conn: conn.redirect("x" * 70000)),
    "accept": as_server(lambda conn: conn.accept(b"nobody")),
    "accept another": as_server(lambda conn: conn.accept(b"asked", Session(b"other", "server"))),
    "refuse": as_server(lambda conn: conn.refuse(b"nobody")),
}


def fingerprint(conn: Connection) -> tuple[object, ...]:
    """All that matters of a connection."""
    inside = attributes(conn)
    channels = {
        channel.number: (channel.session, channel.requested, channel.free)
        for channel in inside["_channels"].all()
        if not channel.free
    }
    keys = (
        "_closed_cause", "_open", "_ended", "_lingering", "_closing", "_unanswered", "_eof", "_channel_max", "_max_frame_size",
    )  # fmt: skip
    server = {key: inside[key] for key in ("_asked",) if key in inside}
    server["requests"] = dict(inside["_channels"].requests)
    sessions = [(each.name, each.state, each._channel) for each in inside["_channels"].sessions]
    plain = [inside[key] for key in keys]
    return inside["_dialogue"].states, list(inside["_outbox"]), list(inside["_events"]), plain, channels, server, sessions


def situations(role: str) -> list[tuple[str, Connection]]:
    """A connection in each state of its life."""
    made: list[tuple[str, Connection]] = []
    words = CLIENT if role == "client" else SERVER
    for length in range(len(words) + 1):
        conn: Connection = ClientConnection() if role == "client" else ServerConnection()
        ScriptedPeer(conn).say(*words[:length])
        made.append((f"after {length} words", conn))
    attached = ClientConnection() if role == "client" else ServerConnection()
    peer = ScriptedPeer(attached)
    peer.say(*words[:4])
    if isinstance(attached, ClientConnection):
        attached.session(b"taken")
        peer.say(Attached(b"taken"), channel=1)
    else:
        peer.say(Attach(b"taken"), channel=1)
    made.append(("attached", attached))
    closing: Connection = ClientConnection() if role == "client" else ServerConnection()
    ScriptedPeer(closing).say(*words[:4])
    closing.close()
    made.append(("closing", closing))
    if role == "server":
        asked = ServerConnection()
        peer = ScriptedPeer(asked)
        peer.say(*words[:3])
        asked.receive_data(peer.octets_of(Open("", None, True)))
        asked.next_event()
        made.append(("asked for open", asked))
        attaching = ServerConnection()
        peer = ScriptedPeer(attaching)
        peer.say(*words[:4])
        attaching.receive_data(peer.octets_of(Attach(b"asked"), 2))
        attaching.next_event()
        made.append(("asked for attach", attaching))
    return made


@pytest.mark.parametrize("role", ["client", "server"])
def test_whatever_is_refused_changes_nothing(role: str) -> None:
    calls = BOTH | (CLIENTS if role == "client" else SERVERS)
    refused: dict[str, int] = dict.fromkeys(calls, 0)
    for name, call in calls.items():
        for where, conn in situations(role):
            before = fingerprint(conn)
            error: AmqpError | None = None
            try:
                call(conn)
            except AmqpError as raised:
                error = raised
            if error is not None:
                assert isinstance(error, LocalProtocolError | ConnectionClosedError | EncodeError | LimitError), (name, where)
                assert fingerprint(conn) == before, (name, where)
                refused[name] += 1
    assert all(refused.values()), refused


def test_a_refusal_says_what_would_have_been_legal() -> None:
    conn = ServerConnection()
    peer = ScriptedPeer(conn)
    peer.say(HEADER)
    with pytest.raises(LocalProtocolError) as caught:
        conn.open_ok()
    assert caught.value.legal == ("connection.close",)
    assert caught.value.state == "started"
    opened = ClientConnection()
    ScriptedPeer(opened).say(*CLIENT[:2])
    with pytest.raises(LocalProtocolError) as early:
        opened.session("s")
    assert early.value.legal == ("connection.close",)
