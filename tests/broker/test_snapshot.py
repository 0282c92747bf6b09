"""A broker stops, and another one goes on: from a snapshot, and from the journal entries after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.branches import ME, Stage
from tests.broker.harness import Client, World, bodies, done, front
from tests.broker.histories import QUEUES, History, Step, steps
from tests.broker.restarts import JOURNAL, XID, again, consume, declared, ledger, publish, say, stored

from amqp_sansio import RangeSet, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.durable_fold import FoldedState, HostLedger
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.journal import Closed, Enqueued, Entry, Journal, Marks, MessageStored, Opened, QueueDeclared
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Envelope, Intake, Message
from amqp_sansio.broker.snapshot import Rebuilding, conclude, decode_snapshot, encode_snapshot, survey
from amqp_sansio.broker.transactions import Coordinator
from amqp_sansio.errors import RestoreError
from amqp_sansio.events import ResultReceived, TransferReceived
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.codes import DeliveryMode, XaStatus
from amqp_sansio.spec.dtx import RecoverResult, XaResult
from amqp_sansio.spec.exchange import ExchangeBoundResult
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.spec.queue import QueueQueryResult

# --- what is durable ------------------------------------------------------------------------------------------------------


def test_what_is_durable_is_there_again_and_what_is_not_is_gone() -> None:
    world, client, session = declared()
    say(
        client, session, exchange.Declare("x", "topic", durable=True), exchange.Declare("y", "topic"),
        exchange.Bind("q", "x", "a.#"), exchange.Bind("q", "y", "b"), queue.Declare("r", "x", durable=True, auto_delete=True),
    )  # fmt: skip
    publish(client, session, b"kept")
    publish(client, session, b"transient", persistent=False)
    publish(client, session, b"on a transient queue", "t")
    client.cut()
    then = again(world)
    assert ledger(then.broker) == ledger(world.broker)
    host = then.broker.host()
    assert (sorted(host.queues), "x" in host.exchanges, "y" in host.exchanges) == (["q", "r"], True, False)
    reader = then.connect()
    session = reader.session(b"reader")
    stored(then)  # that somebody has come
    consume(reader, session)
    assert bodies(reader) == [b"kept"]


Restart = Callable[[World, tuple[Entry, ...]], World]

RESTARTS: dict[str, Restart] = {
    "snapshot": lambda world, _: again(world),
    "journal": lambda world, entries: World(broker=Broker.restore(None, entries, config=world.broker.config)),
}


@pytest.fixture(params=RESTARTS)
def restarted(request: pytest.FixtureRequest) -> tuple[Client, Session]:
    """A session at a broker that goes on, from its snapshot or from its journal, where another one stopped: with a durable
    queue "q" and a durable exchange "x", bound with the key "a.#", and the persistent message "kept" on the queue."""
    world = World(JOURNAL)
    client, session = world.session()
    entries: list[Entry] = []
    for command in (
        queue.Declare("q", durable=True), queue.Declare("t"), exchange.Declare("x", "topic", durable=True),
        exchange.Bind("q", "x", "a.#"), exchange.Bind("t", "x", "#"),
    ):  # fmt: skip
        session.send(command)
    session.publish("x", routing_key="a.b", body=b"kept", delivery_mode=DeliveryMode.PERSISTENT)
    session.publish("x", routing_key="a.b", body=b"transient")
    world.run()
    entries += stored(world)
    client.cut()
    then = RESTARTS[request.param](world, tuple(entries))
    reader = then.connect()
    session = reader.session(b"reader")
    stored(then)  # that somebody has come
    return reader, session


@pytest.mark.rule("queue.declare.durable.persistence")
def test_a_durable_queue_is_there_after_a_restart(restarted: tuple[Client, Session]) -> None:
    client, session = restarted
    assert done(client, session, queue.Declare("q", passive=True)) is None
    assert done(client, session, queue.Query("t")) == QueueQueryResult()


@pytest.mark.rule("exchange.bind.durable-exchange")
def test_a_binding_of_durable_ends_is_there_after_a_restart(restarted: tuple[Client, Session]) -> None:
    client, session = restarted
    assert done(client, session, exchange.Bound("x", "q", "a.#")) == ExchangeBoundResult()
    session.publish("x", routing_key="a.c", body=b"routed")
    consume(client, session)
    assert b"routed" in bodies(client)


@pytest.mark.rule("message.persistent-message")
def test_a_persistent_message_is_there_after_a_restart(restarted: tuple[Client, Session]) -> None:
    client, session = restarted
    consume(client, session)
    assert bodies(client) == [b"kept"]


@pytest.mark.parametrize("connected", [False, True])
def test_messages_count_as_redelivered_unless_nothing_can_have_happened_since(connected: bool) -> None:
    world, client, session = declared()
    publish(client, session, b"one")
    if not connected:
        client.cut()
    snapshot = world.broker.snapshot()
    assert snapshot["clean"] is not connected

    assert marks(Broker.restore(snapshot, config=JOURNAL)) == [connected]
    world.connect()
    entries = world.broker.journal()
    if connected:
        assert entries == ()
    else:
        assert [entry.operations for entry in entries] == [(Opened(""),)]
        assert marks(Broker.restore(snapshot, entries, config=JOURNAL)) == [True]
    for once_more in (Broker.restore(snapshot, config=JOURNAL),):
        once_more.connect()
        assert len(once_more.journal()) == (0 if connected else 1)


def marks(broker: Broker, name: str = "q") -> list[bool]:
    return [entry.redelivered for entry in broker.host().queues[name].all()]


def test_one_entry_says_as_much_of_a_clean_end_as_a_snapshot() -> None:
    world = World(JOURNAL)
    client, session = world.session()
    entries: list[Entry] = []
    session.send(queue.Declare("q", durable=True))
    for body in (b"one", b"two", b"three"):
        session.publish("", routing_key="q", body=body, delivery_mode=DeliveryMode.PERSISTENT)
    session.publish("", routing_key="q", body=b"transient")
    world.run()
    entries += stored(world)
    taker = client.session(b"taker")
    session.send(queue.Query("q"))
    taker.send(message.Subscribe("q", "d", 0, 0))
    taker.send(message.Flow("d", 0, 1))
    taker.send(message.Flow("d", 1, 0xFFFFFFFF))
    world.run()
    assert not conclude(world.broker), "somebody is connected"
    client.cut()
    assert world.broker.journal() == ()
    assert conclude(world.broker)
    (last,) = stored(world)
    assert last.operations == (Marks("", "q", [1]), Closed(""))
    assert world.broker._clean
    by_entry = Broker.restore(None, [*entries, last], config=JOURNAL)
    by_snapshot = Broker.restore(world.broker.snapshot(), config=JOURNAL)
    assert marks(by_entry) == marks(by_snapshot) == [True, False, False]
    opened: tuple[Entry, ...] = ()
    for broker in (by_snapshot, by_entry):
        broker.connect()
        opened = broker.journal()
        assert [each.operations for each in opened] == [(Opened(""),)]
    assert marks(Broker.restore(None, [*entries, last, *opened], config=JOURNAL)) == [True, True, True]


def test_only_a_snapshot_holds_sessions_that_are_kept_and_times_that_began_late() -> None:
    world, client, _ = declared(timeout=60)
    client.cut()
    assert front(world.broker).sessions
    assert not conclude(world.broker)
    assert not conclude(Broker())
    world, client, _ = declared()
    world.broker.host().late = True
    client.cut()
    assert not conclude(world.broker)
    assert world.broker.journal() == ()
    world.broker.host().late = False
    assert conclude(world.broker)


def test_a_time_that_begins_late_is_not_in_the_journal() -> None:
    host = Broker(JOURNAL).host()
    envelope = Envelope(FORM, b"", persistent=True, ttl=1000)
    assert not host.late
    host.begin_ttl(Message(1, envelope, b""))
    assert host.late


def test_numbers_go_on() -> None:
    world, client, session = declared()
    publish(client, session, b"one")
    then = again(world)
    client = then.connect()
    session = client.session()
    publish(client, session, b"two")
    numbers = [entry.message.number for entry in then.broker.host().queues["q"].all()]
    assert (numbers, then.broker._journals.last) == ([1, 2], world.broker._journals.last + 1)


def test_entries_that_are_in_the_snapshot_are_passed_over_and_a_gap_is_reported() -> None:
    world, _, session = declared()
    snapshot = world.broker.snapshot()
    session.send(queue.Declare("a", durable=True))
    session.send(queue.Declare("b", durable=True))
    world.run()
    entries = world.broker.journal()
    before = Entry(1, [QueueDeclared("", "q")])
    restored = Broker.restore(snapshot, (before, *entries), config=JOURNAL)
    assert sorted(restored.host().queues) == ["a", "b", "q"]
    with pytest.raises(RestoreError, match="entry 2 comes first"):
        Broker.restore(snapshot, entries[1:], config=JOURNAL)
    with pytest.raises(RestoreError, match="an Entry, not bytes"):
        Broker.restore(snapshot, [b"octets"], config=JOURNAL)  # type: ignore[list-item]


def test_a_broker_can_begin_with_the_journal_alone() -> None:
    world = World(JOURNAL)
    client = world.connect()
    session = client.session()
    session.send(queue.Declare("q", durable=True))
    world.run()
    entries = stored(world)
    session.send(message.Transfer("", 1, 0), DeliveryProperties(routing_key="q", delivery_mode=2), body=b"one")
    world.run()
    then = Broker.restore(None, entries + stored(world), config=JOURNAL)
    assert told(ledger(then)) == told(ledger(world.broker))
    assert (then._journals.last, then._journals.done) == (world.broker._journals.last, world.broker._journals.last)


def test_a_queue_that_goes_with_its_owner_goes_with_the_restart() -> None:
    world, client, session = declared()
    say(client, session, queue.Declare("mine", durable=True, exclusive=True, auto_delete=True))
    then = again(world)
    assert "mine" not in then.broker.host().queues
    assert [type(each).__name__ for entry in then.broker.journal() for each in entry.operations] == ["QueueDeleted"]


def test_after_a_restart_the_time_of_queues_that_nobody_uses_begins_again() -> None:
    world, client, session = declared()
    arguments = {"qpid.auto_delete_timeout": 5}
    for name, exclusive in (("owned", True), ("left", False), ("fresh", False)):
        say(client, session, queue.Declare(name, durable=True, exclusive=exclusive, arguments=arguments))
    say(client, session, message.Subscribe("left", "d", 0, 0), message.Cancel("d"))
    world.tick(3.0)
    then = again(world).broker
    names = {"owned", "left", "fresh"}
    assert (then.tick(100.0), names <= then.host().queues.keys()) == (105.0, True)
    then.tick(105.0)
    assert not names & then.host().queues.keys()
    assert [type(each).__name__ for entry in then.journal() for each in entry.operations] == ["QueueDeleted"] * 3


def test_time_goes_on_by_the_epochs() -> None:
    world = World(BrokerConfig(journal=True, epoch=1000.0))
    client = world.connect()
    session = client.session()
    world.tick(5.0)
    say(client, session, queue.Declare("q", durable=True))
    properties = DeliveryProperties(routing_key="q", delivery_mode=2, ttl=60_000)
    session.send(message.Transfer("", 1, 0), properties, body=b"one")
    client.peer.receive_data(client.connection.data_to_send())
    world.tick(0.0)
    then = again(world, config=BrokerConfig(journal=True, epoch=1050.0))  # its clock began 50 seconds later
    assert then.broker.tick(14.0) == 15.0
    assert then.broker.host().queues["q"].messages == 1
    then.broker.tick(15.0)
    assert then.broker.host().queues["q"].messages == 0


def test_a_time_that_had_not_begun_begins_when_the_message_is_restored() -> None:
    world = World(BrokerConfig(journal=True, epoch=1000.0))
    client = world.connect()
    session = client.session()
    world.tick(5.0)
    say(client, session, queue.Declare("q", durable=True))
    properties = DeliveryProperties(routing_key="q", delivery_mode=2, ttl=60_000)
    session.send(message.Transfer("", 1, 0), properties, body=b"one")
    world.run()  # and no tick after it
    then = again(world, config=BrokerConfig(journal=True, epoch=1050.0))
    assert then.broker.tick(14.0) == 74.0
    assert then.broker.host().queues["q"].messages == 1
    then.broker.tick(74.0)
    assert then.broker.host().queues["q"].messages == 0


# --- branches -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", [dtx.Commit(XID), dtx.Rollback(XID)])
@pytest.mark.rule("dtx.prepare.obligation-1")
def test_a_prepared_branch_is_recovered_and_decided(decision: dtx.Commit | dtx.Rollback) -> None:
    world, client, session = declared()
    publish(client, session, b"accepted")
    consume(client, session)
    (transfer,) = client.take(TransferReceived)
    say(client, session, dtx.Select(), dtx.Start(XID))
    publish(client, session, b"published")
    say(client, session, message.Accept(RangeSet.of(transfer.id)), dtx.End(XID), dtx.Prepare(XID))
    then = again(world)
    client = then.connect()
    session = client.session()
    assert done(client, session, dtx.Recover()) == RecoverResult((XID,))
    client.events.clear()
    session.send(decision)
    then.run()
    assert client.take(ResultReceived) == []  # not before it is journalled
    stored(then)
    assert [event.value for event in client.take(ResultReceived)] == [XaResult(XaStatus.XA_OK)]
    consume(client, session)
    assert bodies(client) == [b"published" if isinstance(decision, dtx.Commit) else b"accepted"]


# --- damage -------------------------------------------------------------------------------------------------------------------


@given(st.data())
def test_damaged_octets_are_reported(data: st.DataObject) -> None:
    """Whichever octets of a snapshot are changed, decoding it raises RestoreError and nothing else."""
    octets = bytearray(SAMPLE)
    for at in data.draw(st.lists(st.integers(0, len(octets) - 1), min_size=1, max_size=3, unique=True)):
        octets[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(RestoreError):
        decode_snapshot(bytes(octets))


def _sample() -> dict[str, object]:
    world, client, session = declared(timeout=300)
    publish(client, session, b"one")
    consume(client, session)
    client.cut()
    return world.broker.snapshot()


SNAPSHOT = _sample()
SAMPLE = encode_snapshot(SNAPSHOT)


def paths(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a plain value."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += paths(item, (*path, key))
    elif isinstance(value, tuple):
        for at, item in enumerate(value):
            found += paths(item, (*path, at))
    return found


def changed(value: Any, path: tuple[Any, ...], to: object) -> Any:
    """The same value with another thing at that place."""
    if not path:
        return to
    if isinstance(value, dict):
        return {**value, path[0]: changed(value[path[0]], path[1:], to)}
    return (*value[: path[0]], changed(value[path[0]], path[1:], to), *value[path[0] + 1 :])


@given(st.sampled_from(paths(SNAPSHOT)), st.sampled_from([None, -1, 2**70, "x", b"x", (), {}, (1, 2, 3), True, 1.5]))
def test_a_value_that_no_broker_made_is_reported(path: tuple[Any, ...], to: object) -> None:
    """Whatever stands in a snapshot instead of what was there, restoring works or raises RestoreError."""
    try:
        Broker.restore(changed(SNAPSHOT, path, to), config=JOURNAL)
    except RestoreError as why:
        assert str(why)  # noqa: PT017  (it need not be raised)


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        ({**SNAPSHOT, "version": 4}, "reads versions 1 to 3, not 4"),
        ({}, "KeyError"),
        ({**SNAPSHOT, "journal": "many"}, "journal is a number"),
        ({**SNAPSHOT, "clean": 1}, "clean is True or False"),
        ([], "TypeError"),
    ],
)
def test_what_is_wrong_is_reported(snapshot: Any, words: str) -> None:
    with pytest.raises(RestoreError, match=words):
        Broker.restore(snapshot, config=JOURNAL)


def test_a_virtual_host_that_the_config_does_not_know_is_reported() -> None:
    with pytest.raises(RestoreError, match="virtual host ''"):
        Broker.restore(SNAPSHOT, config=BrokerConfig(virtual_hosts=("other",)))


# --- any history ----------------------------------------------------------------------------------------------------------


class Brokered(History):
    """A history of a virtual host of a broker, whose journal an adapter keeps."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.kept: list[Entry] = []
        host = broker._open("h")
        assert host is not None
        self.host, self.coordinator, self.journal, self.limits = host, host.coordinator, broker._journals, broker.limits
        self.now = 0.0
        for name in QUEUES[:2]:
            if name not in self.host.queues:
                self.host.declare_queue(name, durable=True)
        if "t" not in self.host.queues:
            self.host.declare_queue("t")
        self.stored()

    def stored(self) -> int:
        entries = self.broker.journal()
        self.kept += entries
        self.broker.journalled(self.journal.last)
        return len(entries)


