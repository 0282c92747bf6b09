"""A broker that is asked only by `ready` and `due` does all that it can, and asks for nothing where it can do nothing."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.broker.harness import front, service

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.holder import SessionConsumer, SessionHolder
from amqp_sansio.errors import AmqpError
from amqp_sansio.events import CommandReceived, CommandsCompleted, TransferReceived
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import BrokerLimits, Limits
from amqp_sansio.spec import queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode
from amqp_sansio.spec.message import Flow, SetFlowMode, Stop

QUEUES: Final = ("a", "b")
MOST_ROUNDS: Final = 2000


class Party:
    """A client with a session at the broker."""

    def __init__(self, broker: Broker, number: int, limits: Limits, kept: int) -> None:
        self.broker: Final = broker
        self.limits: Final = limits
        self.connect()
        self.name: Final = b"%d" % number
        self.kept: Final = kept
        self.got: Final[list[int]] = []  # transfers that are not settled
        self.flushes: Final[set[int]] = set()
        self.stopped = False
        self.flying = b""  # what it was sent and has not read
        self.session: Session

    def connect(self) -> None:
        """A new connection; nobody has said anything on it."""
        self.connection = ClientConnection(ClientConfig(heartbeat=0, properties={"qpid.session_flow": 1}))
        self.peer = self.broker.connect(ServerConfig(limits=self.limits, session_timeout=None))

    def read(self) -> None:
        """Reads what it was sent, and completes what need not be settled."""
        octets, self.flying = self.flying, b""
        if octets:
            self.connection.receive_data(octets)
        for event in self.connection.events():
            if isinstance(event, TransferReceived):
                self.got.append(event.id)
            elif isinstance(event, CommandsCompleted):
                self.flushes.difference_update([each for each in self.flushes if each in event.ids])
            elif isinstance(event, CommandReceived):
                self.obey(event.command)

    def obey(self, command: Command) -> None:
        """Throttling is heard."""
        if isinstance(command, Stop):
            self.stopped = True
        elif isinstance(command, Flow):
            self.stopped = False
        else:
            assert isinstance(command, SetFlowMode)

    @property
    def holder(self) -> SessionHolder:
        return service(self.peer).holders[self.name]


class Show:
    """A broker, its clients, and a loop that goes round only when `ready` or `due` says so.

    `says`: whether it says by `Peer.writable` whose sockets take nothing; else it passes those over itself.
    `takes`: 0 takes the outboxes of all who are ready, 1 that of one of them each round, 2 all of them until they stay empty.
    """

    def __init__(self, takes: int, says: bool, journal: bool, replay: int, outbox: int, unsettled: int) -> None:
        broker_limits = BrokerLimits(outbox_octets=outbox, unaccepted_transfers=unsettled, throttle_messages=100)
        self.broker: Final = Broker(BrokerConfig(journal=journal, limits=broker_limits))
        self.takes: Final = takes
        self.now = 0.0
        self.stored = 0
        limits = Limits(replay_commands=replay)
        self.parties: Final = [Party(self.broker, number, limits, number % 2) for number in range(3)]
        self.says: Final = says
        self.deaf: set[Party] = set()
        """Whose sockets take nothing."""
        self.settle()
        for party in self.parties:
            party.session = party.connection.session(party.name, 600 if party.kept else 0)
            self.settle()
            assert party.session.state == "attached"
        for name in QUEUES:
            self.parties[0].session.send(queue.Declare(name, durable=name == "a"))
        self.settle()

    # --- the loop -----------------------------------------------------------------------------------------------------------

    @property
    def due(self) -> bool:
        due = self.broker.due
        return due is not None and due <= self.now

    def calls(self) -> bool:
        """Whether the broker wants another round, as far as sockets take octets."""
        return self.due or bool(self.takers())

    def takers(self) -> list[Party]:
        if self.says:
            for party in self.parties:
                if party.peer.writable is (party in self.deaf):
                    party.peer.writable = party not in self.deaf
        ready = self.broker.ready()
        if self.says:
            assert all(peer.writable or peer.ended for peer in ready)
        return [party for party in self.parties if party.peer in ready and party not in self.deaf]

    def turn(self, events: int = 1000) -> bool:
        """One round of a loop; whether anything happened in it that can be seen from outside."""
        self.broker.tick(self.now)
        happened = False
        for _ in range(events):
            if self.broker.next_event() is None:
                break
            happened = True
        takers = self.takers()
        for party in takers[:1] if self.takes == 1 else takers:
            while octets := party.peer.data_to_send():
                party.flying += octets
                happened = True
                if self.takes < 2:
                    break
        return happened

    def rest(self) -> None:
        """Rounds until the broker wants no other; none but a first one is in vain.

        Who takes all of them until they stay empty, as our servers do, asks `due` alone whether to go round again.
        """
        idle = 0
        for number in range(MOST_ROUNDS):
            if not (self.due if self.takes == 2 and number else self.calls()):
                return
            idle = 0 if self.turn() else idle + 1
            assert idle < 3, "the loop spins"
        raise AssertionError("it never comes to rest")

    def hear(self, party: Party) -> None:
        """What a client says arrives."""
        octets = party.connection.data_to_send()
        if octets:
            party.peer.receive_data(octets)

    def settle(self) -> None:
        """Everything that anybody says arrives, is stored, and is answered, until nobody has anything to say."""
        for _ in range(200):
            for party in self.parties:
                party.read()
                self.hear(party)
            self.rest()
            self.store(1000)
            self.rest()
            if not any(party.flying or party.connection.bytes_to_send for party in self.parties):
                return
        raise AssertionError("they never come to rest")

    def store(self, most: int) -> None:
        """So many entries of the journal come to the disk."""
        self.stored = max([self.stored, *[entry.number for entry in self.broker.journal()]])
        done = self.broker._journals.done
        self.broker.journalled(min(done + most, self.stored))

    # --- what must hold at rest ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Nobody who could have a message waits for one, no flush that is done waits for its completion, nobody who may
        publish again is kept from it, and nothing changes when the broker is asked all the same."""
        assert not self.calls()
        for party in self.parties:
            if party in self.deaf:
                continue
            assert not service(party.peer).connection._channels.roomless, f"{party.name!r} is never told all that is in doubt"
            if party.name not in service(party.peer).holders:  # detached
                continue
            holder = party.holder
            for consumer in holder.consumers.values():
                wanting = self.wanting(party, consumer)
                assert not wanting, f"{consumer} could have message {wanting}"
                assert not consumer._flushes or self.full(party), f"a flush of {consumer} never completes"
            if front(self.broker).throttle.told(holder):
                longest = max(each.messages for each in self.broker.host().queues.values())
                assert longest > 50 or self.full(party), f"{party.name!r} is never told to go on"
        before = [party.peer.bytes_to_send for party in self.parties]
        self.broker.tick(self.now)
        assert list(self.broker.events()) == []
        assert [party.peer.bytes_to_send for party in self.parties] == before

    def full(self, party: Party) -> bool:
        """Whether no more can be kept for replay."""
        outbound = party.holder.session._outbound
        return outbound.retain and len(outbound.kept) >= party.peer._connection.limits.replay_commands

    def held_up(self, party: Party, consumer: SessionConsumer) -> bool:
        """Whether something else than credit keeps its session from getting a message."""
        limited = consumer.explicit or not consumer.acquires
        return self.full(party) or (limited and len(party.holder.unsettled) >= self.broker.limits.unaccepted_transfers)

    def wanting(self, party: Party, consumer: SessionConsumer) -> object:
        """A message that the consumer could have now; None when there is none."""
        if self.held_up(party, consumer):
            return None
        if consumer.acquires:
            head = consumer.queue.head
        else:
            dispatcher = consumer.queue.dispatcher
            assert dispatcher is not None
            found = dispatcher._cursors[consumer].peek()
            head = None if found is None else found[1]
        return head if head is not None and consumer.able(head.message) else None


