"""The grammar of a subscription, spoken to an observer: what it knows of credit is arithmetic, and no table."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.witnesses.octets import LAYOUT, Watch

from amqp_sansio.events import Violation
from amqp_sansio.grammar import message
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.walks import Sampler, shortest_to_each, transition_words
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message as m
from amqp_sansio.spec import session as s
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.segments import frame_command, frame_control

LEGAL = message.subscription_with_credit().prefixes()
BEGUN = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
    "client:session.attach", "server:session.attached", "client:session.command-point", "server:session.command-point",
)  # fmt: skip
PLENTY = 10_000
SAYS: dict[str, Command] = {
    "message.subscribe": m.Subscribe("q", "d"),
    "message.flow message": m.Flow("d", 0, PLENTY),
    "message.flow byte": m.Flow("d", 1, PLENTY),
    "message.stop": m.Stop("d"),
    "message.flush": m.Flush("d"),
    "message.set-flow-mode": m.SetFlowMode("d", 0),
    "message.cancel": m.Cancel("d"),
    "message.transfer": m.Transfer("d"),
}


class Subscriber:
    """An observer of a session that has just begun, and the ids of the client's commands."""

    def __init__(self) -> None:
        self.watch = Watch(strict=True)
        assert self.watch.tell(BEGUN) == []
        self.said: list[str] = []

    def say(self, word: Word) -> list[Violation]:
        """One word more; "... completed" completes the last command of that name."""
        speaker, _, verb = word.partition(":")
        if verb.endswith(" completed"):
            name = verb.removesuffix(" completed")
            id = max(at for at, each in enumerate(self.said) if each == name)
            octets = frame_control(1, LAYOUT.encode_control(s.Completed(RangeSet([(id, id)]))))
        else:
            body = b"x" if verb == "message.transfer" else None
            octets = b"".join(frame_command(1, LAYOUT.encode_command(SAYS[verb], False), None, body, 65535))
            if speaker == "client":
                self.said.append(verb)
        observer = self.watch.observer
        observer.receive_data("C" if speaker == "client" else "S", octets)
        return [each.event for each in observer.events() if isinstance(each.event, Violation)]


def test_every_way_through_the_grammar_is_legal() -> None:
    for said in transition_words(LEGAL).values():
        subscriber = Subscriber()
        assert [subscriber.say(word) for word in said] == [[]] * len(said), said


# However long it is: a legal conversation about a subscription is no violation.
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_what_is_legal(seed: int, length: int) -> None:
    said = Sampler(LEGAL).word(length, Random(seed).randrange)
    assert said is not None
    subscriber = Subscriber()
    for word in said:
        assert subscriber.say(word) == []


def test_a_transfer_without_credit_and_a_mode_set_with_it_are_found_in_every_state() -> None:
    """What names a cancelled subscription is not for an observer: a broker refuses it with not-found."""
    for state, way in shortest_to_each(LEGAL).items():
        for word in ("server:message.transfer", "client:message.set-flow-mode"):
            cancelled = "client:message.cancel" in way and word.startswith("client:")
            if LEGAL.step(state, word) is None and way and not cancelled:
                subscriber = Subscriber()
                assert [subscriber.say(each) for each in way] == [[]] * len(way)
                violations = subscriber.say(word)
                assert violations, f"{word} behind {way}"
