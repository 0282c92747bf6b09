"""The sessions of a broker."""

from __future__ import annotations

from tests.broker.harness import World, front
from tests.broker.restarts import JOURNAL, declared, stored

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.operations import SessionLeft


def kept() -> World:
    """A broker with a session that outlived its connection."""
    world, client, _ = declared(timeout=300)
    stored(world)
    client.cut()
    return world


def test_a_session_that_goes_on_leaves_the_last_snapshot_once() -> None:
    world = kept()
    sessions = front(world.broker)
    assert (sessions.alive, sessions.hosts()) == (True, {""})
    ((key, holder),) = sessions.sessions.items()
    assert sessions.touched(key) == 0
    assert [plain["name"] for plain in sessions.take()] == [b"s"]
    number = sessions.touched(key)
    assert number == sessions.touched(key) == world.broker._journals.last
    (entry,) = [entry for entry in world.broker.journal() if entry.number == number]
    assert entry.operations == (SessionLeft(*key),)
    world.broker.journalled(number)
    assert sessions.touched(key) == 0
    holder.end()
    assert (sessions.alive, sessions.hosts()) == (False, set())


def test_a_session_of_which_the_journal_says_that_it_is_left_is_not_restored() -> None:
    world = kept()
    sessions = front(world.broker)
    (plain,) = sessions.take()
    assert sessions.outlived(plain, ())
    assert not sessions.outlived(plain, {("", plain["identity"], b"s")})
    assert sessions.claims(plain) == (set(), set())
    then = Broker.restore(world.broker.snapshot(), config=JOURNAL)
    assert list(front(then).sessions) == list(sessions.sessions)
