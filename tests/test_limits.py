"""Every limit, from the outside: what is at it is let pass, what is one beyond is answered as a violation that names it.

One row each, tried at the limit less one, at the limit and at the limit plus one.  The rooms that keep a limit test its edges
besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import pytest
from tests.conversation.stage import refuse, staged
from tests.engine.channels import limited as channels_limited
from tests.limited import HEADER, ONE, at_client, at_server, attached, client_session, judged, refused, violations
from tests.scripted import ScriptedPeer, Word

from amqp_sansio import (
    ClientConfig,
    ClientConnection,
    Connection,
    LocalProtocolError,
    RangeSet,
    ServerConfig,
    ServerConnection,
)
from amqp_sansio.config import Accepted, Challenge, ClientMechanism
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.attempts import Attempts
from amqp_sansio.conversation.channels.topology import Topology, everything
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.errors import LimitError
from amqp_sansio.events import ConnectionClosed, Event, Origin
from amqp_sansio.limits import DEFAULT_LIMITS, MAX_FRAME_SIZE, MIN_MAX_FRAME_SIZE, Limits
from amqp_sansio.spec import dtx, execution, file, message, methods, queue, stream
from amqp_sansio.spec.connection import Open, OpenOk, Secure, SecureOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detach, RequestTimeout
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import FRAME_HEADER_SIZE, frame_command, frame_control

EXPLICIT: Final = message.Transfer("d", 0, 0)


# --- one function each: does it let `amount` pass under this limit? -------------------------------------------------------


def inbox_octets(limits: Limits, amount: int) -> bool:
    peer = at_server(limits)
    peer.connection.receive_data(bytes([15, 0, 255, 255]) + bytes(amount - 4))
    return peer.connection.wants_data


def handshake_inbox_octets(limits: Limits, amount: int) -> bool:
    connection = ServerConnection(ServerConfig(limits=limits))
    connection.receive_data(HEADER)
    assert list(connection.events()) == []
    connection.receive_data(bytes([15, 0, 255, 255]) + bytes(amount - 4))
    return connection.wants_data


def start_ok(amount: int) -> bytes:
    """A start-ok of so many octets, with a response as long as that takes."""
    empty = len(LAYOUT.encode_control(StartOk({}, "ANONYMOUS", b"", "en_US")))
    return LAYOUT.encode_control(StartOk({}, "ANONYMOUS", bytes(amount - empty), "en_US"))


def handshake_octets(limits: Limits, amount: int) -> bool:
    peer = ScriptedPeer(ServerConnection(ServerConfig(limits=limits)))
    return judged("handshake_octets", peer.say(HEADER, frame_control(0, start_ok(amount), 65535)))


def handshake_octets_in_many_frames(limits: Limits, amount: int) -> bool:
    payload = start_ok(amount)
    cut = [payload[at : at + 7] for at in range(0, amount, 7)]
    frames = bytearray()
    for at, piece in enumerate(cut):
        flags = 12 | (2 if at == 0 else 0) | (1 if at == len(cut) - 1 else 0)
        frames += bytes([flags, 0]) + (12 + len(piece)).to_bytes(2) + bytes(8) + piece
    peer = ScriptedPeer(ServerConnection(ServerConfig(limits=limits)))
    return judged("handshake_octets", peer.say(HEADER, bytes(frames)))


def handshake_octets_at_the_client(limits: Limits, amount: int) -> bool:
    empty = len(LAYOUT.encode_control(Start({"k": ""}, ("ANONYMOUS",), ("en_US",))))
    peer = ScriptedPeer(ClientConnection(ClientConfig(limits=limits)))
    said = Start({"k": "x" * (amount - empty)}, ("ANONYMOUS",), ("en_US",))
    return judged("handshake_octets", peer.say(HEADER, frame_control(0, LAYOUT.encode_control(said), 65535)))


def body_frames(sizes: list[int], channel: int = ONE, last: bool = True, kind: int = 3) -> bytes:
    """A transfer whose command is 9 octets, and the body frames of so many octets."""
    octets = bytearray(frame_command(channel, LAYOUT.encode_command(EXPLICIT, False), None, b"x")[0])
    for at, size in enumerate(sizes):
        flags = (2 if at == 0 else 0) | (5 if last and at == len(sizes) - 1 else 4)
        octets += bytes([flags, kind]) + (12 + size).to_bytes(2) + b"\0\1" + channel.to_bytes(2) + bytes(4) + bytes(size)
    return bytes(octets)


COMMAND: Final = len(LAYOUT.encode_command(EXPLICIT, False))


def assembly_octets(limits: Limits, amount: int) -> bool:
    body = amount - COMMAND
    return judged("assembly_octets", attached(limits).say(body_frames([body // 2, body - body // 2])))


def buffered_octets(limits: Limits, amount: int) -> bool:
    peer = attached(limits)
    peer.say(Attach(b"t"), channel=2)
    peer.say(CommandPoint(0, 0), channel=2)
    first, second = amount // 2 - COMMAND, amount - amount // 2 - COMMAND
    return judged("buffered_octets", peer.say(body_frames([first], 1, last=False), body_frames([second], 2, last=False)))


def header_octets(limits: Limits, amount: int) -> bool:
    def transfer(octets: int) -> bytes:
        struct = (octets - 4).to_bytes(4) + b"\x00\x63" + bytes(octets - 6)  # of a class that nobody knows
        return b"".join(frame_command(ONE, LAYOUT.encode_command(EXPLICIT, False), struct, b"x"))

    return judged("header_octets", attached(limits).say(transfer(8) + transfer(amount)))  # the second command is known


def header_structs(limits: Limits, amount: int) -> bool:
    frames = frame_command(ONE, LAYOUT.encode_command(EXPLICIT, False), b"\0\0\0\2\0\x63" * amount, b"x")
    return judged("header_structs", attached(limits).say(b"".join(frames)))


def empty_frames(limits: Limits, amount: int) -> bool:
    return judged("empty_frames", attached(limits).say(body_frames([0] * amount + [3])))


def nesting(limits: Limits, amount: int) -> bool:
    octets = bytes(4)
    for _ in range(amount - 1):
        octets = b"\0\0\0\1\1k\xa8" + len(octets).to_bytes(4) + octets
    declare = b"\x08\x01\x01\x00\x40\x00" + len(octets).to_bytes(4) + octets
    return judged("nesting", attached(limits).say(b"".join(frame_command(ONE, declare, None, None))))


def zero_width_elements(limits: Limits, amount: int) -> bool:
    octets = b"\0\0\0\1\1k\xaa\0\0\0\5\xf0" + amount.to_bytes(4)
    declare = b"\x08\x01\x01\x00\x40\x00" + len(octets).to_bytes(4) + octets
    return judged("zero_width_elements", attached(limits).say(b"".join(frame_command(ONE, declare, None, None))))


def every_other(amount: int) -> RangeSet:
    return RangeSet.of(*range(0, 2 * amount, 2))


def ranges(limits: Limits, amount: int) -> bool:
    return judged("ranges", attached(limits).say(message.Release(every_other(amount)), channel=ONE))


def ranges_kept(limits: Limits, amount: int) -> bool:
    """Holes in what came."""
    points = [CommandPoint(2 * at, 0) for at in range(1, amount + 1)]
    said: list[Word] = [word for point in points for word in (point, execution.Sync())]
    return judged("ranges", attached(limits).say(*said, channel=ONE))


def ranges_known(limits: Limits, amount: int) -> bool:
    """What the other side says is complete, and we have not said that we know."""
    peer, session = client_session(limits)
    for _ in range(100):
        session.sync()
    completed = [Completed(RangeSet.of(2 * at)) for at in range(amount)]
    return judged("ranges", peer.say(*completed, channel=ONE))


def replay_octets(limits: Limits, amount: int) -> bool:
    _, session = client_session(limits, timeout=None)
    return refused("replay_octets", lambda: session.send(message.Transfer("d", 1, 0), body=bytes(amount - COMMAND)))


def replay_commands(limits: Limits, amount: int) -> bool:
    _, session = client_session(limits, timeout=None)
    for _ in range(amount - 1):
        session.sync()
    return refused("replay_commands", session.sync)


def early_octets(limits: Limits, amount: int) -> bool:
    """Of a command that comes before the server has heard what is expected."""
    server = ServerConnection(ServerConfig(limits=limits, session_timeout=60))
    peer = ScriptedPeer(server)
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    peer.say(Attach(b"s"), RequestTimeout(60), CommandPoint(0, 0), channel=ONE)
    (session,) = server.sessions
    peer.say(Detach(b"s"), channel=ONE)
    server.receive_data(peer.octets_of(Attach(b"s"), ONE))
    server.next_event()
    server.accept(b"s", resume=session)
    empty = len(LAYOUT.encode_command(queue.Declare(""), False))
    said = [queue.Declare("x" * 40), queue.Declare("x" * (amount - 2 * empty - 40))]
    return judged("early_octets", peer.say(CommandPoint(0, 0), *said, channel=ONE))


def discarded(connection: ServerConnection | ClientConnection, amount: int) -> tuple[ScriptedPeer, Word]:
    """The peer of a connection on whose channel a session broke a rule, and a command of so many octets for it."""
    peer = ScriptedPeer(connection)
    client = connection if isinstance(connection, ClientConnection) else None
    opening: list[Word] = [Start({}, ("ANONYMOUS",), ("en_US",)), Tune(65535, 65535, 0, 0), OpenOk(())]
    peer.say(HEADER, *(opening if client else [StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open("")]))
    if client is not None:
        client.session(b"s")
    peer.say(Attached(b"s") if client else Attach(b"s"), CommandPoint(0, 0), channel=ONE)
    assert violations(peer.say(Completed(RangeSet.of(7)), channel=ONE))
    transfer = LAYOUT.encode_command(message.Transfer("d", 1, 0), False)
    body = b"x" * (amount - len(transfer) - FRAME_HEADER_SIZE)
    return peer, b"".join(frame_command(ONE, transfer, None, body))


def discarded_octets(limits: Limits, amount: int) -> bool:
    peer, said = discarded(ServerConnection(ServerConfig(limits=limits)), amount)
    return judged("discarded_octets", peer.say(said))


def discarded_octets_at_the_client(limits: Limits, amount: int) -> bool:
    peer, said = discarded(ClientConnection(ClientConfig(limits=limits)), amount)
    return judged("discarded_octets", peer.say(said))


def discarded_octets_of_an_assembly_under_way(limits: Limits, amount: int) -> bool:
    """What was begun for the session is passed over up to its end, frame by frame."""
    server = ServerConnection(ServerConfig(limits=limits))
    peer = ScriptedPeer(server)
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    peer.say(Attach(b"s"), CommandPoint(0, 0), channel=ONE)
    begun, *_ = frame_command(ONE, LAYOUT.encode_command(message.Transfer("d", 1, 0), False), None, b"x")
    peer.say(begun, peer.octets_of(Completed(RangeSet.of(7)), ONE))
    rest = amount - FRAME_HEADER_SIZE
    return judged("discarded_octets", peer.say(bytes([0x06, 3, 0, 12 + rest, 0, 1, 0, ONE]) + bytes(4 + rest)))


class Endless:
    """A mechanism of as many rounds as the client likes."""

    name = "ENDLESS"
    security_layer = False
    done = True

    def __init__(self, rounds: int = 0) -> None:
        self.rounds = rounds

    def start(self) -> Endless:
        return self

    def initial(self) -> bytes | None:
        return b""

    def step(self, response: bytes | None) -> Any:  # the server's half and the client's answer differently
        self.rounds -= 1
        return Challenge(b"?") if self.rounds >= 0 else Accepted("me")


class EndlessClient(Endless):
    def step(self, response: bytes | None) -> Any:
        return b"!"


def sasl_rounds(limits: Limits, amount: int) -> bool:
    peer = ScriptedPeer(ServerConnection(ServerConfig(mechanisms=(Endless(amount),), limits=limits)))
    said: list[Word] = [HEADER, StartOk({}, "ENDLESS", b"", "en_US"), *([SecureOk(b"!")] * amount)]
    return judged("sasl_rounds", peer.say(*said))


def sasl_rounds_at_the_client(limits: Limits, amount: int) -> bool:
    mechanisms: tuple[ClientMechanism, ...] = (EndlessClient(),)
    peer = ScriptedPeer(ClientConnection(ClientConfig(mechanisms=mechanisms, limits=limits)))
    said: list[Word] = [HEADER, Start({}, ("ENDLESS",), ("en_US",)), *([Secure(b"?")] * amount)]
    return judged("sasl_rounds", peer.say(*said))


def sasl_octets(limits: Limits, amount: int) -> bool:
    peer = ScriptedPeer(ServerConnection(ServerConfig(limits=limits)))
    return judged("sasl_octets", peer.say(HEADER, StartOk({}, "ANONYMOUS", bytes(amount), "en_US")))


def sasl_octets_at_the_client(limits: Limits, amount: int) -> bool:
    mechanisms: tuple[ClientMechanism, ...] = (EndlessClient(),)
    peer = ScriptedPeer(ClientConnection(ClientConfig(mechanisms=mechanisms, limits=limits)))
    return judged("sasl_octets", peer.say(HEADER, Start({}, ("ENDLESS",), ("en_US",)), Secure(bytes(amount))))


def channels(limits: Limits, amount: int) -> bool:
    peer = at_client(limits)
    for at in range(amount - 1):
        peer.client.session(b"%d" % at)
    return refused("channels", lambda: peer.client.session(b"last"))


def channels_agreed_on(limits: Limits, amount: int) -> bool:
    """The other side may not use more than we agreed to, and is told so by the rule of the specification."""
    peer = at_server(limits)
    found = violations(peer.say(Attach(b"s"), channel=amount - 1))
    assert [each.rule for each in found] in ([], ["connection.tune-ok.channel-max.available-channels"])
    return not found


def sessions(limits: Limits, amount: int) -> bool:
    peer = at_client(limits)
    for at in range(amount - 1):
        peer.client.session(b"%d" % at)
    return refused("sessions", lambda: peer.client.session(b"last"))


def sessions_of_the_other_side(limits: Limits, amount: int) -> bool:
    peer = at_server(limits)
    events: list[Event] = []
    for at in range(amount):
        events += [event for event in peer.say(Attach(b"%d" % at), channel=at) if isinstance(event, ConnectionClosed)]
    return judged("sessions", events)


def incomplete_transfers(limits: Limits, amount: int) -> bool:
    return judged("incomplete_commands", attached(limits).say(*[EXPLICIT] * amount, channel=ONE))


def incomplete_commands(limits: Limits, amount: int) -> bool:
    return judged("incomplete_commands", attached(limits).say(*[queue.Declare("q")] * amount, channel=ONE))


def incomplete_syncs(limits: Limits, amount: int) -> bool:
    said: list[Word] = [queue.Declare("q"), *[execution.Sync()] * amount]
    return judged("incomplete_commands", attached(limits).say(*said, channel=ONE))


def lasts(conn: Connection, seconds: float) -> bool:
    """Whether it lives so many seconds after its first tick; and `tick` has told when it will not any more."""
    due = conn.tick(1000.0)
    conn.tick(1000.0 + seconds)
    events = list(conn.events())
    if events:
        (event,) = events
        assert isinstance(event, ConnectionClosed)
        assert event.origin is Origin.TIMEOUT
        assert due is not None
        assert due <= 1000.0 + seconds
    return not events


def handshake_seconds(limits: Limits, amount: int) -> bool:
    return lasts(ClientConnection(ClientConfig(limits=limits)), amount) and lasts(
        ServerConnection(ServerConfig(limits=limits)), amount
    )


def close_seconds(limits: Limits, amount: int) -> bool:
    conn = at_client(limits).connection
    conn.close()
    return lasts(conn, amount)


def detach_seconds(limits: Limits, amount: int) -> bool:
    """Whether a session that was refused is still waited for after so many seconds."""
    stage = staged(retry=NEVER, config=ClientConfig(heartbeat=0, limits=limits))
    talk = stage.open()
    refuse(stage, talk)
    stage.client.tick(stage.now + amount)
    return not talk.ended.done


def close_octets(limits: Limits, amount: int) -> bool:
    """Whether so many octets are read behind our close."""
    peer = attached(limits)
    peer.connection.close()
    return judged("close_octets", peer.say(ignored(amount)))


def answer_octets(limits: Limits, amount: int) -> bool:
    """Whether so many octets of attached, which the policy says, may wait to be taken."""
    server = ServerConnection(ServerConfig(limits=limits))
    peer = ScriptedPeer(server)
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, 0, 0), Open(""))
    peer.hear()
    size = len(frame_control(ONE, LAYOUT.encode_control(Attached(b""))))
    return judged("answer_octets", peer.say(Attach(bytes(amount - size)), channel=ONE))


def close_octets_after_a_violation(limits: Limits, amount: int) -> bool:
    """Whether they are read behind a close that tells of one: its answer is waited for."""
    peer = attached(limits)
    peer.say(frame_control(0, b"\1\x77"))
    assert peer.connection.lingers
    peer.say(ignored(amount))
    return peer.connection.lingers


def close_octets_before_open(limits: Limits, amount: int) -> bool:
    """Whether a stranger's are read when the connection is not open: `handshake_inbox_octets` at most."""
    few = attrs.evolve(limits, handshake_inbox_octets=limits.close_octets, close_octets=65536)
    peer = ScriptedPeer(ServerConnection(ServerConfig(limits=few)))
    peer.say(HEADER)
    peer.connection.close()
    return judged("close_octets", peer.say(ignored(amount)))


