"""The sessions of a broker."""

from __future__ import annotations

from tests.broker.harness import World, front
from tests.broker.restarts import JOURNAL, declared, stored

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.fronts.sessions.front import Kept
from amqp_sansio.broker.journal import SessionLeft


def kept() -> World:
    """A broker with a session that outlived its connection."""
    world, client, _ = declared(timeout=300)
    stored(world)
    client.cut()
    return world


def test_a_session_that_goes_on_leaves_the_last_snapshot_once() -> None:
    world = kept()
    sessions = front(world.broker)
    assert sessions.alive
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
    assert not sessions.alive


def test_a_session_of_which_the_journal_says_that_it_is_left_is_not_restored() -> None:
    world = kept()
    sessions = front(world.broker)
    (plain,) = sessions.take()
    assert sessions.outlived(plain, ())
    assert not sessions.outlived(plain, {("", plain["identity"], b"s")})
    assert sessions.claims(plain) == (set(), set())
    then = Broker.restore(world.broker.snapshot(), config=JOURNAL)
    assert list(front(then).sessions) == list(sessions.sessions)


def test_each_identity_of_each_virtual_host_has_room_of_its_own() -> None:
    kept = Kept(2)
    mine = [("h", "me", b"%d" % number) for number in range(3)]
    for key in mine[:2]:
        assert kept.has_room(key)
        kept.begins(key)
    assert [kept.has_room(key) for key in (mine[2], ("h", "you", b"0"), ("i", "me", b"0"))] == [False, True, True]
    kept.ends(mine[0])
    assert kept.has_room(mine[2])


def test_a_session_that_keeps_nothing_costs_nothing() -> None:
    kept = Kept(1)
    kept.begins(("h", "me", b"0"))
    kept.ends(("h", "me", b"0"))
    assert not kept._counts
