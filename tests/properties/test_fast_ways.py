"""What a role makes of octets does not depend on the fast ways of its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.carriers import attached_session
from tests.engine.test_session_checker import DATA, LAYOUT, command, control, conversation

from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.checker import Answered
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.observer import Observed, Observer, Speaker
from amqp_sansio.engine.outbound import prepare, say
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import CommandSeen, Event
from amqp_sansio.events.observed import ControlSeen
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.spec import connection, message, session
from amqp_sansio.spec.codes import AcceptMode, AcquireMode
from amqp_sansio.wire.segments import OneRange, SegmentReader

NAMES = {1: b"1", 2: b"2"}


def client() -> ClientConnection:
    """A client with two sessions, which has published on the first and has a subscription on both."""
    made = ClientConnection()
    opening = control(0, connection.Start({}, ["ANONYMOUS"], ["en_US"]))
    opening += control(0, connection.Tune(9, 65535, 0, 0)) + control(0, connection.OpenOk())
    made.receive_data(AMQP_0_10.header + opening)
    assert [type(event).__name__ for event in made.events()][-1] == "ConnectionOpened"
    for channel, name in NAMES.items():
        ours = made.session(name)
        made.receive_data(control(channel, session.Attached(name)) + control(channel, session.CommandPoint(0, 0)))
        assert list(made.events())
        ours.subscribe("q", "d").grant(0xFFFFFFFF)
        for _ in range(20):
            ours.publish(routing_key="k", body=b"x")
    return made


def server() -> ServerConnection:
    """A server with two sessions."""
    made = ServerConnection()
    said = AMQP_0_10.header + control(0, connection.StartOk({}, "ANONYMOUS", b"", "en_US"))
    said += control(0, connection.TuneOk(9, 65535, 0)) + control(0, connection.Open("x"))
    for channel, name in NAMES.items():
        said += control(channel, session.Attach(name)) + control(channel, session.CommandPoint(0, 0))
    made.receive_data(said)
    assert len([event for event in made.events() if type(event).__name__ == "SessionAttached"]) == 2
    return made


def said(seed: int) -> bytes:
    """Transfers in every shape, completions and accepts, well formed and not; one of three channels has no session."""
    choice = Random(seed)
    octets = b""
    for _ in range(40):
        channel = choice.choice((1, 1, 1, 1, 2, 3))
        headers = [message.DeliveryProperties(routing_key="k")] * choice.choice((0, 1, 1, 1, 2))
        body = choice.choice((None, b"", b"body", b"body", b"b" * 300))
        what = command(channel, message.Transfer("d", choice.choice((0, 0, 0, 1)), 0), *headers, body=body)
        kind = choice.randrange(16)
        if kind == 0 and choice.random() < 0.3:
            at = choice.randrange(len(what))
            what = what[:at] + bytes([what[at] ^ 1 << choice.randrange(8)]) + what[at + 1 :]
        elif kind in (1, 2, 3):
            low = choice.randrange(20)
            what = control(channel, session.Completed(RangeSet.span(low, low + choice.randrange(6)), kind == 1))
        elif kind == 4:
            what = command(channel, message.Accept(RangeSet.of(choice.randrange(20))))
        elif kind == 5 and choice.random() < 0.2:
            what = control(channel, choice.choice((session.Detach(NAMES[1]), session.Detached(NAMES[1], 0))))
        octets += what
    return octets


def heard(us: Connection, octets: bytes, cuts: Random) -> tuple[list[Event], bytes]:
    """The events of octets that come in pieces, and what is said to them."""
    events: list[Event] = []
    at = 0
    while at < len(octets):
        size = cuts.choice((1, 7, 40, 700, 5000, 100_000))
        us.receive_data(octets[at : at + size])
        events += us.events()
        at += size
    us.receive_eof()
    events += us.events()
    return events, us.data_to_send()


@pytest.mark.skipif(COMPILED, reason="nobody can take the fast ways out of compiled code")
@pytest.mark.parametrize("role", [client, server])
@given(seed=st.integers(0, 2**32))
def test_fast_and_slow_tell_the_same(role: Callable[[], Connection], seed: int) -> None:
    """Whatever octets come, cut and changed at random: with the fast ways and without, the same events and the same answers."""
    octets = said(seed)
    fast = heard(role(), octets, Random(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SegmentReader, "cut_ahead", lambda self: None)
        patch.setattr(OneRange, "cut", lambda self, reader, commands=True: None)
        assert heard(role(), octets, Random(seed + 1)) == fast


def test_most_transfers_are_cut_ahead() -> None:
    """So the property above is about something."""
    cut, reader = 0, SegmentReader(client().limits)
    transfer = message.Transfer("d", 0, 0)
    reader.learn(1, LAYOUT.encode_command(transfer, False), transfer, False)
    for seed in range(20):
        reader.receive(said(seed))
        while reader.cut_ahead() is not None or reader.next() is not None:
            cut += bool(reader.ahead)
    assert cut > 20


class Noting(Observer):
    """Notes what it is fed."""

    fed: list[tuple[Speaker, bytes]]

    def receive_data(self, speaker: Speaker, data: bytes) -> None:
        self.fed.append((speaker, data))
        super().receive_data(speaker, data)


@cache
def recording(name: str) -> list[tuple[Speaker, bytes]]:
    """What both sides say in the first conversation of a recording."""
    fed: list[list[tuple[Speaker, bytes]]] = []

    def observer(middle: bool) -> Observer:
        made = Noting()
        made.fed = []
        fed.append(made.fed)
        return made

    listener = Listener(observer, lambda talk, heard: None, lambda talk: None)
    for packet in read_packets(str(DATA / f"{name}.pcap"), lambda text: None):
        listener.hear(packet)
    listener.finish()
    return fed[0]


def changed(said: list[tuple[Speaker, bytes]], choice: Random) -> Iterator[tuple[Speaker, bytes | int]]:
    """The same cut and changed at random: bits changed, octets lost, one side begun late."""
    late = choice.choice(("", "", "", "C", "S"))
    wrong = choice.choice((0.0, 0.0, 0.005, 0.02))
    for number, (speaker, octets) in enumerate(said):
        if speaker == late and number < 12:
            continue
        what = choice.random()
        if what < wrong:
            at = choice.randrange(len(octets))
            octets = octets[:at] + bytes([octets[at] ^ 1 << choice.randrange(8)]) + octets[at + 1 :]
        elif what < 2 * wrong:
            yield speaker, len(octets)
            continue
        cut = choice.randrange(1, len(octets) + 1) if choice.random() < 0.3 else len(octets)
        yield speaker, octets[:cut]
        if cut < len(octets):
            yield speaker, octets[cut:]


def told(said: list[tuple[Speaker, bytes | int]], strict: bool, fast: bool) -> list[object]:
    """What an observer tells of it: with `fast` many at once where it can."""
    observer = Observer(strict=strict, middle=True)
    headers = observer.read_headers(lambda structs: (repr(structs), None))
    found: list[object] = []
    for speaker, octets in said:
        if isinstance(octets, int):
            observer.receive_gap(speaker, octets)
        else:
            observer.receive_data(speaker, octets)
        while (many := observer.next_alike(headers) if fast else None) or (one := observer.next_event()):
            if isinstance(many, Answered):
                who = (many.session, many.id) if many.accepts else ()
                found.append((many.speaker, many.start, many.end, *who, many.sync, many.ids))
            elif many is not None:
                for number, (known, size, body, _, start, end, _, _) in enumerate(many.items):
                    id = None if many.id is None else many.id + number & TOP
                    found.append((many.speaker, start, end, many.session, id, known.command, known.sync, size, body))
            elif one is not None:
                found.append(alone(one))
    return found


def alone(seen: Observed) -> object:
    """One thing observed, in the words of `told`."""
    event, where = seen.event, (seen.speaker, seen.start, seen.end)
    if isinstance(event, CommandSeen) and event.complete:
        command = event.command
        if isinstance(command, message.Transfer) and event.header:
            size, body = len(event.header), None if event.body is None else len(event.body)
            return *where, event.session, event.id, command, event.sync, size, body
        if isinstance(command, message.Accept):
            return *where, event.session, event.id, event.sync, command.transfers
    if isinstance(event, ControlSeen) and isinstance(event.control, session.Completed) and event.control.commands:
        return *where, event.control.timely_reply, event.control.commands
    return seen


@pytest.mark.skipif(COMPILED, reason="a compiled observer has no class below it")
@pytest.mark.parametrize("name", ["made", "credit", "tx", "dtx", "syncflush", "maps"])
@given(seed=st.integers(0, 2**32), strict=st.booleans())
def test_an_observer_tells_many_at_once_as_one_by_one(name: str, seed: int, strict: bool) -> None:
    """Whatever becomes of a recording, cut and changed at random: the same at the same places, found and told."""
    said = list(changed(conversation(seed) if name == "made" else recording(name), Random(seed)))
    assert told(said, strict, True) == told(said, strict, False)


published = st.tuples(
    st.sampled_from(["", "amq.direct"]),
    st.sampled_from([0, 1]),
    st.sampled_from([0, 1]),
    st.lists(
        st.builds(message.DeliveryProperties, priority=st.none() | st.integers(0, 9), routing_key=st.none() | st.just("k"))
        | st.builds(message.MessageProperties, content_type=st.none() | st.just("c"), correlation_id=st.none() | st.just(b"i")),
        max_size=3,
    ),
    st.sampled_from([0, 1, 4, 4083, 4084, 4085, 9000]),
    st.booleans(),
)


@given(kept=st.booleans(), messages=st.lists(published, max_size=6))
def test_what_is_published_fast_is_what_any_command_would_be(
    kept: bool, messages: list[tuple[str, int, int, list[message.DeliveryProperties], int, bool]]
) -> None:
    """A transfer by its own way out, and as a command like others: the same octets, and the same is remembered."""
    fast, slow = [attached_session("client", timeout=60 if kept else 0, max_frame_size=4096) for _ in range(2)]
    for destination, accept_mode, acquire_mode, headers, size, sync in messages:
        body = bytes(size)
        fast[1].publish(
            destination, *headers, body=body, accept_mode=AcceptMode(accept_mode),
            acquire_mode=AcquireMode(acquire_mode), sync=sync
        )  # fmt: skip
        transfer = message.Transfer(destination, accept_mode, acquire_mode)
        say(slow[1], [prepare(slow[1], transfer, tuple(headers), body, sync)])
        assert fast[0].take() == slow[0].take()
    assert fast[1].snapshot() == slow[1].snapshot()