def ignored(amount: int) -> bytes:
    """So many octets of a control that says nothing behind a close."""
    return frame_control(0, b"\2" + bytes(amount - 13))


def named_hosts(limits: Limits, amount: int) -> bool:
    """Whether all hosts that a broker names are tried."""
    client = Client(ClientConfig(limits=limits), prefix="p", retry=RetryPolicy(attempts=1))
    trying = Attempts(client, Address.parse("amqp://own"), lambda: 0.0)
    client.known_hosts = tuple([f"amqp:tcp:h{number}:1" for number in range(amount)])
    assert trying.first().endpoint.host == "own"
    return len(trying._known()) == 1 + amount


def declared(limits: Limits, amount: int) -> bool:
    """Whether all that is declared is kept in mind."""
    topology = Topology(everything, limits.declared)
    try:
        for number in range(amount):
            method = methods.queue.Declare(f"q{number}", False, False, False, False, True, {}, 0)
            assert topology.must_have_room(method)
            topology.hear(method, None)
    except LimitError:
        assert len(topology) == limits.declared
    return len(topology) == amount


def cached_commands(limits: Limits, amount: int) -> bool:
    """Whether every transfer command that came is remembered."""
    peer = attached(limits)
    for at in range(amount):
        command = LAYOUT.encode_command(message.Transfer(f"d{at}", 1, 0), False)
        peer.say(b"".join(frame_command(ONE, command, b"\0\0\0\4\4\1\0\0", b"x")))
    reader = peer.connection._reader
    assert reader is not None
    assert len(reader.known) <= limits.cached_commands
    return len(reader.known) == amount


