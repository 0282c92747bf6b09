"""Turns a capture file into rows: one for each protocol header, control, command, method or opaque part, in the order in which
the last octet of each was captured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Final, NotRequired, TypeAlias, TypedDict

from amqp_sansio.captures.conversation import LocatedEvent, MakeWitness
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.json_values import Json, fields, struct
from amqp_sansio.captures.reader import Told, read_packets
from amqp_sansio.captures.walk import Warn
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen, ControlSeen, HeaderSeen, MethodSeen, OpaqueSeen
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.wire.layouts.layout import decode_headers


class DecodedLine(TypedDict):
    """One line of `decode --json`."""

    file: str
    packet: int
    time: int
    connection: str
    speaker: str
    channel: int | None
    kind: str
    verb: str | None
    command_id: int | None
    sync: bool
    complete: bool
    fields: dict[str, Json]
    headers: list[Json]
    body_octets: int
    body: NotRequired[str]
    body_hex: NotRequired[str]


BODIES: Final = ("none", "text", "hex")
"""How a row includes the body of a message: not at all; as `body` where it is UTF-8, else as `body_hex`; as `body_hex`."""


def row_of(file: str, connection: str, heard: LocatedEvent, secrets: bool = False, bodies: str = "none") -> DecodedLine | None:
    """Returns the row of an observation; None for violations and notes, which `check` reports.

    Without `secrets`, SASL responses and challenges appear as their length in octets.  `bodies` is one of BODIES.
    """
    said = heard.said
    row: DecodedLine = {
        "file": file,
        "packet": heard.packet,
        "time": heard.time,
        "connection": connection,
        "speaker": heard.speaker,
        "channel": None,
        "kind": "command",
        "verb": None,
        "command_id": None,
        "sync": False,
        "complete": True,
        "fields": {},
        "headers": [],
        "body_octets": 0,
    }
    word: ValueObject | None
    if isinstance(said, CommandSeen):
        word = said.command
        row["command_id"], row["sync"] = said.id, bool(said.sync)
        if said.header:
            row["headers"] = headers_of(said.header)
    elif isinstance(said, MethodSeen):
        row["kind"], word = "method", said.method
        if said.header is not None:
            row["headers"] = [properties_of(said.verb, said.properties, said.header)]
    elif isinstance(said, ControlSeen):
        row["kind"], word = "control", said.control
    elif isinstance(said, HeaderSeen):
        row["kind"], row["complete"] = "header", len(said.octets) == 8
        row["fields"] = {"octets": said.octets.hex(), "version": said.version}
        return row
    elif isinstance(said, OpaqueSeen):
        row["kind"], row["fields"] = "opaque", {"reason": said.reason}
        return row
    else:
        return None
    row["channel"], row["verb"], row["complete"] = said.channel, said.verb, said.complete
    if word is not None:
        row["fields"] = fields(word, secrets)
    if isinstance(said, CommandSeen | MethodSeen) and said.body:
        row["body_octets"] = len(said.body)
        if bodies != "none":
            _add_body(row, bytes(said.body), bodies == "text")
    return row


def _add_body(row: DecodedLine, body: bytes, as_text: bool) -> None:
    if as_text:
        try:
            row["body"] = body.decode()
        except UnicodeDecodeError:
            pass
        else:
            return
    row["body_hex"] = body.hex()


def properties_of(verb: str, properties: ValueObject | None, header: bytes) -> Json:
    """Returns the properties of a content header; its octets when it could not be decoded."""
    if properties is None:
        return {"struct": None, "octets": header.hex()}
    return {"struct": f"{verb.partition('.')[0]}.properties", **fields(properties)}


def headers_of(segment: bytes) -> list[Json]:
    """Returns the structs of a header segment; its octets when it cannot be decoded."""
    try:
        return [struct(each) for each in decode_headers(segment, 0, len(segment))]
    except DecodeError:
        return [{"struct": None, "octets": segment.hex()}]


HELD_ROWS: Final = 8192
"""Rows that may wait for an earlier one that is still incomplete; beyond it they come out of order."""
HELD_OCTETS: Final = 8 * 1024 * 1024
"""The same in octets, on the wire, of their headers, arguments and, if included, bodies."""

_Entry: TypeAlias = tuple[int, int, int, AmqpFlow, DecodedLine]


def transcript(
    path: str,
    make: MakeWitness,
    ports: Iterable[int],
    warn: Warn,
    secrets: bool = False,
    told: Told | None = None,
    bodies: str = "none",
) -> Iterator[tuple[AmqpFlow, DecodedLine]]:
    """Yields a row for each observation in the file at `path`, as its packets are read, in bounded memory.

    `make` makes the observer of a conversation; connections to the server `ports` always count as AMQP; `told` is called with
    the progress; `bodies` is one of `rows.BODIES`.  Raises CaptureError when the file cannot be read, or not to its end, after
    the rows before the fault.
    """
    waiting: list[_Entry] = []
    count = octets = 0

    def tell(flow: AmqpFlow, heard: LocatedEvent) -> None:
        nonlocal count, octets
        row = row_of(path, flow.name, heard, secrets, bodies)
        if row is not None:
            count += 1
            said = heard.said
            weight = 0
            if isinstance(said, CommandSeen | MethodSeen):
                weight = len(said.header or b"") + len(said.payload)
                if bodies != "none":
                    weight += len(said.body or b"")
            octets += weight
            heappush(waiting, (heard.packet, count, weight, flow, row))

    listener = Listener(make, tell, lambda flow: None, ports, warn)
    for ended in listener.hear_all(read_packets(path, warn, told)):
        if waiting:
            floor = listener.floor()
            while waiting and (ended or waiting[0][0] < floor or len(waiting) > HELD_ROWS or octets > HELD_OCTETS):
                _, _, weight, flow, row = heappop(waiting)
                octets -= weight
                yield flow, row
