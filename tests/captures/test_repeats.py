"""A SYN that came before: the same connection captured once more, or another one with the same sequence numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.captures import build
from tests.captures.build import RST, Segment
from tests.captures.packets import batch, by_connection, gathered, packet_rows
from tests.steps import assert_linear

from amqp_sansio.captures import flows, repeats
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.repeats import Repeat, Withheld
from amqp_sansio.captures.row_stream import transcript
from amqp_sansio.captures.verdicts import Verdict, verdicts
from amqp_sansio.captures.witnesses import observers

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
        monkeypatch.setattr(repeats, "WITHHELD_OCTETS", limit)
        assert len(told(write(tmp_path, [*first, *first]))) == count, limit
    monkeypatch.undo()
    for segments, count in ((len(first) - 3, 2), (len(first) - 2, 1), (len(first) - 1, 1)):
        monkeypatch.setattr(repeats, "WITHHELD_SEGMENTS", segments)
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
        repeat = Repeat(((1, size, size, 1), repeats.NOTHING), live=False, over=True)
        segments = [Withheld(0, 1 + at, 0, 0, b"x", 0, at, at) for at in places]

        def work() -> None:
            for each in segments:
                repeat.hear(each)
            assert not repeat._later[0]

        return work

    assert_linear(prepared, 500)
