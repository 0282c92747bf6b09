"""How many sessions of each identity outlive their connections."""

from __future__ import annotations

from amqp_sansio.broker.fronts.sessions.kept import Kept


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
