"""A made-up family as an observer hears it, beside 0-10: plugged in by the header, or by the frames in the middle."""

from __future__ import annotations

import pytest
from tests.captures import build
from tests.families.made_up import BAD, DONE, LINES, MADE_UP, LineClient, LineServer

from amqp_sansio import AMQP_0_10, ClientConfig, Observer, ServerConfig
from amqp_sansio.engine.checker import Observed
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import CommandSeen, ControlSeen, HeaderSeen, Note, OpaqueSeen, Violation
from amqp_sansio.limits import DEFAULT_LIMITS

BOTH = (AMQP_0_10, MADE_UP)
Said = list[tuple[str, bytes]]

SESSIONS: Said = [
    ("C", build.HEADER), ("S", build.HEADER + build.START), ("C", build.START_OK), ("S", build.TUNE),
    ("C", build.TUNE_OK + build.OPEN), ("S", build.OPEN_OK), ("C", build.ATTACH), ("S", build.ATTACHED),
    ("C", build.POINT + build.transfer(b"x" * 100)), ("S", build.completed(0)), ("C", build.CLOSE), ("S", build.CLOSE_OK),
]  # fmt: skip


def line(payload: bytes, channel: int = 1) -> bytes:
    return LINES.frame(channel, 1, payload, 4096)


def talk() -> Said:
    """What our own client and server say."""
    client, server = LineClient(ClientConfig(dialect=MADE_UP)), LineServer(ServerConfig(dialects=MADE_UP))
    said: Said = []
    for round in range(12):
        if round == 6:
            client.lines.ask(3, b"well?")
            client.lines.put(2, b"a message")
        for who, one, other in (("C", client, server), ("S", server, client)):
            octets = one.data_to_send()
            if octets:
                said.append((who, octets))
                other.receive_data(octets)
                list(other.events())
        server.tick(float(round))
    return said


LINES_SAID = talk()


def hear(watch: Observer, said: Said, piece: int = 1 << 20, stored: bool = False) -> list[Observed]:
    heard: list[Observed] = []
    for who, octets in said:
        for at in range(0, len(octets), piece):
            watch.receive_data("C" if who == "C" else "S", octets[at : at + piece])
            heard += watch.events()
            if stored:
                watch = Observer.restore(watch.snapshot(), dialects=BOTH)
    watch.finish()
    return heard + list(watch.events())


def verbs(heard: list[Observed]) -> list[str]:
    return [each.event.verb for each in heard if isinstance(each.event, CommandSeen | ControlSeen)]


def found(heard: list[Observed]) -> list[str]:
    return [each.event.rule for each in heard if isinstance(each.event, Note | Violation)]


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize("stored", [False, True])
def test_the_header_plugs_it_in(piece: int, stored: bool) -> None:
    heard = hear(Observer(dialects=BOTH), LINES_SAID, piece, stored)
    assert isinstance(heard[0].event, HeaderSeen)
    assert heard[0].event.version == "made-up"
    assert verbs(heard)[:2] == ["connection.start", "connection.start-ok"]
    assert verbs(heard)[-4:] == ["line.ask", "line.put", "line.echo", "line.done"]
    assert found(heard) == []
    (put,) = [each.event for each in heard if isinstance(each.event, CommandSeen) and each.event.verb == "line.put"]
    assert (put.channel, put.id, put.session, put.body) == (2, 1, None, b"a message")


def test_the_same_observer_hears_sessions_as_ever() -> None:
    assert hear(Observer(dialects=BOTH), SESSIONS) == hear(Observer(), SESSIONS)
    assert hear(Observer(dialects=(MADE_UP, AMQP_0_10)), SESSIONS) == hear(Observer(), SESSIONS)


def test_breaking_a_rule_of_the_family_is_an_accusation() -> None:
    heard = hear(Observer(dialects=BOTH), [*LINES_SAID, ("C", line(DONE, 2)), ("S", line(BAD))])
    assert [each.event for each in heard if isinstance(each.event, Violation)] == [
        Violation("C", "line.answer", "line.done", (), 0, 2, heard[-3].start, "there is nothing to answer on this line"),
        Violation("S", "line.verb", "line.b", ("line.ask", "line.echo", "line.put", "line.done"), 0, 1, heard[-1].start,
                  "there is no such verb"),
    ]  # fmt: skip


