"""Whatever comes first of a connection: its octets are put into their order, or something says what was not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.captures import build
from tests.captures.build import ACK, SYN, Segment
from tests.captures.packets import batch, by_connection, gathered, packet_rows

from amqp_sansio.captures import flows
from amqp_sansio.captures.beginnings import Beginning
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.conversation import NOBODY
from amqp_sansio.captures.flows import ALIKE
from amqp_sansio.captures.repeats import Withheld
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.row_stream import transcript
from amqp_sansio.captures.tcp import GRACE_NANOSECONDS
from amqp_sansio.captures.verdicts import Verdict, verdicts
from amqp_sansio.captures.witnesses import observers

WHOLE = build.conversation().segments
FIRST = next(at for at, each in enumerate(WHOLE) if each.octets)


def judged(folder: Path, segments: Sequence[Segment], ports: Sequence[int] = (), pause: int = 0) -> list[Verdict]:
    """What `check` says of segments; `decode` and the tables, which sleep between batches, say the same."""
    records = [replace(each, time=each.time + number * pause) for number, each in enumerate(build.records(segments))]
    path = build.write(folder / "x", build.pcap(records, nano=True))
    found = list(verdicts(path, observers(), ports, lambda text: None))
    kinds = [row["kind"] for _, row in transcript(path, observers(), ports, lambda text: None)]
    assert sum([kinds.count(word) for word in ("control", "command")]) == sum([each.controls + each.commands for each in found])
    (rows,) = by_connection(packet_rows(path)).values()
    options = ReplayOptions(ports=tuple(ports))
    for step in (9, len(rows)):
        replay, made = ConnectionReplay(options), []
        for at in range(0, len(rows), step):
            made += replay.feed(batch(rows[at : at + step]))
            replay = ConnectionReplay.restore(replay.snapshot(), options)
        tables = gathered([*made, *replay.finish()])
        assert [
            (
                row["name"],
                row["not_judged"],
                row["octets_by_client"],
                row["octets_by_server"],
                row["opaque_octets"],
                row["notes"],
            )
            for row in tables.get("connections", [])
        ] == [(each.connection, each.not_judged, *each.octets, sum(each.unread), len(each.findings)) for each in found]
    return found


def said(found: Sequence[Verdict]) -> list[tuple[str, str | None, int, tuple[int, int], list[str]]]:
    return [(each.verdict, each.not_judged, each.controls + each.commands, each.octets, [one.rule for one in each.findings])
            for each in found]  # fmt: skip


@pytest.mark.parametrize("ports", [(), (5672,)])
@pytest.mark.parametrize("first", [5, 7, 20])
def test_first_packets_in_reversed_order_are_put_right(tmp_path: Path, first: int, ports: Sequence[int]) -> None:
    whole = said(judged(tmp_path, WHOLE, ports))
    assert whole[0][:2] == ("clean", None)
    assert said(judged(tmp_path, [*reversed(WHOLE[:first]), *WHOLE[first:]], ports)) == whole
    headless = said(judged(tmp_path, WHOLE[FIRST:], ports))
    reordered = [*reversed(WHOLE[FIRST : FIRST + first]), *WHOLE[FIRST + first :]]
    assert said(judged(tmp_path, reordered, ports)) == headless


@pytest.mark.parametrize("seed", range(4))
def test_first_packets_in_any_order_are_put_right(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    segments = build.conversation([b"body"] * 3, chunk=chance.choice([17, 1460])).segments
    first = chance.randrange(2, 60)
    whole = said(judged(tmp_path, segments))
    chosen = segments[:first]
    chance.shuffle(chosen)
    assert said(judged(tmp_path, [*chosen, *segments[first:]])) == whole


def test_a_server_heard_before_its_syn(tmp_path: Path) -> None:
    segments = build.conversation(chunk=17).segments
    answer = next(each for each in segments if each.flags == SYN | ACK)
    rest = [each for each in segments if each is not answer]
    spoken = next(at for at, each in enumerate(rest) if not each.from_client and each.octets)
    late = [*rest[:spoken], rest[spoken + 1], rest[spoken], answer, *rest[spoken + 2 :]]
    assert said(judged(tmp_path, late)) == said(judged(tmp_path, segments))
    without = [*rest[:spoken], rest[spoken + 1], rest[spoken], *rest[spoken + 2 :]]  # nor is its SYN captured later
    without = [replace(each, flags=each.flags & ~ACK) if each.from_client and not each.octets else each for each in without]
    assert said(judged(tmp_path, without)) == said(judged(tmp_path, segments))


def test_an_answer_heard_before_both_syns(tmp_path: Path) -> None:
    answer = next(at for at, each in enumerate(WHOLE) if not each.from_client and each.octets)
    for syns in (WHOLE[:2], WHOLE[1::-1]):
        late = [WHOLE[answer], *syns, *WHOLE[2:answer], *WHOLE[answer + 1 :]]
        assert said(judged(tmp_path, late)) == said(judged(tmp_path, WHOLE))


def test_it_waits_no_longer_than_a_second(tmp_path: Path) -> None:
    swapped = [*WHOLE[:FIRST], WHOLE[FIRST + 1], WHOLE[FIRST], *WHOLE[FIRST + 2 :]][2:]
    whole = said(judged(tmp_path, WHOLE))
    assert [each[2] for each in said(judged(tmp_path, swapped, pause=GRACE_NANOSECONDS // 10))] == [whole[0][2]]
    beginning = Beginning()
    beginning.add(Withheld(0, 9, 0, ACK, b"abc", 0, 1, 7))
    earlier = Withheld(0, 5, 0, ACK, b"abcd", 0, 1, 7 + GRACE_NANOSECONDS)
    assert beginning.takes(earlier)
    assert not beginning.takes(earlier._replace(time=8 + GRACE_NANOSECONDS))
    syn = Withheld(0, 4, 0, SYN, b"", 0, 1, 7)
    assert not beginning.takes(syn)  # of another connection: nothing was captured in a wrong order so far
    beginning.add(earlier)
    assert beginning.takes(syn)
    assert not beginning.takes(syn._replace(sequence=5))


def test_so_many_are_withheld_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "BEGINNINGS", 2)
    segments = [
        replace(each, client_port=40000 + number)
        for at in range(len(WHOLE) - FIRST)
        for number, each in enumerate([WHOLE[FIRST + at]] * 5)
    ]
    path = build.write(tmp_path / "x", build.pcap(build.records(segments)))
    assert [each.verdict for each in verdicts(path, observers(), (), print)] == ["clean"] * 5


@pytest.mark.parametrize("ports", [(), (5672,)])
@pytest.mark.parametrize("alike", [False, True])
def test_a_connection_to_itself_is_not_judged(tmp_path: Path, ports: Sequence[int], alike: bool) -> None:
    """As a socket that is connected to its own port has it, or as an address translation on the way back shows another one."""
    same = Segment(True, 0, client="10.0.0.1", server="10.0.0.1", client_port=5672)
    same = replace(same, client_isn=7, server_isn=7) if alike else same
    segments = build.conversation([b"body"], same).segments
    octets = sum([len(each.octets) for each in segments])
    assert said(judged(tmp_path, segments, ports)) == [("not judged", ALIKE, 0, (octets, 0), ["opaque"])]
    foreign = build.Talk(same).open().say(True, b"hello").say(False, b"hello").close().segments
    assert judged(tmp_path, foreign) == []


def test_two_ports_of_servers_without_the_beginning_are_not_judged(tmp_path: Path) -> None:
    segments = build.conversation([b"body"], Segment(True, 0, client_port=5672)).segments
    attach = next(at for at, each in enumerate(segments) if each.octets == build.ATTACH)
    for first in (attach, attach + 1, attach + 2):
        (found,) = said(judged(tmp_path, segments[first:], [5672]))
        assert found[:3] == ("not judged", NOBODY, 0)
    (whole,) = said(judged(tmp_path, segments, [5672]))
    assert said(judged(tmp_path, segments[FIRST:], [5672])) == [whole]  # its header says who is the client
