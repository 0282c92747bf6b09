"""A virtual host, what is durable of it, and the host that is made of that."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.histories import History, Step, steps
from tests.broker.transactions.stage import ME, XID, Stage

from amqp_sansio.broker.durable_fold import HostLedger, Ledger
from amqp_sansio.broker.durable_state import Rebuilding, survey
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.journal import Enqueued, Entry, Journal, MessageStored, QueueDeclared
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Intake
from amqp_sansio.broker.transactions.coordinator import Coordinator
from amqp_sansio.errors import RestoreError
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits


def rebuilt(
    ledger: HostLedger, redelivered: bool = False, limits: BrokerLimits = DEFAULT_BROKER_LIMITS, epoch: float = 0.0
) -> tuple[VirtualHost, Coordinator]:
    journal = Journal(enabled=True)
    host = VirtualHost(ledger.name, journal, limits, Intake(epoch or None))
    coordinator = Coordinator(host, journal, limits)
    Rebuilding(host, coordinator, redelivered, epoch, {FORM.name: FORM}).build(ledger)
    assert (journal.enabled, journal.take()) == (True, ())
    return host, coordinator


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
    ledger = Ledger()
    for entry in history.entries:
        assert ledger.enter(entry)
    assert told(ledger.hosts["h"]) == told(survey(history.host, history.coordinator))


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
    before = survey(history.host, history.coordinator)
    host, coordinator = rebuilt(before)
    assert survey(host, coordinator) == before
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
    ledger = survey(stage.host, stage.coordinator)
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
    ledger = survey(stage.host, stage.coordinator)
    for decision in ("commit", "rollback"):
        stage.stored()
        journal = Journal(enabled=True)
        host = VirtualHost("h", journal)
        host.declare_queue("t")
        coordinator = Coordinator(host, journal, DEFAULT_BROKER_LIMITS)
        Rebuilding(host, coordinator, True, 0.0, {FORM.name: FORM}).build(ledger)
        assert (host.queues["q"].available, host.queues["q"].acquired) == (0, 1)
        getattr(coordinator, decision)(XID)
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
    ledger = Ledger()
    for entry in stage.entries:
        ledger.enter(entry)
    assert ledger.hosts["h"] == survey(stage.host, stage.coordinator)
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
        rebuilt(survey(stage.host, stage.coordinator), limits=attrs.evolve(DEFAULT_BROKER_LIMITS, queues=1))


def test_a_message_of_a_family_that_is_not_known_is_refused_with_both_names() -> None:
    ledger = HostLedger("h")
    ledger.apply(QueueDeclared("h", "q"))
    ledger.apply(MessageStored("h", 1, b"", b"body", None, "strange"))
    ledger.apply(Enqueued("h", "q", 1))
    with pytest.raises(RestoreError, match=r"message 1.*its form is 'strange', and this broker knows sessions"):
        rebuilt(ledger)
