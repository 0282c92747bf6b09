"""Generated conversations held with our client and our server: what they reach, and what they object to."""

from __future__ import annotations

import pytest

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.tables.session import ATTACHMENT
from amqp_sansio.tables.transfer import EXPLICIT
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.step import Speaker
from tools.witnesses.roles import ROLES, Walk, follow, play, reached, report


@pytest.mark.parametrize("us", ROLES)
def test_a_role_reaches_every_row_of_its_peer_and_objects_to_nothing_legal(us: Speaker) -> None:
    found = reached(us)
    assert found.faults == []
    assert [(walk.table.name, walk.gaps) for walk in found.walks if walk.gaps] == []
    assert "not reached" not in report(us, found)


OPENED = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
)  # fmt: skip


@pytest.mark.parametrize("us", ROLES)
def test_words_are_what_crossed_the_wire(us: Speaker) -> None:
    said = (*OPENED, "client:connection.close", "server:connection.close-ok")
    assert play(us, PARTS["connection"], said).words == said


def test_a_conversation_goes_as_far_as_our_side_says_it() -> None:
    """Our client says no attached that nobody asked for; what its peer said before that was heard."""
    played = play("client", PARTS["session: attachment"], ("server:session.attach", "client:session.attached"))
    assert played.words == ("server:session.attach", "client:session.detached")


def test_an_objection_of_ours_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a client ends the connection for a legal word, the conversation and the rule are told."""
    receive = ClientConnection.receive_data
    monkeypatch.setattr(ClientConnection, "receive_data", lambda self, data: receive(self, data.replace(b"AMQP", b"AMQQ")))
    played = play("client", PARTS["connection"], OPENED)
    assert played.blamed is not None
    assert played.words[:2] == OPENED[:2]


def test_a_row_that_a_role_should_reach_and_does_not_is_a_gap() -> None:
    walk = Walk(EXPLICIT, "client")
    said = ("sender:message.transfer pre-acquired", "recipient:session.completed")
    walk.add(said, said)
    walk.add((*said, "recipient:message.accept"), said)
    assert walk.unsaid == {("ACQUIRED", "recipient", "message.accept")}
    assert not walk.gaps | walk.unheard
    server = Walk(EXPLICIT, "server")
    server.add((*said, "recipient:message.accept"), said)
    assert server.gaps == {("ACQUIRED", "recipient", "message.accept")}


def test_following_stops_at_the_first_refusal() -> None:
    words = ("client:session.attach", "client:session.attached", "client:session.attach")
    assert list(follow(ATTACHMENT["client"], words)) == [("detached", "client", "session.attach")]
