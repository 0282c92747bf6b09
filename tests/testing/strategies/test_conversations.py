"""Conversations that are drawn, and octets in pieces: legal, nearly legal, and short when something fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

from amqp_sansio.broker import Broker
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Violation
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.spec import dtx, message, tx
from amqp_sansio.spec import session as s
from amqp_sansio.testing.speech.parts import PARTS, SECTIONS
from amqp_sansio.testing.speech.step import Conversation
from amqp_sansio.testing.strategies import breaking, chunkings, conversations, nearly_legal, words
from amqp_sansio.testing.strategies.conversations import (
    ChannelConversation,
    channel_conversations,
    channel_parts,
    parts,
    wrong_channel_conversations,
)

QUICK = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


# What is drawn as legal breaks no rule, not even to the letter.
@pytest.mark.parametrize("role", [None, "client"])
@given(data=st.data())
def test_a_legal_conversation_is_legal(role: str | None, data: st.DataObject) -> None:
    said = data.draw(conversations(role="client") if role else conversations())
    assert breaking(said) is None
    assert said.breaks == ""


# What is drawn as nearly legal is legal up to its last step, which its role says and which breaks a rule that has a name.
@QUICK
@pytest.mark.parametrize("role", ["client", "server"])
@given(data=st.data())
def test_a_nearly_legal_conversation_is_wrong_in_its_last_step(role: str, data: st.DataObject) -> None:
    said = data.draw(nearly_legal(role="client" if role == "client" else "server"))
    assert said.breaks
    assert said[-1].speaker == role
    found = breaking(said)  # what only a broker knows, such as which queues there are, no observer sees
    assert found is None or found[0] == len(said) - 1


@given(conversations("tx", role="client"))
def test_a_section_may_be_asked_for(said: Conversation) -> None:
    assert said.part == "tx"


def test_a_section_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no section 'nonsense': there are connection, session, execution, message, tx, dtx"):
        parts("nonsense")
    assert set(SECTIONS) == {part.section for part in PARTS.values()}


@given(words(PARTS["tx"].language))
def test_words_are_of_the_language(said: tuple[str, ...]) -> None:
    assert PARTS["tx"].language.run(said) is not None


@given(words(Automaton([{}], [0])))
def test_a_language_of_nothing_has_no_words(said: tuple[str, ...]) -> None:
    assert said == ()


# Every word of every language is drawn: what cannot be drawn is never tested.
def test_every_move_can_be_drawn() -> None:
    part = PARTS["tx"]
    for state, word, _ in part.language.transitions:
        find(words(part.language), lambda said, state=state, word=word: _takes(part.language, said, state, word))  # type: ignore[misc]


def _takes(language: Automaton, said: tuple[str, ...], state: int, word: str) -> bool:
    return any(language.run(said[:at]) == state and each == word for at, each in enumerate(said))


# --- machines that are broken on purpose: what is found is shrunk to a few lines ---------------------------------------


def _forgets_select(said: Conversation) -> bool:
    """Takes a commit behind a rollback for one without select."""
    rolled = False
    for step in said:
        if isinstance(step.said, tx.Commit) and rolled:
            return True
        rolled = rolled or isinstance(step.said, tx.Rollback)
    return False


def _loses_suspended(said: Conversation) -> bool:
    """Forgets a suspended branch when another is started."""
    suspended = other = False
    for step in said:
        if isinstance(step.said, dtx.End):
            suspended = suspended or step.said.suspend
        elif isinstance(step.said, dtx.Start):
            if other and step.said.resume:
                return True
            other = suspended
    return False


def _stops_only_once(said: Conversation) -> bool:
    """Goes on sending behind the second stop."""
    return len([step for step in said if isinstance(step.said, message.Stop)]) > 1


def _cannot_come_back(said: Conversation) -> bool:
    """Refuses a session that was there before."""
    return len([step for step in said if isinstance(step.said, s.Attached) and step.speaker == "server"]) > 1


BROKEN: list[tuple[str, Callable[[Conversation], bool], int]] = [
    ("tx", _forgets_select, 4),
    ("dtx: demarcation", _loses_suspended, 7),
    ("message: subscription", _stops_only_once, 5),
    ("session: attachment", _cannot_come_back, 5),
]


@pytest.mark.parametrize(("section", "fails", "most"), BROKEN, ids=[each[0] for each in BROKEN])
def test_a_failing_conversation_shrinks_to_a_few_lines(section: str, fails: Callable[[Conversation], bool], most: int) -> None:
    least = find(conversations(section), fails, settings=settings(max_examples=2000, database=None))
    assert len(least.lines) <= most, least
    assert all(len(line) < 200 for line in least.lines)


# What the client leads, a broker takes: its own answers aside, nothing ends.
@QUICK
@given(conversations(role="client"))
def test_a_broker_takes_what_a_client_leads(said: Conversation) -> None:
    if said.part.startswith(("file", "stream", "message:", "assembly")):  # not offered, or named by ids that the broker gives
        return
    broker = Broker()
    peer = broker.connect()
    for octets in [step.octets for step in said.by("client")]:
        peer.receive_data(octets)
        closed = [event for _, event in broker.events() if type(event).__name__ == "ConnectionClosed"]
        peer.data_to_send()  # before that it is not finished
        assert closed == [] or peer.finished
    ended = "connection.close" in {step.verb for step in said}
    assert peer.finished == ended or said.part == "connection", said


# The pieces are the octets, and none is empty.
@given(st.binary(max_size=100).flatmap(lambda octets: st.tuples(st.just(octets), chunkings(octets))))
def test_the_pieces_are_the_octets(drawn: tuple[bytes, tuple[bytes, ...]]) -> None:
    octets, pieces = drawn
    assert b"".join(pieces) == octets
    assert all(pieces)


def test_they_shrink_to_the_whole() -> None:
    assert find(chunkings(b"abcdef"), lambda _: True) == (b"abcdef",)
    assert find(chunkings(b"abcdef"), lambda pieces: len(pieces) == 2)[:1] in ((b"a",), (b"abcde",))


@given(chunkings(b""))
def test_of_nothing_there_is_nothing(pieces: tuple[bytes, ...]) -> None:
    assert pieces == ()


@given(chunkings(b"x"))
def test_one_octet_is_not_cut(pieces: tuple[bytes, ...]) -> None:
    assert pieces == (b"x",)


def wrong_at(said: ChannelConversation) -> list[int]:
    """The steps in which an observer that holds everybody to the letter finds a broken rule that the part is about."""
    watch = Observer(strict=True, dialects=(said.part.edition.dialect,))
    found: list[int] = []
    for at, step in enumerate((*said.before, *said.steps), -len(said.before)):
        watch.receive_data(step.side, step.octets)
        rules = [each.event.rule for each in watch.events() if isinstance(each.event, Violation)]
        found += [at for rule in rules if said.part.judges(rule)]
    return found


@given(channel_conversations())
def test_what_is_drawn_as_legal_breaks_no_rule(said: ChannelConversation) -> None:
    assert said.part.language().run(said.words) is not None
    assert wrong_at(said) == []


@QUICK
@given(wrong_channel_conversations())
def test_what_is_drawn_as_wrong_is_wrong_in_its_last_word(said: ChannelConversation) -> None:
    found = wrong_at(said)
    assert found
    assert found[0] == len(said.steps) - 1


@given(channel_conversations("0-8", "stream consumer", max_size=3))
def test_a_part_may_be_asked_for(said: ChannelConversation) -> None:
    assert repr(said.part) == "0-8: stream consumer"
    assert len(said.words) <= 3


def test_a_part_that_there_is_not_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no part 'nonsense' of '0-8': there are .*0-9-1: confirms"):
        channel_parts("0-8", "nonsense")


# Kept and restored before any step, an observer says the same.
@given(channel_conversations(), st.integers(0, 40))
def test_what_an_observer_remembers_can_be_kept(said: ChannelConversation, at: int) -> None:
    dialects = (said.part.edition.dialect,)
    whole, kept = [Observer(strict=True, dialects=dialects) for _ in range(2)]
    told: list[list[str]] = [[], []]
    for number, step in enumerate((*said.before, *said.steps)):
        if number == at:
            kept = Observer.restore(kept.snapshot(), dialects=dialects)
        for watch, events in zip((whole, kept), told, strict=True):
            watch.receive_data(step.side, step.octets)
            events += [repr(each) for each in watch.events()]
    assert told[0] == told[1]
