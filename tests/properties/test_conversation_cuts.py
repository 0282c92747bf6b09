"""Conversations over connections that are cut at any moment, with the model broker in memory."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conversation.stage import Stage, staged

from amqp_sansio.config import ServerConfig
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import SessionLost, TransactionFailed
from amqp_sansio.spec import queue

WORDS = ["publish", "publish", "publish", "run", "cut", "half", "connect"]
STEPS = st.lists(st.sampled_from(WORDS), max_size=40)


def half(stage: Stage) -> None:
    """Octets go one way only: what the client said arrives, and no answer does."""
    machine, peer = stage.client.machine, stage.peer
    assert peer is not None
    octets = machine.data_to_send()
    if octets and not peer._eof:
        peer.receive_data(octets)
    for _ in stage.broker.events():
        pass


class Line:
    """The connection of a stage, which goes up and down as it is told."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._up = True

    def step(self, word: str) -> None:
        """Does what the word says, where it can be done; words of others are passed over."""
        if word == "connect" and not self._up:
            self._stage.connect()
            self._up = True
        elif word == "run" and self._up:
            self._stage.run()
        elif word == "half" and self._up:
            half(self._stage)
        elif word == "cut" and self._up:
            self._stage.cut()
            self._up = False


@given(STEPS, st.sampled_from([0, 600]))
@settings(max_examples=settings().max_examples * 2)
def test_a_confirmed_message_is_there_and_a_resumed_session_has_each_once(steps: list[str], timeout: int) -> None:
    """A message whose ticket is settled is on the queue, none is there twice, and what is there and was not confirmed is one of
    those whose ticket failed with SessionLost; on a session that the broker keeps, all are confirmed."""
    stage = staged(server=ServerConfig(session_timeout=600))
    talk = stage.open(timeout=timeout)
    stage.get(talk.execute(queue.Declare("q")))
    tickets: list[Ticket[None]] = []
    line = Line(stage)
    for step in [*steps, "connect", "run"]:
        if step == "publish" and talk.has_room:
            tickets.append(talk.publish("", "q", b"%d" % len(tickets), {}))
        line.step(step)
    stage.get(talk.sync())
    inbox = talk.subscribe("q", prefetch=1000)
    stage.run()
    found = [int(message.body) for message in inbox.messages]
    assert found == sorted(set(found))
    confirmed = {number for number, ticket in enumerate(tickets) if ticket.done and ticket.error is None}
    doubtful = {number for number, ticket in enumerate(tickets) if isinstance(ticket.error, SessionLost)}
    assert len(confirmed) + len(doubtful) == len(tickets)
    assert confirmed <= set(found) <= confirmed | doubtful
    if timeout:
        assert doubtful == set()


@given(st.lists(st.sampled_from([*WORDS, "abandon"]), min_size=20, max_size=60), st.sampled_from([0, 600]))
@settings(max_examples=settings().max_examples * 2)
def test_a_transaction_is_there_whole_or_not_at_all(steps: list[str], timeout: int) -> None:
    """Whenever the connection is cut, a transaction's messages are all there or none is; all are, if its block says so."""
    stage = staged(server=ServerConfig(session_timeout=600))
    talk = stage.open(timeout=timeout)
    stage.get(talk.execute(queue.Declare("q")))
    outcomes: list[Ticket[None]] = []
    sizes: list[int] = []
    line, size = Line(stage), -1
    for step in [*steps, "connect", "run"]:
        try:
            if step == "publish" and talk.has_room:
                if size < 0:
                    talk.transactions.begin()
                    size = 0
                elif size < 2:
                    talk.publish("", "q", b"%d" % len(outcomes), {})
                    size += 1
                else:
                    outcomes.append(talk.transactions.finish())
                    sizes.append(size)
                    size = -1
            elif step == "abandon" and size >= 0:
                talk.transactions.abandon()
                size = -1
            line.step(step)
        except TransactionFailed:
            talk.transactions.abandon()
            size = -1
    if size >= 0:
        talk.transactions.abandon()
    stage.get(talk.sync())
    other = stage.open()
    inbox = other.subscribe("q", prefetch=1000)
    stage.run()
    found = [int(message.body) for message in inbox.messages]
    for number, outcome in enumerate(outcomes):
        assert outcome.done
        there = found.count(number)
        assert there in (0, sizes[number])
        if outcome.error is None:
            assert there == sizes[number]
        else:
            assert isinstance(outcome.error, TransactionFailed)
            if outcome.error.outcome == "rolled back":
                assert there == 0
    if timeout:
        assert [each for each in outcomes if each.error is not None] == []
    assert len(found) == sum(sizes[number] for number in set(found))