def subscriptions(limits: Limits, amount: int) -> bool:
    _, session = client_session(limits)
    for at in range(amount - 1):
        session.subscribe("q", f"d{at}")
    return refused("subscriptions", lambda: session.subscribe("q", "last"))


def subscriptions_of_the_other_side(limits: Limits, amount: int) -> bool:
    said = [message.Subscribe("q", f"d{at}", 0, 0) for at in range(amount)]
    return judged("subscriptions", attached(limits).say(*said, channel=ONE))


def consumers(limits: Limits, amount: int) -> bool:
    _, session = client_session(limits)
    for at in range(amount - 1):
        session.send(file.Consume("q", f"t{at}"))
    return refused("subscriptions", lambda: session.send(file.Consume("q", "last")))


def consumers_of_the_other_side(limits: Limits, amount: int) -> bool:
    said = [stream.Consume("q", f"t{at}") for at in range(amount)]
    return judged("subscriptions", attached(limits).say(*said, channel=ONE))


def incomplete_file_deliveries(limits: Limits, amount: int) -> bool:
    peer, session = client_session(limits)
    session.send(file.Consume("q", "t", nowait=True))
    session.send(file.Consume("q", "u", no_ack=True, nowait=True))
    deliveries = [file.Deliver("t", at + 1) for at in range(amount)]
    said: list[Word] = [CommandPoint(0, 0), *[file.Deliver("u", 1)] * 9, *deliveries]
    return judged("incomplete_commands", peer.say(*said, channel=ONE))


