"""TCP segments in heads of packets; whole files are compared in test_read."""

from __future__ import annotations

from dataclasses import replace

from tests.captures import build

from amqp_sansio.captures.columns.heads import RecordHeads, records
from amqp_sansio.captures.columns.segments import groups, ports
from amqp_sansio.captures.pcap import PcapWalk


def found_in(*packets: bytes) -> tuple[bytes, RecordHeads]:
    made = [build.Record(1, packet, len(packet), 0) for packet in packets]
    octets = build.pcap(made)
    at = [24 + sum(16 + len(packet) for packet in packets[:index]) for index in range(len(packets))]
    return octets, records(octets, PcapWalk("<", 1000, 1, 0), at)


def test_groups_by_place_and_version() -> None:
    four = build.Segment(True, 1, b"abc")
    six = replace(four, client="::1", server="::2")
    tagged = build.ethernet(build.ip(four), [0x8100])
    octets, found = found_in(build.ethernet(build.ip(four)), tagged, build.ethernet(build.ip(six)), b"\2" * 60)
    made = groups(octets, found)
    assert sorted(group.row.tolist() for group in made) == [[0], [1], [2]]
    for group in made:
        _, said = ports(octets, found, group)
        assert said.target.tolist() == [build.SERVER_PORT]
        assert (said.stop - said.begin).tolist() == [3]
        assert said.cut.tolist() == [0]


def test_no_records_have_no_groups() -> None:
    octets, found = found_in(b"")
    assert groups(octets, found) == []
    assert groups(b"", records(b"", PcapWalk("<", 1000, 1, 0), [])) == []
