"""One connection: who is the client, does it speak AMQP, which packet brought what, who is silent.  The witness is a fake."""

from __future__ import annotations

import pytest
from tests.captures import build
from tests.captures.fake import FakeWitness

from amqp_sansio.captures.conversation import (
    MARKS,
    MOST_MARKS,
    NOTE,
    PRELUDE_OCTETS,
    VIOLATION,
    Conversation,
    Finding,
    LocatedEvent,
    PacketIndex,
    finding_of,
    observers,
)
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events.observed import CommandSeen, ControlSeen, HeaderSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation

MOST = PRELUDE_OCTETS
SECOND = 1_000_000_000


class Talk:
    """A conversation that is fed by hand: each thing said is the next packet, a second later."""

    def __init__(self, begun: bool = True, server: int | None = 1, asked: bool = False) -> None:
        self.heard: list[LocatedEvent] = []
        self.made: list[bool] = []
        self.conversation = Conversation(self._make, lambda _, heard: self.heard.append(heard))
        self.conversation.begun = begun
        self.conversation.server = server
        self.conversation.asked = asked
        self.packet = 0

    def _make(self, middle: bool) -> FakeWitness:
        self.made.append(middle)
        return FakeWitness(middle)

    def say(self, side: int, octets: bytes, seconds: int = 1) -> Talk:
        self.packet += 1
        self.time = getattr(self, "time", 0) + seconds * SECOND
        self.conversation.data(side, octets, self.packet, self.time)
        return self

    def verbs(self) -> list[tuple[str, str, int]]:
        """Speaker, verb or rule, packet."""
        found: list[tuple[str, str, int]] = []
        for each in self.heard:
            said = each.said
            word = said.verb if isinstance(said, ControlSeen | CommandSeen) else ""
            word = said.rule if isinstance(said, Note) else "header" if isinstance(said, HeaderSeen) else word
            found.append((each.speaker, word, each.packet))
        return found


def opened(talk: Talk) -> Talk:
    talk.say(0, build.HEADER).say(1, build.HEADER + build.START).say(0, build.START_OK).say(1, build.TUNE)
    return talk.say(0, build.TUNE_OK + build.OPEN).say(1, build.OPEN_OK)


def test_each_word_has_its_speaker_and_packet() -> None:
    talk = opened(Talk())
    assert talk.verbs() == [
        ("C", "header", 1), ("S", "header", 2), ("S", "1.1", 2), ("C", "1.2", 3), ("S", "1.5", 4), ("C", "1.6", 5),
        ("C", "1.7", 5), ("S", "1.8", 6),
    ]  # fmt: skip
    assert talk.conversation.dialect == "0-10"
    assert talk.conversation.recognised


def test_an_event_belongs_to_the_packet_that_brought_its_last_octet() -> None:
    talk = Talk().say(0, build.HEADER[:3]).say(0, build.HEADER[3:5]).say(1, build.HEADER).say(0, build.HEADER[5:])
    assert [each for each in talk.verbs() if each[0] == "C"] == [("C", "header", 4)]


@pytest.mark.parametrize("server", [0, 1])
def test_without_a_syn_the_side_that_sends_start_is_the_server(server: int) -> None:
    talk = Talk(begun=False, server=None)
    talk.say(server, build.HEADER + build.START).say(1 - server, build.START_OK)
    assert talk.conversation.client == 1 - server
    assert talk.heard[0].speaker == "S"
    assert talk.made == [True]  # the client's header was not heard


def test_without_a_syn_the_side_that_sends_its_header_alone_is_the_client() -> None:
    talk = Talk(begun=False, server=None).say(0, build.HEADER).say(1, build.HEADER + build.START)
    assert (talk.conversation.client, talk.made) == (0, [False])


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n", b"\x16\x03\x01\x02\x00"])
def test_what_does_not_speak_amqp_is_foreign_and_nothing_of_it_is_kept(octets: bytes) -> None:
    talk = Talk().say(0, octets).say(1, b"HTTP/1.1 200 OK")
    assert talk.conversation.foreign
    assert not talk.heard
    talk.say(0, build.HEADER)
    assert not talk.heard


@pytest.mark.parametrize(("octets", "foreign"), [(MOST - 1, False), (MOST, True), (MOST + 1, True)])
def test_the_limit_on_what_is_kept_before_anybody_is_known(octets: int, foreign: bool) -> None:
    assert Talk().say(0, b"x" * octets).conversation.foreign is foreign


def test_connections_asked_for_are_replayed_from_the_middle() -> None:
    talk = Talk(begun=False, asked=True).say(1, build.HEARTBEAT).say(0, b"rest" + build.HEARTBEAT * 2)
    assert talk.made == [True]
    assert {("S", "1.10", 1), ("C", "1.10", 2)} <= set(talk.verbs())