class Script:
    """What happens, said by numbers."""

    def __init__(self, show: Show) -> None:
        self.show: Final = show

    def do(self, verb: str, who: int, a: int, b: int) -> None:
        with suppress(AmqpError):  # it has such a subscription already, or no credit
            getattr(self, verb)(self.show.parties[who], a, b)

    def publish(self, party: Party, a: int, b: int) -> None:
        for _ in range(a * 20):
            if party.stopped:
                return
            body = b"x" * (1 + b * 90)
            party.session.publish(
                routing_key=QUEUES[a % 2], body=body, accept_mode=AcceptMode.NONE, delivery_mode=DeliveryMode(1 + b % 2)
            )

    def expiring(self, party: Party, a: int, b: int) -> None:
        """Messages that are gone some time after they were stored."""
        for _ in range(a * 20):
            if not party.stopped:
                party.session.publish(routing_key=QUEUES[a % 2], body=b"x", accept_mode=AcceptMode.NONE, ttl=1 + b * 1000)

    def transact(self, party: Party, a: int, b: int) -> None:
        """From now on its session works in transactions; one of them is decided."""
        with suppress(AmqpError):  # it does so already
            party.session.select_tx()
        (party.session.tx.rollback if a == 0 else party.session.tx.commit)()

    def subscribe(self, party: Party, a: int, b: int) -> None:
        octets = INFINITE if a < 4 else a * 30  # too few for a large body, so that smaller ones behind it are to come
        party.session.subscribe(
            QUEUES[a % 2], f"d{a % 2}", accept_mode=AcceptMode(b % 2), acquire_mode=AcquireMode(b // 2 % 2)
        ).grant(a * 80, octets)

    def grant(self, party: Party, a: int, b: int) -> None:
        if f"d{a % 2}" in party.session.subscriptions:
            party.session.subscriptions[f"d{a % 2}"].grant(a * 30, INFINITE if b == 0 else b * 40)

    def flush(self, party: Party, a: int, b: int) -> None:
        if f"d{a % 2}" in party.session.subscriptions:
            party.flushes.add(party.session.subscriptions[f"d{a % 2}"].flush())

    def cancel(self, party: Party, a: int, b: int) -> None:
        if f"d{a % 2}" in party.session.subscriptions:
            party.session.subscriptions[f"d{a % 2}"].cancel()

    def accept(self, party: Party, a: int, b: int) -> None:
        some = party.got[: a * 30]
        known = [each for each in some if each in party.session._transfers.deliveries]
        del party.got[: len(some)]
        if known:
            (party.session.release if b == 3 else party.session.accept)(known)

    def detach(self, party: Party, a: int, b: int) -> None:
        if party.kept:
            party.session.detach()

    def attach(self, party: Party, a: int, b: int) -> None:
        if party.session.state == "detached" and party.connection.is_open:
            party.connection.resume(party.session)

    def cut(self, party: Party, a: int, b: int) -> None:
        """What was on the way is lost, and the session attached again, from a new connection, when that is open."""
        if party.kept:
            party.flying = b""
            party.peer.receive_eof()
            party.connection.receive_eof()
            party.read()
            party.connect()

    def read(self, party: Party, a: int, b: int) -> None:
        party.read()

    def say(self, party: Party, a: int, b: int) -> None:
        self.show.hear(party)

    def deafen(self, party: Party, a: int, b: int) -> None:
        (self.show.deaf.add if a % 2 else self.show.deaf.discard)(party)

    def store(self, party: Party, a: int, b: int) -> None:
        self.show.store(1 + a * 10)

    def turn(self, party: Party, a: int, b: int) -> None:
        self.show.turn(1 + a * 3)

    def administer(self, party: Party, a: int, b: int) -> None:
        if QUEUES[a % 2] in self.show.broker.host().queues:
            self.show.broker.host().purge(QUEUES[a % 2])

    def wait(self, party: Party, a: int, b: int) -> None:
        self.show.now += a

    def purge(self, party: Party, a: int, b: int) -> None:
        party.session.send(queue.Purge(QUEUES[a % 2]))


VERBS: Final = sorted(verb for verb in vars(Script) if not verb.startswith("_") and verb != "do")
STEPS: Final = st.lists(
    st.tuples(st.sampled_from(VERBS), st.integers(0, 2), st.integers(0, 5), st.integers(0, 3)), min_size=5, max_size=60
)


# If the broker could do anything now, `ready` is not empty or `due` is at most now; if it cannot, neither is.
@settings(max_examples=settings().max_examples * 2)
@given(
    takes=st.integers(0, 2),
    says=st.booleans(),
    journal=st.booleans(),
    replay=st.sampled_from([12, 65536]),
    outbox=st.sampled_from([1500, 8000]),
    unsettled=st.sampled_from([30, 1000]),
    steps=STEPS,
)
@example(  # more is on the queue than is delivered in one turn, and the outbox is taken until it stays empty
    takes=2, says=False, journal=False, replay=65536, outbox=8000, unsettled=1000,
    steps=[*[step for who in (0, 1, 2) for step in (("publish", who, 5, 0), ("say", who, 0, 0))],
           ("subscribe", 1, 5, 0), ("grant", 1, 5, 0), ("say", 1, 0, 0)],
)  # fmt: skip
@example(  # more is in doubt than goes into an outbox when a session is attached again
    takes=0, says=False, journal=False, replay=65536, outbox=1500, unsettled=1000,
    steps=[("publish", 1, 5, 3), ("say", 1, 0, 0), ("subscribe", 1, 3, 1), ("say", 1, 0, 0), ("turn", 1, 5, 0),
           ("cut", 1, 0, 0), *[step for _ in range(4) for step in (("say", 1, 0, 0), ("read", 1, 0, 0))],
           ("attach", 1, 0, 0), *[step for _ in range(4) for step in (("say", 1, 0, 0), ("read", 1, 0, 0))]],
)  # fmt: skip
def test_all_that_can_be_done_is_done(
    takes: int, says: bool, journal: bool, replay: int, outbox: int, unsettled: int, steps: list[tuple[str, int, int, int]]
) -> None:
    show = Show(takes, says, journal, replay, outbox, unsettled)
    script = Script(show)
    for step in steps:
        script.do(*step)
        if step[0] == "turn":
            continue
        show.rest()
        show.check()
    show.deaf.clear()
    show.settle()
    show.check()
    for party in show.parties:
        if party.session.state == "detached":
            assert party.kept
            party.connection.resume(party.session)
    show.settle()
    show.check()
    assert [party.session.state for party in show.parties] == ["attached"] * 3
    for party in show.parties:
        assert not party.flushes or any(show.held_up(party, each) for each in party.holder.consumers.values())
        assert not party.session.in_doubt or party.flushes