def concluded(snapshot: dict[str, Any], there: list[Entry], broker: Broker) -> None:
    """A broker that is ended by an entry and restored is the one that is ended by a snapshot and restored."""
    assert conclude(broker) is not broker.host("h").late
    if broker.host("h").late:
        return
    entries = [*there, *[decode_entry(encode_entry(entry)) for entry in broker.journal()]]
    one, other = Broker.restore(snapshot, entries, config=JOURNAL), Broker.restore(broker.snapshot(), config=JOURNAL)
    assert ledger(one, "h") == ledger(other, "h")
    assert (one._clean, other._clean) == (True, True)


@given(st.lists(steps(), max_size=40), st.lists(steps(), max_size=40), st.data())
def test_a_broker_that_is_restored_is_the_one_that_never_stopped(
    before: list[Step], after: list[Step], data: st.DataObject
) -> None:
    """Wherever the snapshot was taken and the journal ends, what is restored is what the entries up to there say; with all of
    them it is what is durable of the living broker."""
    history = Brokered(Broker(JOURNAL))
    for step in before:
        history.take(step)
    snapshot = decode_snapshot(encode_snapshot(history.broker.snapshot()))
    for step in after:
        history.take(step)
    history.stored()
    history.stored()  # what became visible may have expired meanwhile
    number = snapshot["journal"]
    assert isinstance(number, int)
    crash = data.draw(st.integers(number, history.journal.last), label="the last entry that was stored")
    there = [entry for entry in history.kept if entry.number <= crash]
    restored = Broker.restore(snapshot, there, config=JOURNAL)
    expected = FoldedState()
    for entry in there:
        expected.enter(entry)
    assert told(ledger(restored, "h")) == told(expected.hosts["h"])
    if crash == history.journal.last:
        concluded(snapshot, there, Broker.restore(snapshot, there, config=JOURNAL))
        assert told(ledger(restored, "h")) == told(ledger(history.broker, "h"))
    # And it goes on as well as the first one did.
    another = Brokered(restored)
    for step in after:
        another.take(step)
    another.stored()
    another.stored()
    for entry in another.kept:
        expected.enter(entry)
    assert told(expected.hosts["h"]) == told(ledger(restored, "h"))