def incomplete_file_deliveries_of_ours(limits: Limits, amount: int) -> bool:
    peer = attached(limits)
    peer.say(file.Consume("q", "t", nowait=True), file.Open("f", 0), channel=ONE)
    (session,) = peer.server.sessions
    session.complete([0, 1])
    session.send(file.Open("f", 0))
    for at in range(amount - 1):
        session.send(file.Deliver("t", at + 1, identifier="f"))
    return refused("incomplete_commands", lambda: session.send(file.Deliver("t", 99, identifier="f")))


def staged_files(limits: Limits, amount: int) -> bool:
    """Whether a file that was never staged is refused: not when one of those that were may have been forgotten."""
    peer, session = client_session(limits)
    peer.say(CommandPoint(0, 0), channel=ONE)
    for at in range(amount):
        session.send(file.Open(f"f{at}", 0))
        peer.say(file.OpenOk(0), channel=ONE)
        session.send(file.Stage(), file.FileProperties())
    session.send(file.Publish("x", identifier=f"f{amount - 1}"))
    try:
        session.send(file.Publish("x", identifier="another"))
    except LocalProtocolError:
        return True
    return False


Room = Callable[[Limits, int], bool]
BELOW_AND_AT: Final = (True, True, False)
BELOW: Final = (True, False, False)
"""An inbox that holds as much as its limit is full; when a deadline is there, it is over."""


