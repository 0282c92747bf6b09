"""Every control, command and header segment of the real captures decodes and is encoded to the same octets."""

from __future__ import annotations

from pathlib import Path

from amqp_sansio.captures.conversation import LocatedEvent, observers
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen, ControlSeen
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers
from amqp_sansio.wire.layouts.v0_10 import LAYOUT

# What somebody sent on purpose to see what qpidd makes of it; everything else is octet-exact.
DAMAGED = {
    ("badframes.pcap", "connection.heartbeat", "cannot be decoded"),
    ("badframes.pcap", "119.1", "cannot be decoded"),
    ("badframes.pcap", "connection.99", "cannot be decoded"),
    ("badframes.pcap", "12.1", "cannot be decoded"),
    ("badframes.pcap", "queue.purge", "cannot be decoded"),
    ("badframes.pcap", "execution.sync", "cannot be decoded"),
    ("badframes.pcap", "execution.sync", "other octets"),  # junk behind the last field
}


def test_every_frame_is_octet_exact(shared: Path) -> None:
    """All that was captured decodes and is written again octet by octet, but for what is damaged on purpose."""
    found: set[tuple[str, str, str]] = set()
    counts = {"control": 0, "command": 0, "header": 0}

    def tell(talk: AmqpFlow, heard: LocatedEvent) -> None:
        said = heard.said
        if not isinstance(said, ControlSeen | CommandSeen) or not said.complete:
            return
        payload = said.payload
        try:
            if isinstance(said, ControlSeen):
                counts["control"] += 1
                again = LAYOUT.encode_control(LAYOUT.decode_control(payload, 0, len(payload)))
            else:
                counts["command"] += 1
                again = LAYOUT.encode_command(*LAYOUT.decode_command(payload, 0, len(payload)))
                if said.header:
                    counts["header"] += 1
                    assert encode_headers(decode_headers(said.header, 0, len(said.header))) == said.header
        except DecodeError:
            found.add((path.name, said.verb, "cannot be decoded"))
        else:
            if again != payload:
                found.add((path.name, said.verb, "other octets"))

    for path in sorted((shared / "captures" / "0-10").glob("*.pcap*")):
        listener = Listener(observers(), tell, lambda talk: None, [5672], lambda text: None)
        for packet in read_packets(str(path), lambda text: None):
            listener.hear(packet)
        listener.finish()
    assert found == DAMAGED
    assert counts["command"] > 11_000
    assert counts["header"] > 10_000
