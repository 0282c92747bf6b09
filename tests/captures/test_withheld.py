"""A SYN that came before: the same connection captured once more, or another one with the same sequence numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.captures import build
from tests.captures.build import ACK, RST, SYN, Segment
from tests.captures.packets import batch, by_connection, gathered, packet_rows
from tests.steps import assert_linear

from amqp_sansio.captures import flows, withheld
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.conversation import NOBODY, observers
from amqp_sansio.captures.flows import ALIKE
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.rows import transcript
from amqp_sansio.captures.verdicts import Verdict, verdicts
from amqp_sansio.captures.withheld import GRACE_NANOSECONDS, Beginning, Repeat, Withheld

Segments = Sequence[Segment]
Told = dict[str, tuple[str, int, int]]
"""Of each connection its verdict, octets captured, and violations."""

WRONG = build.frame(bytes.fromhex("7f7f0000"), 1, 1)
"""A command that does not exist."""
ENDS = ("open", "closing", "closed", "FIN", "RST", "one FIN")


def ended(messages: Sequence[bytes], end: str, wrong: bool = False) -> list[Segment]:
    """A conversation that comes to this end; `wrong`: one that breaks a rule."""
    talk = build.conversation(messages)
    segments = talk.segments
    closing = next(at for at, each in enumerate(segments) if each.octets == build.CLOSE)
    if wrong:
        spoken = segments[closing - 1]
        place = next(each for each in segments if each.octets == build.ATTACH)
        segments = segments[: segments.index(place)]
        segments.append(replace(place, octets=WRONG))
        return segments if end == "open" else [*segments, replace(spoken, flags=RST | build.ACK)]
    cut = {"open": closing, "closing": closing + 1, "closed": len(segments) - 3, "one FIN": len(segments) - 2}
    segments = segments[: cut.get(end)]
    return [*segments[:-3], replace(segments[-3], flags=RST, octets=b"")] if end == "RST" else segments


def told(path: str, ports: Sequence[int] = ()) -> Told:
    """What check and the tables say, at whatever packet the replay sleeps; both say the same."""
    warnings: list[str] = []
    found: list[Verdict] = list(verdicts(path, observers(), ports, warnings.append))
    assert warnings == []
    said = {}
    for each in found:
        count = sum(finding.level == "violation" for finding in each.findings)
        said[each.connection] = "violations" if count else each.verdict, sum(each.octets), count
    assert len(said) == len(found)
    lines = {str(row["connection"]) for _, row in transcript(path, observers(), ports, warnings.append)}
    assert lines <= {*said}
    (rows,) = by_connection(packet_rows(path)).values()
    for step in (11, len(rows)):
        replay, records = ConnectionReplay(), []
        for at in range(0, len(rows), step):
            records += replay.feed(batch(rows[at : at + step]))
            replay = ConnectionReplay.restore(replay.snapshot())
        tables = gathered([*records, *replay.finish()])
        connections = {
            row["name"]: (row["octets_by_client"], row["octets_by_server"], row["violations"]) for row in tables["connections"]
        }
        assert connections == {each.connection: (*each.octets, said[each.connection][2]) for each in found}
    return {name.partition("#")[2]: each for name, each in said.items()}


def write(folder: Path, segments: Segments) -> str:
    return build.write(folder / "x", build.pcap(build.records(segments)))


@pytest.mark.parametrize("end", ENDS)
def test_another_connection_is_judged_as_if_it_were_alone(end: str, tmp_path: Path) -> None:
    """Whatever the first one came to, and however much of it the second one repeats."""
    first = ended([b"one", b"two"], end)
    alone = told(write(tmp_path, first))["1"]
    for number, (then, wrong) in enumerate([("FIN", False), ("open", True)]):
        second = ended([b"one", b"three", b"more"], then, wrong)
        by_itself = told(write(tmp_path, second))["1"]
        assert by_itself[0] == ("violations" if wrong else "clean"), number
        found = told(write(tmp_path, [*first, *second]))
        assert found == {"1": alone, "2": by_itself}, number
    second = ended([b"three"], "FIN")
    thrice = told(write(tmp_path, [*first, *second, *first]))
    assert thrice == {"1": alone, "2": told(write(tmp_path, second))["1"], "3": alone}


@pytest.mark.parametrize("end", ENDS)
def test_the_same_connection_captured_twice_is_one(end: str, tmp_path: Path) -> None:
    """By clocks that are some packets apart, or longer than it lasts."""
    first = ended([b"one", b"two", b"three"], end)
    alone = told(write(tmp_path, first))
    for late in (1, 5, len(first)):
        mixed = [
            each
            for at in range(len(first) + late)
            for each in (*first[at : at + 1], *(first[at - late : at - late + 1] if at >= late else []))
        ]
        assert len(mixed) == 2 * len(first)
        found = told(write(tmp_path, mixed))
        assert {name: (verdict, count) for name, (verdict, _, count) in found.items()} == {
            "1": (alone["1"][0], alone["1"][2])
        }, late
        assert found == alone, late


def test_a_syn_that_nothing_follows_is_nothing(tmp_path: Path) -> None:
    first = ended([b"one"], "FIN")
    for segments in ([*first, first[0]], [*first[:9], first[0], *first[9:]], [*first[:9], first[0], first[1], *first[9:]]):
        assert told(write(tmp_path, segments)) == told(write(tmp_path, first))


def test_longer_ones_are_compared_no_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has said more than is compared is another connection; so is what is withheld for too long.  A note says so."""
    first = ended([b"x" * 300], "FIN")
    octets = {side: sum(len(each.octets) for each in first if each.from_client is side) for side in (True, False)}
    assert octets[True] > octets[False]
    other = ended([b"x" * 299 + b"y"], "FIN")
    for limit, count in ((octets[True], 1), (octets[True] + 1, 1), (octets[True] - 1, 2)):
        monkeypatch.setattr("amqp_sansio.captures.conversation.COMPARED_OCTETS", limit)
        path = write(tmp_path, [*first, *first])
        assert len(told(path)) == count, limit
        notes = [[each.rule for each in verdict.findings] for verdict in verdicts(path, observers(), (), print)]
        assert notes == [[], ["tcp.repeated"]][:count], limit
        path = write(tmp_path, [*first, *other])
        notes = [[each.rule for each in verdict.findings] for verdict in verdicts(path, observers(), (), print)]
        assert notes == [[], []], "something that was compared differs"
    monkeypatch.undo()
    whole = sum(octets.values())
    for limit, count in ((whole - 1, 2), (whole, 1), (whole + 1, 1)):
        monkeypatch.setattr(withheld, "WITHHELD_OCTETS", limit)
        assert len(told(write(tmp_path, [*first, *first]))) == count, limit
    monkeypatch.undo()
    for segments, count in ((len(first) - 3, 2), (len(first) - 2, 1), (len(first) - 1, 1)):
        monkeypatch.setattr(withheld, "WITHHELD_SEGMENTS", segments)
        assert len(told(write(tmp_path, [*first, *first]))) == count, segments


