"""Writes synthetic captures: packets of every link layer, pcap and pcapng files of every flavour."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT, SERVER = "10.0.0.1", "10.0.0.2"
CLIENT_PORT, SERVER_PORT = 40000, 5672
CLIENT_ISN, SERVER_ISN = 0xFFFFFF00, 0x7FFFFFF0
START_NS = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class Segment:
    """A TCP segment: from the client (else from the server); `sequence` counts from the initial sequence number."""

    from_client: bool
    sequence: int
    octets: bytes = b""
    flags: int = ACK
    acknowledged: int = 0
    client_port: int = CLIENT_PORT
    client_isn: int = CLIENT_ISN
    server_isn: int = SERVER_ISN
    client: str = CLIENT
    server: str = SERVER
    server_port: int = SERVER_PORT
    keep: int | None = None  # octets of the payload that are captured (snaplen)


def tcp(segment: Segment) -> bytes:
    ends = (segment.client_port, segment.server_port)
    mine, theirs = segment.client_isn, segment.server_isn
    if not segment.from_client:
        ends, (mine, theirs) = ends[::-1], (theirs, mine)
    head = struct.pack(
        ">HHIIBBHHH",
        *ends,
        (mine + segment.sequence) & 0xFFFFFFFF,
        (theirs + segment.acknowledged) & 0xFFFFFFFF if segment.flags & ACK else 0,
        8 << 4,
        segment.flags,
        65535,
        0,
        0,
    )
    return head + b"\x01" * 12 + segment.octets  # options: twelve no-operations


def ip(segment: Segment, *, options: bytes = b"", extensions: Sequence[tuple[int, bytes]] = (), fragment: int = 0) -> bytes:
    """The IP packet: version by the addresses.  `extensions` of IPv6 are (protocol number, octets without the next header)."""
    payload = tcp(segment)
    ends = ip_address(segment.client), ip_address(segment.server)
    source, target = ends if segment.from_client else ends[::-1]
    if source.version == 4:
        words = 5 + len(options) // 4
        head = struct.pack(">BBHHHBBH", 0x40 | words, 0, words * 4 + len(payload), 1, fragment, 64, 6, 0)
        return head + source.packed + target.packed + options + payload
    kinds = [number for number, _ in extensions] + [6]
    chain = b"".join(bytes([following]) + octets for following, (_, octets) in zip(kinds[1:], extensions, strict=True))
    head = struct.pack(">IHBB", 0x60000000, len(chain) + len(payload), kinds[0], 64)
    return head + source.packed + target.packed + chain + payload


def authenticated(packet: bytes, following: int | None = None) -> bytes:
    """An IPv4 packet with an authentication header (AH) behind its own; what that names, or `following`, stands in it."""
    size = struct.pack(">H", int.from_bytes(packet[2:4]) + 24)
    header = bytes([packet[9] if following is None else following, 4]) + bytes(22)
    return packet[:2] + size + packet[4:9] + bytes([51]) + packet[10:20] + header + packet[20:]


def ethernet(packet: bytes, tags: Sequence[int] = (), pad: bool = True) -> bytes:
    kind = b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"
    frame = b"\x02" * 12 + b"".join(struct.pack(">HH", tag, 7) for tag in tags) + kind + packet
    return frame.ljust(60, b"\xee") if pad else frame


def link(kind: str, packet: bytes) -> tuple[int, bytes]:
    """(LINKTYPE, frame) of an IP packet; `kind` names the link layer, see LINKS."""
    six = packet[0] >> 4 == 6
    ether = b"\x86\xdd" if six else b"\x08\x00"
    family = 30 if six else 2
    layers: dict[str, Callable[[], tuple[int, bytes]]] = {
        "ethernet": lambda: (1, ethernet(packet)),
        "vlan": lambda: (1, ethernet(packet, [0x8100])),
        "qinq": lambda: (1, ethernet(packet, [0x88A8, 0x8100])),
        "null-little": lambda: (0, struct.pack("<I", family) + packet),
        "null-big": lambda: (0, struct.pack(">I", family) + packet),
        "loop": lambda: (108, struct.pack(">I", family) + packet),
        "sll": lambda: (113, b"\0\0\3\4\0\6" + b"\0" * 8 + ether + packet),
        "sll-vlan": lambda: (113, b"\0\0\3\4\0\6" + b"\0" * 8 + b"\x81\x00\x00\x07" + ether + packet),
        "sll2": lambda: (276, ether + b"\0\0" + b"\0\0\0\1\3\4\0\6" + b"\0" * 8 + packet),
        "sll2-vlan": lambda: (276, b"\x81\x00\0\0" + b"\0\0\0\1\3\4\0\6" + b"\0" * 8 + b"\x00\x07" + ether + packet),
        "raw": lambda: (101, packet),
        "raw-12": lambda: (12, packet),
        "raw-14": lambda: (14, packet),
        "ip": lambda: (229 if six else 228, packet),
    }
    return layers[kind]()


LINKS = (
    "ethernet", "vlan", "qinq", "null-little", "null-big", "loop", "sll", "sll-vlan", "sll2", "sll2-vlan",
    "raw", "raw-12", "raw-14", "ip",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """A captured packet, on its way into a file."""

    link: int
    data: bytes
    original: int
    time: int


def records(segments: Iterable[Segment], kind: str = "ethernet", step: int = 1_000_000) -> list[Record]:
    """A packet for each segment, `step` nanoseconds apart."""
    made = []
    for index, segment in enumerate(segments):
        number, data = link(kind, ip(segment))
        original = len(data)
        if segment.keep is not None:
            data = data[: len(data) - len(segment.octets) + segment.keep]
        made.append(Record(number, data, original, START_NS + index * step))
    return made


def pcap(packets: Sequence[Record], order: str = "<", nano: bool = False, version: tuple[int, int] = (2, 4)) -> bytes:
    kind = packets[0].link if packets else 1
    out = [struct.pack(order + "IHHIIII", 0xA1B23C4D if nano else 0xA1B2C3D4, *version, 0, 0, 262144, kind)]
    for packet in packets:
        seconds, rest = divmod(packet.time, 1_000_000_000)
        out += (
            struct.pack(order + "IIII", seconds, rest if nano else rest // 1000, len(packet.data), packet.original),
            packet.data,
        )
    return b"".join(out)


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += b"\0" * (-len(body) % 4)
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(kind: int, order: str = "<", resolution: int | None = None, offset: int | None = None, snaplen: int = 0) -> bytes:
    options = struct.pack(order + "HH", 2, 3) + b"eth\0"
    if resolution is not None:
        options += struct.pack(order + "HHBxxx", 9, 1, resolution)
    if offset is not None:
        options += struct.pack(order + "HHq", 14, 8, offset)
    return block(1, struct.pack(order + "HHI", kind, 0, snaplen) + options + b"\0\0\0\0", order)


def enhanced(packet: Record, order: str = "<", which: int = 0, ticks: int | None = None) -> bytes:
    ticks = packet.time // 1000 if ticks is None else ticks
    head = struct.pack(order + "IIIII", which, ticks >> 32, ticks & 0xFFFFFFFF, len(packet.data), packet.original)
    padded = packet.data + b"\0" * (-len(packet.data) % 4)
    return block(6, head + padded + struct.pack(order + "HH", 1, 2) + b"hi\0\0" + b"\0\0\0\0", order)


def old(packet: Record, order: str = "<", which: int = 0) -> bytes:
    ticks = packet.time // 1000
    head = struct.pack(order + "HHIIII", which, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(packet.data), packet.original)
    return block(2, head + packet.data, order)


def simple(packet: Record, order: str = "<") -> bytes:
    return block(3, struct.pack(order + "I", packet.original) + packet.data, order)


def pcapng(packets: Sequence[Record], order: str = "<") -> bytes:
    kind = packets[0].link if packets else 1
    return section(order) + interface(kind, order) + b"".join(enhanced(packet, order) for packet in packets)


class Talk:
    """A TCP conversation as a list of segments, as a sane pair of hosts would have it."""

    def __init__(self, base: Segment = Segment(True, 0), chunk: int = 1460) -> None:
        self.base = base
        self.chunk = chunk
        self.segments: list[Segment] = []
        self.at = {True: 0, False: 0}

    def add(self, from_client: bool, octets: bytes = b"", flags: int = ACK) -> None:
        self.segments.append(
            replace(
                self.base,
                from_client=from_client,
                sequence=self.at[from_client],
                acknowledged=self.at[not from_client],
                octets=octets,
                flags=flags,
            )
        )
        self.at[from_client] += len(octets) + bool(flags & (SYN | FIN))

    def open(self) -> Talk:
        self.add(True, flags=SYN)
        self.add(False, flags=SYN | ACK)
        self.add(True)
        return self

    def say(self, from_client: bool, octets: bytes) -> Talk:
        for start in range(0, len(octets), self.chunk):
            self.add(from_client, octets[start : start + self.chunk], ACK | PSH)
        self.add(not from_client)
        return self

    def close(self) -> Talk:
        self.add(True, flags=FIN | ACK)
        self.add(False, flags=FIN | ACK)
        self.add(True)
        return self


def frame(payload: bytes, channel: int = 0, track: int = 0, kind: int | None = None, flags: int = 0x0F) -> bytes:
    """A frame of AMQP 0-10; a control or command by its track unless `kind` says so."""
    return struct.pack(">BBHBBHI", flags, track if kind is None else kind, len(payload) + 12, 0, track, channel, 0) + payload


HEADER = b"AMQP\x01\x01\x00\x0a"
START = bytes.fromhex(
    "0f000043000000000000000001010700000000040000000000000017950000000200"
    "09414e4f4e594d4f55530005504c41494e0000000c950000000100056"
    "56e5f5553"
)
START_OK = bytes.fromhex("0f00002c000000000000000001020f0000000004000000000" + "9414e4f4e594d4f55530000000005656e5f5553")
TUNE = bytes.fromhex("0f000018000000000000000001050f00fffeffff00000078")
TUNE_OK = bytes.fromhex("0f0000160000000000000000010607" + "00fffeffff0000")
OPEN = bytes.fromhex("0f00001200000000000000000107" + "0100012f")
OPEN_OK = bytes.fromhex("0f00001000000000000000000108" + "0000")
ATTACH = bytes.fromhex("0f0000130000000100000000020101" + "00000173")
ATTACHED = bytes.fromhex("0f0000130000000100000000020201" + "00000173")
POINT = bytes.fromhex("0f00001c0000000100000000020703" + "00" + "00" * 12)
HEARTBEAT = bytes.fromhex("0f00001000000000000000" + "00010a0000")
SYNC = bytes.fromhex("0f010012000100010000000003010101" + "0000")
CLOSE = bytes.fromhex("0f00001500000000000000" + "00010b030000c8024f4b")
CLOSE_OK = bytes.fromhex("0f00001000000000000000" + "00010c0000")


def transfer(body: bytes, channel: int = 1) -> bytes:
    """A message.transfer to destination "" with a routing key and a body in one frame."""
    command = bytes.fromhex("040101000700000100")
    header = bytes.fromhex("00000007040110020201" + "71")
    return (
        frame(command, channel, 1, flags=0x0B)
        + frame(header, channel, 1, kind=2, flags=0x03)
        + frame(body, channel, 1, kind=3, flags=0x07)
    )


def completed(last: int) -> bytes:
    """session.completed of the commands 0 to `last`."""
    return frame(bytes.fromhex("020a01000008") + struct.pack(">II", 0, last), 1)


def conversation(
    messages: Sequence[bytes] = (b"one", b"two", b"three"), base: Segment = Segment(True, 0), chunk: int = 1460
) -> Talk:
    """A whole sane conversation of AMQP 0-10 that sends `messages`."""
    talk = Talk(base, chunk).open()
    talk.say(True, HEADER).say(False, HEADER + START).say(True, START_OK).say(False, TUNE).say(True, TUNE_OK + OPEN)
    talk.say(False, OPEN_OK).say(True, ATTACH).say(False, ATTACHED).say(True, POINT)
    for number, message in enumerate(messages):
        talk.say(True, transfer(message))
        talk.say(False, completed(number))
    return talk.say(True, CLOSE).say(False, CLOSE_OK).close()


def write(path: Path, octets: bytes) -> str:
    path.write_bytes(octets)
    return str(path)
