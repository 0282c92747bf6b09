"""A conversation as octets, and what an observer says of it, in words."""

from __future__ import annotations

from amqp_sansio.dialects import AMQP_0_10, HEADERS
from amqp_sansio.engine.observer import Observed, Observer, Speaker
from amqp_sansio.events import CommandSeen, ControlSeen, HeaderSeen, Note, Violation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close, CloseOk, Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.message import DeliveryProperties, Flow, Subscribe, Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Completed, Detach, Detached
from amqp_sansio.wire.segments import frame_command, frame_control

HEADER = HEADERS["0-10"]


LAYOUT = AMQP_0_10.codec


Said = tuple[Speaker, bytes]


def control(control: Control, channel: int = 0) -> bytes:
    return frame_control(channel, LAYOUT.encode_control(control))


def command(command: Command, header: bytes | None = None, body: bytes | None = None, max_frame: int = 65535) -> bytes:
    return b"".join(frame_command(1, LAYOUT.encode_command(command, False), header, body, max_frame))


def opening(mechanism: str = "ANONYMOUS", max_frame: int = 65535) -> list[Said]:
    return [
        ("C", HEADER),
        ("S", HEADER),
        ("S", control(Start({}, (mechanism,), ("en_US",)))),
        ("C", control(StartOk({}, mechanism, b"", "en_US"))),
        ("S", control(Tune(100, max_frame, 0, 120))),
        ("C", control(TuneOk(100, max_frame, 0)) + control(Open("/"))),
        ("S", control(OpenOk())),
    ]


ATTACH: list[Said] = [
    ("C", control(Attach(b"s"), 1)),
    ("S", control(Attached(b"s"), 1) + control(CommandPoint(0, 0), 1)),
    ("C", control(CommandPoint(0, 0), 1)),
]


HEADERS_OCTETS = LAYOUT.encode_struct32(DeliveryProperties(routing_key="q"))


WORK: list[Said] = [
    ("C", command(Declare("q")) + command(Subscribe("q", "d")) + command(Flow("d", 0, 5)) + command(Flow("d", 1, 0xFFFFFFFF))),
    ("C", command(Transfer(""), HEADERS_OCTETS, b"hello" * 2000, 4096)),
    ("S", control(Completed(RangeSet([(0, 4)])), 1)),
    ("S", command(Transfer("d"), HEADERS_OCTETS, b"hello" * 2000, 4096)),
    ("C", control(Completed(RangeSet([(0, 0)])), 1)),
]


ENDING: list[Said] = [
    ("C", control(Detach(b"s"), 1)),
    ("S", control(Detached(b"s", 0), 1)),
    ("C", control(Close(200))),
    ("S", control(CloseOk())),
]


WHOLE = [*opening(), *ATTACH, *WORK, *ENDING]


def observe(said: list[Said], watch: Observer | None = None, piece: int = 0, end: bool = True) -> list[Observed]:
    watch = watch or Observer()
    found = []
    for speaker, octets in said:
        step = piece or len(octets) or 1
        for at in range(0, len(octets), step):
            watch.receive_data(speaker, octets[at : at + step])
            found += list(watch.events())
    if end:
        watch.receive_eof("S")
        watch.receive_eof("C")
        found += list(watch.events())
    return found


def words(found: list[Observed]) -> list[str]:
    """One word each: "C header", "S connection.start", "C !rule" for a violation, "C ?rule" for a note, "C opaque"."""
    said = []
    for speaker, _, _, event in found:
        if isinstance(event, HeaderSeen):
            word = "header"
        elif isinstance(event, ControlSeen | CommandSeen):
            word = event.verb + ("" if event.complete else " broken")
        elif isinstance(event, Violation):
            word = "!" + event.rule
        elif isinstance(event, Note):
            word = "?" + event.rule
        elif isinstance(event, FrameSeen):
            word = f"frame {event.kind} {event.verb}"
        else:
            word = "opaque"
        said.append(f"{speaker} {word}")
    return said
