"""Every method, content header and property of the 80 recordings of RabbitMQ is read, and written again to the same octets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.conformance.channels import CAPTURES, files
from tests.conformance.test_observer_on_captures import turns

from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.method_frames import CONTENT_HEADER, FRAME_HEAD, METHOD
from amqp_sansio.wire.primitives import u16, u64

SPOKEN = {"0-8": AMQP_0_8_UNBIND, "0-9": AMQP_0_9_RABBITMQ, "0-9-1": AMQP_0_9_1}
"""What RabbitMQ speaks in each."""

SPEAKERS: Final[tuple[Speaker, ...]] = ("C", "S")

REFUSED: dict[str, list[str]] = {
    "raw-close_cross": ["method 99.1: no method has this class and number"] * 2,
    "raw-conn_err": [
        "method 99.1: no method has this class and number",
        "method 50.99: no method has this class and number",
        "queue.declare.queue: needs 200 octets, 2 are left",
        "queue.purge: 4 octets stand behind its last argument",
        "header of class 10",
        "header: its 14 properties have no further word of flags",
    ],
    "raw-cut": ["method 99.1: no method has this class and number"],
    "raw-tabbad": [
        "queue.declare.arguments['k']: tables of rabbitmq have no letter 'U'",
        "queue.declare.arguments['k']: tables of rabbitmq have no letter 'Z'",
        "queue.declare.arguments['k']: tables of rabbitmq have no letter '\\x00'",
        "queue.declare.arguments['k']: its size, 153, goes beyond the 2 octets that are left",
        "queue.declare.arguments['k']: tables of rabbitmq have no letter 'n'",
        "queue.declare.arguments['k']: tables of rabbitmq have no letter 'c'",
        "header.headers['k']: tables of rabbitmq have no letter 'U'",
        "header.headers['k']: tables of rabbitmq have no letter 'Z'",
    ],
}
"""What no codec reads, by recording: what is at fault, and the rule.  The same in all three dialects."""


def frames(path: Path) -> Iterator[tuple[Speaker, int, bytes]]:
    """Who sent it, the type and the payload of each frame, up to one that ends a connection."""
    dialect = SPOKEN[path.parent.name]
    for said in turns(path, 5672):
        for speaker in SPEAKERS:
            octets = b"".join([each for who, each in said if who == speaker and isinstance(each, bytes)])
            begins = 8 if octets[:4] == b"AMQP" else 0
            read = dialect.framing.overhearing(DEFAULT_LIMITS, dialect.codec.carries, begins)
            read.trace = []
            read.receive(octets[begins:])
            while read.next() is not None:
                pass
            for cut in read.trace:
                yield speaker, cut[3], octets[cut[0] + FRAME_HEAD : cut[0] + cut[1] - 1]


@pytest.mark.parametrize("file", files())
def test_what_was_recorded_is_written_again(file: str) -> None:
    """As many methods and headers as an independent walker counts, but for what clients sent wrong on purpose."""
    path = CAPTURES / f"{file}.pcap"
    codec = SPOKEN[path.parent.name].codec
    expected = json.loads((CAPTURES / "expected.json").read_text())[f"{file}.pcap"]
    read: Counter[int] = Counter()
    refused: list[str] = []
    for _, kind, payload in frames(path):
        if kind not in (METHOD, CONTENT_HEADER) or (kind == METHOD and len(payload) < 4):
            continue
        read[kind] += 1
        try:
            if kind == METHOD:
                again = codec.encode(codec.read(payload))
            else:
                properties = codec.read_properties(payload)
                if properties is None:
                    refused.append(f"header of class {u16(payload, 0)[0]}")
                    continue
                again = codec.write_header(u16(payload, 0)[0], u64(payload, 4)[0], properties)
                payload = payload[:2] + b"\0\0" + payload[4:]  # a weight, which one client sets, is read and ignored
        except DecodeError as why:
            refused.append(f"{why.what}: {why.rule}")
            continue
        assert again.hex() == payload.hex(), codec.verb_of(payload)
    assert [read[METHOD], read[CONTENT_HEADER]] == [int(expected["method_frames"]), int(expected["header_frames"])]
    assert refused == REFUSED.get(file.partition("/")[2], [])