def suspended_branches(limits: Limits, amount: int) -> bool:
    peer = attached(limits)
    events = peer.say(dtx.Select(), channel=ONE)
    for number in range(amount):
        branch = dtx.Xid(0, bytes([number + 1]), b"")
        events += peer.say(dtx.Start(branch), dtx.End(branch, suspend=True), channel=ONE)
    return judged("suspended_branches", events)


def suspended_branches_of_ours(limits: Limits, amount: int) -> bool:
    _, session = client_session(limits)
    handle = session.select_dtx()

    def suspend() -> None:
        for number in range(amount):
            branch = dtx.Xid(0, bytes([number + 1]), b"")
            handle.start(branch)
            handle.end(branch, suspend=True)

    return refused("suspended_branches", suspend)


LIMITS: Final[dict[str, tuple[int, tuple[bool, bool, bool], tuple[Room, ...]]]] = {
    "inbox_octets": (1000, BELOW, (inbox_octets,)),
    "assembly_octets": (1000, BELOW_AND_AT, (assembly_octets,)),
    "buffered_octets": (1000, BELOW_AND_AT, (buffered_octets,)),
    "header_octets": (100, BELOW_AND_AT, (header_octets,)),
    "header_structs": (4, BELOW_AND_AT, (header_structs,)),
    "empty_frames": (4, BELOW_AND_AT, (empty_frames,)),
    "nesting": (4, BELOW_AND_AT, (nesting,)),
    "zero_width_elements": (4, BELOW_AND_AT, (zero_width_elements,)),
    "ranges": (
        4,
        BELOW_AND_AT,
        (
            ranges,
            ranges_kept,
            ranges_known,
            channels_limited.channel_ranges_of_a_transaction,
            channels_limited.channel_ranges_of_a_transaction_of_the_client,
        ),
    ),
    "replay_octets": (100, BELOW_AND_AT, (replay_octets,)),
    "replay_commands": (4, BELOW_AND_AT, (replay_commands,)),
    "early_octets": (100, BELOW_AND_AT, (early_octets,)),
    "discarded_octets": (
        100,
        BELOW_AND_AT,
        (discarded_octets, discarded_octets_at_the_client, discarded_octets_of_an_assembly_under_way),
    ),
    "sasl_rounds": (4, BELOW_AND_AT, (sasl_rounds, sasl_rounds_at_the_client)),
    "sasl_octets": (100, BELOW_AND_AT, (sasl_octets, sasl_octets_at_the_client)),
    "channels": (4, BELOW_AND_AT, (channels, channels_agreed_on, channels_limited.channels_of_a_client)),
    "calls": (
        4,
        BELOW_AND_AT,
        (
            channels_limited.channel_calls,
            channels_limited.channel_calls_of_the_client,
            channels_limited.channel_flows_in_a_content_of_ours,
            channels_limited.channel_cancels_in_a_content_of_ours,
        ),
    ),
    "deliveries": (
        4,
        BELOW_AND_AT,
        (
            channels_limited.channel_deliveries,
            channels_limited.channel_deliveries_of_the_server,
            channels_limited.channel_deliveries_that_are_got,
        ),
    ),
    "unconfirmed": (4, BELOW_AND_AT, (channels_limited.unconfirmed,)),
    "sessions": (4, BELOW_AND_AT, (sessions, sessions_of_the_other_side)),
    "incomplete_commands": (
        4,
        BELOW_AND_AT,
        (
            incomplete_transfers,
            incomplete_commands,
            incomplete_syncs,
            incomplete_file_deliveries,
            incomplete_file_deliveries_of_ours,
        ),
    ),
    "handshake_octets": (
        200,
        BELOW_AND_AT,
        (handshake_octets, handshake_octets_in_many_frames, handshake_octets_at_the_client),
    ),
    "handshake_inbox_octets": (1000, BELOW, (handshake_inbox_octets,)),
    "handshake_seconds": (5, BELOW, (handshake_seconds,)),
    "close_seconds": (5, BELOW, (close_seconds,)),
    "detach_seconds": (5, BELOW, (detach_seconds,)),
    "close_octets": (1000, BELOW_AND_AT, (close_octets, close_octets_after_a_violation, close_octets_before_open)),
    "answer_octets": (100, BELOW_AND_AT, (answer_octets, channels_limited.answer_octets)),
    "named_hosts": (4, (True, True, False), (named_hosts,)),
    "cached_commands": (4, BELOW_AND_AT, (cached_commands,)),
    "subscriptions": (
        4,
        BELOW_AND_AT,
        (
            subscriptions,
            subscriptions_of_the_other_side,
            consumers,
            consumers_of_the_other_side,
            channels_limited.channel_consumers,
            channels_limited.channel_consumers_of_the_client,
        ),
    ),
    "suspended_branches": (4, BELOW_AND_AT, (suspended_branches, suspended_branches_of_ours)),
    "staged_files": (4, BELOW_AND_AT, (staged_files,)),
    "declared": (4, BELOW_AND_AT, (declared,)),
}