def rebuilt(
    ledger: HostLedger, redelivered: bool = False, limits: BrokerLimits = DEFAULT_BROKER_LIMITS, epoch: float = 0.0
) -> tuple[VirtualHost, Coordinator]:
    journal = Journal(enabled=True)
    host = VirtualHost(ledger.name, journal, limits, Intake(epoch or None))
    Rebuilding(host, redelivered, epoch, {FORM.name: FORM}).build(ledger)
    assert (journal.enabled, journal.take()) == (True, ())
    return host, host.coordinator


class Recorded(History):
    """A history whose journal is kept from its first entry on."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        super().__init__()

    def stored(self) -> int:
        entries = self.journal.take()
        self.entries += entries
        self.journal.journalled(self.journal.last)
        return len(entries)


@given(st.lists(steps(), max_size=60))
def test_the_journal_tells_what_is_durable(said: list[Step]) -> None:
    """After any history, the entries of the journal added up are what is durable of the living host."""
    history = Recorded()
    for step in said:
        history.take(step)
    history.stored()
    history.stored()  # what became visible may have expired meanwhile
    ledger = FoldedState()
    for entry in history.entries:
        assert ledger.enter(entry)
    assert told(ledger.hosts["h"]) == told(survey(history.host))


def told(ledger: HostLedger) -> list[object]:
    """All but the redelivered marks, which are not in the journal."""
    return [
        Enqueued(each.host, each.queue, each.number) if isinstance(each, Enqueued) else each for each in ledger.operations()
    ]


@given(st.lists(steps(), max_size=60))
def test_what_was_rebuilt_is_what_was_surveyed(said: list[Step]) -> None:
    """A host that is made of what is durable of another one has the same that is durable."""
    history = Recorded()
    for step in said:
        history.take(step)
    before = survey(history.host)
    host, coordinator = rebuilt(before)
    assert survey(host) == before
    assert coordinator.recover() == history.coordinator.recover()


def test_messages_come_back_with_their_order_their_marks_and_their_time() -> None:
    stage = Stage(journal=True)
    stage.host.enqueue(stage.message(b"one"), [stage.queue()])
    stage.host.enqueue(stage.message(b"two", ttl=5000), [stage.queue()])
    stage.host.enqueue(stage.message(b"lost", persistent=False), [stage.queue()])
    stage.stored()
    entry = stage.queue().take()
    assert entry is not None
    stage.host.release([entry], True)
    ledger = survey(stage.host)
    host, _ = rebuilt(ledger)
    again = list(host.queues["q"].all())
    assert [(each.message.body, each.redelivered) for each in again] == [(b"one", True), (b"two", False)]
    assert (again[1].message.expires, host.expire(4.9), host.expire(5.0)) == (5.0, 5.0, None)
    host, _ = rebuilt(ledger, redelivered=True, epoch=3.0)
    assert [each.redelivered for each in host.queues["q"].all()] == [True, True]
    assert host.expire(1.9) == 2.0  # the clock began 3 seconds later
    assert host.intake.last == 2


def test_a_prepared_branch_comes_back_with_what_it_holds() -> None:
    stage = Stage(journal=True)
    stage.coordinator.start(ME, XID)
    stage.publish(b"published", "q", "t", persistent=True)
    stage.publish(b"transient", "r", persistent=False)
    stage.work().accept([stage.put(b"accepted")])
    stage.coordinator.end(ME, XID)
    stage.coordinator.prepare(XID)
    ledger = survey(stage.host)
    for decision in ("commit", "rollback"):
        stage.stored()
        journal = Journal(enabled=True)
        host = VirtualHost("h", journal)
        host.declare_queue("t")
        Rebuilding(host, True, 0.0, {FORM.name: FORM}).build(ledger)
        assert (host.queues["q"].available, host.queues["q"].acquired) == (0, 1)
        getattr(host.coordinator, decision)(XID)
        (entry,) = journal.take()
        journal.journalled(entry.number)
        waiting = {name: [each.message.body for each in host.queues[name].waiting()] for name in ("q", "r")}
        committed = {"q": [b"published"], "r": [b"transient"]}
        assert waiting == (committed if decision == "commit" else {"q": [b"accepted"], "r": []})
        assert host.queues["q"].acquired == 0


def test_a_transient_alternate_is_gone_after_a_restart() -> None:
    stage = Recorded()
    stage.host.declare_exchange("x", "topic")
    stage.host.declare_exchange("y", "topic", "x", durable=True)
    stage.host.declare_queue("u", "x", durable=True)
    stage.stored()
    ledger = FoldedState()
    for entry in stage.entries:
        ledger.enter(entry)
    assert ledger.hosts["h"] == survey(stage.host)
    host, _ = rebuilt(ledger.hosts["h"])
    assert (host.queues["u"].alternate, host.exchanges["y"].alternate) == (None, None)


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (QueueDeclared("h", "q", alternate="gone"), "no exchange 'gone'"),
        (QueueDeclared("h", "q", arguments={"qpid.max_count": "many"}), "qpid.max_count"),
    ],
)
def test_a_host_that_does_not_take_it_says_why(operation: QueueDeclared, words: str) -> None:
    ledger = HostLedger("h")
    ledger.apply(operation)
    with pytest.raises(RestoreError, match=words):
        rebuilt(ledger)


def test_a_limit_that_is_lower_than_before_is_reported() -> None:
    stage = Stage()
    with pytest.raises(RestoreError, match=r"virtual host 'h': .*limit queues is 1"):
        rebuilt(survey(stage.host), limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queues=1))


def test_a_message_of_a_family_that_is_not_known_is_refused_with_both_names() -> None:
    ledger = HostLedger("h")
    ledger.apply(QueueDeclared("h", "q"))
    ledger.apply(MessageStored("h", 1, b"", b"body", None, "strange"))
    ledger.apply(Enqueued("h", "q", 1))
    with pytest.raises(RestoreError, match=r"message 1.*its form is 'strange', and this broker knows sessions"):
        rebuilt(ledger)