def test_a_header_of_another_dialect_is_not_judged() -> None:
    heard = hear(Observer(dialects=(MADE_UP,)), SESSIONS)
    assert [each.event for each in heard if isinstance(each.event, OpaqueSeen)] == [
        OpaqueSeen("AMQP 0-10 is not read here"), OpaqueSeen("AMQP 0-10 is not read here"),
    ]  # fmt: skip
    assert verbs(heard) == []


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("dialects", [BOTH, BOTH[::-1]])
def test_in_the_middle_three_frames_in_a_row_plug_it_in(piece: int, stored: bool, dialects: tuple[object, ...]) -> None:
    cut = build.ATTACH[3:]
    for middle, dialect in (
        ([("S", b"??" + line(b"p1", 4) * 3), ("C", line(DONE, 4))], MADE_UP),
        ([("C", cut + build.POINT + build.transfer(b"x" * 100)), ("S", build.completed(0) * 3)], AMQP_0_10),
    ):
        watch = Observer(dialects=dialects, middle=True)  # type: ignore[arg-type]  # the two of BOTH
        watch.receive_gap("C", 0)
        list(watch.events())
        heard = hear(watch, middle, piece, stored)
        notes = [each.event for each in heard if isinstance(each.event, Note)]
        text = f"heard from the middle: three frames in a row are those of {dialect.name}"
        assert [note.text for note in notes if note.rule == "framing"] == [text]
        assert [each for each in heard if isinstance(each.event, Violation)] == []
        alone = Observer(dialect)
        alone.receive_gap("C", 0)
        list(alone.events())
        straight = [each for each in hear(alone, middle) if isinstance(each.event, CommandSeen | ControlSeen)]
        said = [each for each in heard if isinstance(each.event, CommandSeen | ControlSeen)]
        assert sorted(said, key=lambda each: (each.speaker, each.start)) == sorted(
            straight, key=lambda each: (each.speaker, each.start)
        )


def test_what_is_too_short_to_tell_counts_as_the_preferred_one() -> None:
    watch = Observer(dialects=BOTH, middle=True)
    assert verbs(hear(watch, [("S", build.completed(0) * 2)])) == ["session.completed"] * 2
    watch = Observer(dialects=BOTH, middle=True)
    heard = hear(watch, [("S", line(b"p1") * 2)])
    assert [each.event for each in heard if isinstance(each.event, OpaqueSeen)] == [OpaqueSeen("no frame was found")]


def test_a_gap_does_not_change_what_is_spoken() -> None:
    watch = Observer(dialects=BOTH)
    hear_first = [each for who, octets in LINES_SAID for each in feed(watch, who, octets)]
    assert watch.dialect is MADE_UP
    assert found(hear_first) == []
    watch.receive_gap("S", 5)
    heard = [*feed(watch, "S", b"ail" + line(b"eX")), *feed(watch, "C", line(DONE))]
    assert verbs(heard) == ["line.echo", "line.done"]
    assert found(heard) == ["gap"]


def feed(watch: Observer, who: str, octets: bytes) -> list[Observed]:
    watch.receive_data("C" if who == "C" else "S", octets)
    return list(watch.events())


def test_a_snapshot_of_a_dialect_that_is_not_there_asks_for_it() -> None:
    watch = Observer(dialects=BOTH)
    for who, octets in LINES_SAID:
        feed(watch, who, octets)
    with pytest.raises(DecodeError, match="made-up: give it"):
        Observer.restore(watch.snapshot())
    assert Observer.restore(watch.snapshot(), MADE_UP).dialect is MADE_UP


def test_the_limits_hold_whatever_is_plugged_in() -> None:
    assert MADE_UP.checker(False, DEFAULT_LIMITS, {}, Observer()._events).findings.limits is DEFAULT_LIMITS
