"""The grammars of execution, exchange and queue, spoken to an observer: no table has them, only the engine follows them.

Each is compared with what the observer takes, word by word in every state: who may say what.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.witnesses.octets import LAYOUT, Watch

from amqp_sansio.events import Violation
from amqp_sansio.grammar import commands
from amqp_sansio.grammar.automaton import Automaton, Word
from amqp_sansio.grammar.walks import Sampler, shortest_to_each, transition_words
from amqp_sansio.spec import exchange as e
from amqp_sansio.spec import execution as x
from amqp_sansio.spec import queue as q
from amqp_sansio.spec.base import Command
from amqp_sansio.wire.segments import frame_command
from tools.witnesses.sections import ALONE

BEGUN = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
    "client:session.attach", "server:session.attached", "client:session.command-point", "server:session.command-point",
)  # fmt: skip
SAYS: dict[str, Command] = {
    "exchange.declare": e.Declare("e", "direct"),
    "exchange.delete": e.Delete("e"),
    "exchange.query": e.Query("e"),
    "exchange.bind": e.Bind("q", "e", "k"),
    "exchange.unbind": e.Unbind("q", "e", "k"),
    "exchange.bound": e.Bound("e", "q"),
    "queue.declare": q.Declare("q"),
    "queue.delete": q.Delete("q"),
    "queue.purge": q.Purge("q"),
    "queue.query": q.Query("q"),
    "execution.sync": x.Sync(),
    "command": x.Sync(),
    "execution.exception": x.Exception_(404, 0),
}


def wordy(language: Automaton) -> Automaton:
    """Without results: what a result answers is memory, and `tests/engine/test_inbound.py` tries it."""
    moves = [{word: to for word, to in each.items() if not word.endswith("execution.result")} for each in language.moves]
    return Automaton(moves, language.finals).prefixes()


SECTIONS = {
    "exchange": commands.exchange().prefixes(),
    "queue": commands.queue().prefixes(),
    "execution, client": wordy(commands.execution("client")),
    "execution, server": wordy(commands.execution("server")),
}


class Session:
    """An observer of a session that has just begun."""

    def __init__(self) -> None:
        self.watch = Watch(strict=True)
        assert self.watch.tell(BEGUN) == []

    def say(self, word: Word) -> list[Violation]:
        """One word more, and what is held against somebody for it."""
        speaker, _, verb = word.partition(":")
        octets = b"".join(frame_command(1, LAYOUT.encode_command(SAYS[verb], False), None, None, 65535))
        self.watch.observer.receive_data("C" if speaker == "client" else "S", octets)
        return [each.event for each in self.watch.observer.events() if isinstance(each.event, Violation)]


@pytest.mark.parametrize("section", SECTIONS)
def test_an_observer_takes_every_way_through_the_grammar(section: str) -> None:
    for said in transition_words(SECTIONS[section]).values():
        session = Session()
        assert [violation for word in said for violation in session.say(word)] == []


# A random legal conversation is no violation to an observer.
@pytest.mark.parametrize("section", SECTIONS)
@given(seed=st.integers(0, 2**32), length=st.integers(1, 30))
def test_an_observer_takes_what_is_legal(section: str, seed: int, length: int) -> None:
    said = Sampler(SECTIONS[section]).word(length, Random(seed).randrange)
    if said is not None:
        session = Session()
        assert [violation for word in said for violation in session.say(word)] == []


@pytest.mark.parametrize("section", ["exchange", "queue"])
def test_an_observer_blames_the_server_that_says_a_command_of_the_client(section: str) -> None:
    language = SECTIONS[section]
    assert language.size == 1
    assert all(word.startswith("client:") for word in language.alphabet)
    for word in language.alphabet:
        violations = Session().say(f"server:{word.partition(':')[2]}")
        assert violations, word
        assert violations[0].speaker == "S"


@pytest.mark.parametrize("who", ["client", "server"])
def test_an_observer_lets_pass_what_comes_between_an_exception_and_its_detach(who: str) -> None:
    """The one deliberate difference: `tools.witnesses.sections.ALONE` has the reason."""
    language = SECTIONS[f"execution, {who}"]
    refused = {
        (way, word)
        for state, way in shortest_to_each(language).items()
        for word in language.alphabet
        if language.step(state, word) is None
    }
    assert {way for way, _ in refused} == {(f"{who}:execution.exception",)}
    for way, word in refused:
        session = Session()
        assert [violation for each in (*way, word) for violation in session.say(each)] == []
    assert "nothing may follow" in ALONE["execution"]