ROOMS: Final = [(name, room) for name, (_, _, rooms) in LIMITS.items() for room in rooms]
NAMES: Final = [field.name for field in attrs.fields(Limits)]


@pytest.mark.parametrize(("name", "room"), ROOMS, ids=[room.__name__ for _, room in ROOMS])
def test_below_at_and_beyond_the_limit(name: str, room: Room) -> None:
    value, expected, _ = LIMITS[name]
    limits = attrs.evolve(DEFAULT_LIMITS, **{name: value})
    assert tuple([room(limits, amount) for amount in (value - 1, value, value + 1)]) == expected


def test_every_limit_has_its_row() -> None:
    assert set(NAMES) == set(LIMITS)


@pytest.mark.parametrize("name", NAMES)
def test_a_default_is_positive_and_can_be_replaced(name: str) -> None:
    default = getattr(DEFAULT_LIMITS, name)
    assert default > 0
    assert getattr(attrs.evolve(DEFAULT_LIMITS, **{name: 1}), name) == 1


def test_limits_are_frozen() -> None:
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        DEFAULT_LIMITS.nesting = 1  # type: ignore[misc]  # that is the point


def test_the_frame_sizes_of_the_specification() -> None:
    assert (MIN_MAX_FRAME_SIZE, MAX_FRAME_SIZE) == (4096, 65535)
