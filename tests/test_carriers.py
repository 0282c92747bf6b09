"""The bare carrier and the wire that tests of sessions stand on."""

from __future__ import annotations

from tests.carriers import BareCarrier, Wire, attached_session

from amqp_sansio.events import SessionAttached, SessionDetached
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as c


def test_what_was_sent_and_what_happened() -> None:
    carrier = BareCarrier("client")
    carrier.hear(c.Flush(True))
    assert carrier.said() == [c.Detached(b"", 3)]
    assert carrier.said() == []
    assert carrier.channels.session_named(b"s") is None


def test_frame_breaches_are_kept_apart() -> None:
    carrier, session = attached_session("server")
    carrier.feed(b"\x03\x02\x00\x0c\x00\x01\x00\x00\x00\x00\x00\x00")
    assert [violation.code for violation in carrier.failed] == [501]
    assert session.state == "attached"
    assert carrier.channels.session_named(b"s") is session


def test_octets_beyond_a_cut_are_lost() -> None:
    wire = Wire(session_timeout=None)
    ours, theirs = wire.session(timeout=None)
    wire.client.happened()
    wire.server.happened()
    ours.sync()
    wire.cut(to_server=27)
    assert [type(event) for event in wire.server.happened()] == [SessionDetached]
    before = theirs._inbound.begun
    wire.client.channel(0).bind(ours)
    ours.attach()
    wire.run()
    assert SessionAttached(b"s", 0, True) in wire.client.happened()
    assert (before, theirs._inbound.next_id) == (False, 1)
    assert not ours.in_doubt


def test_a_session_at_both_ends() -> None:
    for role, other in (("client", "server"), ("server", "client")):
        assert role in ("client", "server")
        carrier, session = attached_session("client" if other == "server" else "server", b"name")
        assert (session.name, session.state, session.role) == (b"name", "attached", role)
        session.send(execution.Sync())
        assert carrier.said()[0] == c.CommandPoint(0, 0)
