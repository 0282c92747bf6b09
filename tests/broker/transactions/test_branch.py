"""A branch as its coordinator keeps it."""

from __future__ import annotations

from tests.broker.restarts import XID, declared, say, stored
from tests.broker.transactions.stage import Stage

from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.operations import BranchPrepared
from amqp_sansio.broker.transactions.branch import Branch, standing, xid_of
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.ledger.demarcation import key_of
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties
from amqp_sansio.tables.branch import ACTIVE_ELSEWHERE, ACTIVE_HERE, ACTIVE_SUSPENDED, IDLE, UNKNOWN, Phase


def test_how_it_stands_depends_on_the_session_that_asks() -> None:
    stage = Stage()
    branch = Branch((1, b"g", b"b"), Work(stage.host, stage.limits), 60, "alice")
    here, suspended, elsewhere = Owner(SESSION), Owner(SESSION), Owner(SESSION)
    assert (standing(None, here), standing(branch, here)) == (UNKNOWN, IDLE)
    branch.sessions.update({here: True, suspended: False})
    assert [standing(branch, owner) for owner in (here, suspended, elsewhere)] == [
        ACTIVE_HERE,
        ACTIVE_SUSPENDED,
        ACTIVE_ELSEWHERE,
    ]
    assert (branch.evictable, branch.in_doubt) == (False, False)
    branch.phase = Phase.TIMED_OUT
    assert not branch.evictable
    branch.sessions.clear()
    assert branch.evictable


def test_an_xid_and_its_parts() -> None:
    assert xid_of(key_of(Xid(7, b"g", b"b"))) == Xid(7, b"g", b"b")


def test_of_a_prepared_branch_the_journal_has_what_is_for_durable_queues_that_are_there() -> None:
    """Of what a prepared branch has published, nothing is written down for a queue that is transient or gone."""
    world, client, session = declared()
    say(client, session, queue.Declare("gone", durable=True))
    for name in ("q", "t", "gone"):
        say(client, session, exchange.Bind(name, "amq.fanout", ""))
    say(client, session, dtx.Select(), dtx.Start(XID))
    session.send(message.Transfer("amq.fanout", 1, 0), DeliveryProperties(delivery_mode=2), body=b"x")
    say(client, session, queue.Delete("gone"), dtx.End(XID))
    session.send(dtx.Prepare(XID))
    world.run()
    (done,) = [each for entry in stored(world) for each in entry.operations if isinstance(each, BranchPrepared)]
    assert [names for _, names in done.published] == [("q",)]