def test_a_gap_is_reported_where_it_is() -> None:
    talk = opened(Talk())
    talk.conversation.gap(0, 7, 99, 99 * SECOND)
    assert talk.verbs()[-1] == ("C", "gap", 99)


def test_a_reset_is_reported_with_its_packet() -> None:
    talk = opened(Talk())
    talk.conversation.reset(1, 50, 50 * SECOND)
    assert ("S", "tcp.reset", 50) in talk.verbs()
    talk.conversation.finish(51, 51 * SECOND)


def test_octets_that_come_again_with_other_contents_are_noted_once_for_each_side() -> None:
    early = Talk()
    early.conversation.differs(0, 1, 2, 5, 5)
    assert not early.heard  # nobody knows yet who is who
    talk = opened(Talk())
    for side, packet in ((1, 50), (1, 51), (0, 52)):
        talk.conversation.differs(side, 10, 20, packet, packet * SECOND)
    assert [each for each in talk.verbs() if each[1] == "tcp.retransmission"] == [
        ("S", "tcp.retransmission", 50),
        ("C", "tcp.retransmission", 52),
    ]
    assert "repeats octets 10 to 20 of the server with other contents" in str(talk.heard[-2].said)


@pytest.mark.parametrize(("quiet", "told"), [(9, False), (10, False), (11, True)])
def test_silence_of_more_than_two_intervals_is_noted_once(quiet: int, told: bool) -> None:
    talk = Talk().say(0, build.HEADER).say(1, build.HEADER + build.START).say(0, build.START_OK).say(1, build.TUNE)
    five = build.TUNE_OK[:-2] + b"\x00\x05"
    talk.say(0, five + build.OPEN).say(1, build.OPEN_OK, 0)
    for _ in range(2):
        talk.say(0, build.HEARTBEAT, quiet if _ == 0 else 0)
    notes = [each for each in talk.heard if isinstance(each.said, Note)]
    assert [each.speaker for each in notes] == (["C", "S"] if told else [])


def test_places_of_old_packets_are_thinned_out_and_the_newest_stay_exact() -> None:
    talk = opened(Talk())
    for _ in range(5 * MARKS):
        talk.say(0, build.HEARTBEAT)
    assert [packet for _, word, packet in talk.verbs() if word == "1.10"] == list(range(7, 7 + 5 * MARKS))


def test_from_the_beginning_the_header_tells_the_version_and_from_the_middle_it_is_0_10() -> None:
    make = observers()
    begun, middle = make(False), make(True)
    assert isinstance(begun, Observer)
    assert isinstance(middle, Observer)
    assert (begun.dialect, middle.dialect) == (None, AMQP_0_10)
    assert begun is not make(False)


def test_strict_is_handed_on() -> None:
    for strict in (False, True):
        witness = observers(strict)(False)
        assert isinstance(witness, Observer)
        assert witness.strict is strict


def test_a_violation_accuses_its_speaker_and_nothing_else_does() -> None:
    violation = Violation("S", "a.rule", "said", ("this",), 501, 1, 8, "one sentence")
    assert finding_of(LocatedEvent(7, 0, "S", violation, 0, 1)) == Finding(
        VIOLATION, "S", 7, "a.rule", "said", ("this",), "one sentence", 1, 501, 8
    )
    for said, rule in ((Note("gap", "lost"), "gap"), (OpaqueSeen("TLS"), "opaque")):
        found = finding_of(LocatedEvent(7, 0, "C", said, 0, 1))
        assert found is not None
        assert (found.level, found.rule, found.legal) == (NOTE, rule, ())
    assert finding_of(LocatedEvent(7, 0, "C", HeaderSeen(b"AMQP\1\1\0\x0a", "0-10"), 0, 8)) is None


def test_places_are_kept_as_long_as_something_that_began_there_is_under_way() -> None:
    marks = PacketIndex()
    for packet in range(1, 5 * MARKS):
        marks.add(10 * packet, packet, packet)
        if len(marks.ends) > marks.room:
            marks.thin()
    assert [marks.at(10 * packet)[0] for packet in (1, 2, 5 * MARKS - 1)] == [1, 2, 5 * MARKS - 1]
    marks.forget()
    assert (len(marks.ends), marks.room) == (1, MARKS)
    assert marks.at(50 * MARKS - 10) == (5 * MARKS - 1, 5 * MARKS - 1)
    for packet in range(5 * MARKS, 5 * MARKS + 3 * MOST_MARKS):
        marks.add(10 * packet, packet, packet)
        if len(marks.ends) > marks.room:
            marks.thin()
    assert len(marks.ends) <= 2 * MOST_MARKS
    assert marks.at(10 * (5 * MARKS + 3 * MOST_MARKS - 1))[0] == 5 * MARKS + 3 * MOST_MARKS - 1