@pytest.mark.parametrize(("most", "count"), [(1, 5), (2, 4), (3, 3), (4, 3)])
def test_so_many_are_withheld_at_a_time(most: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "REPEATS", most)
    talks = [[replace(each, client_port=port) for each in ended([b"one"], "FIN")] for port in (1, 2, 3)]
    late = [segment for at in range(len(talks[0])) for talk in talks for segment in talk[at : at + 1]]
    path = write(tmp_path, [*talks[0], *talks[1], *talks[2], *late])
    assert len(list(verdicts(path, observers(), (), print))) == count


def test_no_violation_is_lost_however_two_follow_one_another(tmp_path: Path) -> None:
    """Where the second of two connections breaks a rule and all of it was captured, it is accused, whatever was before."""
    chance = Random(5)
    for number in range(40):
        first = ended([b"one"] * chance.randrange(3), chance.choice(ENDS))
        second = ended([b"two"] * chance.randrange(3), chance.choice(ENDS), wrong=True)
        first = [each for each in first if chance.random() < 0.9]
        assert "violations" in {each[0] for each in told(write(tmp_path, [*first, *second])).values()}, number


def test_segments_behind_a_hole_cost_no_more_for_being_many() -> None:
    """They come in no order, and the first octet, for which all of them wait, comes last."""

    def prepared(size: int) -> Callable[[], object]:
        places = [*Random(7).sample(range(1, size), size - 1), 0]
        repeat = Repeat(((1, size, size, 1), withheld.NOTHING), live=False, over=True)
        segments = [Withheld(0, 1 + at, 0, 0, b"x", 0, at, at) for at in places]

        def work() -> None:
            for each in segments:
                repeat.hear(each)
            assert not repeat._later[0]

        return work

    assert_linear(prepared, 500)


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


def test_so_many_beginnings_are_withheld_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
