"""The history of sessions; tests/captures/columns and tests/captures/replay have its rows."""

from __future__ import annotations

import pytest
from tests.captures.fake import FakeWitness

from amqp_sansio.captures.conversation import Conversation, Heard
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.replay.sessions import Sessions
from amqp_sansio.captures.replay.state import _classes
from amqp_sansio.events import CommandSeen
from amqp_sansio.spec.message import Transfer
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE


def test_all_of_its_parts_are_in_snapshots() -> None:
    known = _classes()
    assert [part for part in (Sessions, *Sessions.PARTS) if known.get(part.__name__) is not part] == []


@pytest.mark.parametrize(("last", "content"), [(200, 100 + 2 * FRAME_HEADER_SIZE + 5), (101, 101)])
def test_a_message_has_the_time_of_the_first_octet_of_its_content(last: int, content: int) -> None:
    """Behind the command's frame and the head of the next one; in one packet it is that of the packet: there may be none."""
    conversation = Conversation(FakeWitness, lambda _, __: None)
    for octet in range(1, 201):  # each comes in a packet of its own
        conversation.marks("C").add(octet, octet, octet)
    talk = Talk(conversation, (b"\1" * 4, 1, b"\2" * 4, 2), False)
    history = Sessions(talk, Rows(), ReplayOptions(), {"C": False, "S": False})
    said = CommandSeen(1, b"s", 0, "message.transfer", Transfer("x", 1, 0), False, b"1234", None, b"body")
    assert history.command(Heard(7, last, "C", said, 100, 200), said)
    message = history._sessions[1].client.incomplete[0]
    assert (message.first, message.content, message.last) == (101, content, last)
