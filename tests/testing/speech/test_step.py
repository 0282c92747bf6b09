"""Steps and conversations, for people and for machines."""

from __future__ import annotations

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.spec.connection import StartOk
from amqp_sansio.spec.execution import Sync
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from amqp_sansio.spec.tx import Commit
from amqp_sansio.testing.speech.blame import spoken
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.step import Conversation, Step, StepReader
from amqp_sansio.wire.framing import Malformed

TRANSFER = Step("client", Transfer("", 1, 0), 1, header=[DeliveryProperties(routing_key="q")], body=b"x" * 30, word="w")


def test_a_step_is_a_line() -> None:
    assert TRANSFER.line == (
        "client [1] message.transfer(destination='', accept_mode=1, acquire_mode=0) DeliveryProperties(routing_key='q') "
        "body b'xxxxxxxxxxxxxxxxxxxxxxxx'... of 30 octets"
    )
    assert Step("server", AMQP_0_10.header).line == "server protocol header AMQP 0-10"
    assert Step("client", b"\1\2", note="why").line == "client octets b'\\x01\\x02'  (why)"
    assert Step("client", Sync(), 1, sync=True).line == "client [1] execution.sync() sync"
    assert "secret" not in repr(Step("client", StartOk({}, "PLAIN", b"secret", "en_US")))


def test_a_step_is_its_octets() -> None:
    assert Step("client", Commit(), 1) == Step("client", Commit(), 1, word="other")
    assert len({Step("client", Commit(), 1), Step("client", Commit(), 1), Step("client", Commit(), 2)}) == 2
    assert TRANSFER.octets.endswith(b"x" * 30)
    assert Step("client", Commit(), 1) != "a step"


def test_a_conversation_is_read_and_heard() -> None:
    said = Conversation("tx", [TRANSFER, Step("server", Sync(), 1), Step("client", Commit(), 1)], 1, "tx.commit", ["tx.select"])
    assert said.lines == [
        "(1 steps: it begins with message.transfer)",
        "server [1] execution.sync()",
        "client [1] tx.commit()  <- breaks tx.commit; legal: tx.select",
    ]
    assert repr(said).startswith("<Conversation of tx:\n    (1 steps")
    assert said.octets("server") == Step("server", Sync(), 1).octets
    assert (len(said), said[0], said[1:]) == (3, TRANSFER, tuple(said.said))
    assert said == Conversation("tx", list(said), 1)
    assert hash(said) == hash(Conversation("tx", list(said)))
    assert said != TRANSFER


def test_the_line_of_an_opening_tells_the_channel_of_the_session_and_the_commands() -> None:
    opened = "the connection is opened, a session is attached on channel 1"
    assert spoken(PARTS["exchange"], ["client:exchange.bound"]).lines[0] == f"(12 steps: {opened})"
    assert spoken(PARTS["tx"], ["client:tx.select"]).lines[0] == f"(13 steps: {opened}, then queue.declare)"


def test_octets_are_a_protocol_header_when_they_are_one() -> None:
    assert Step("client", b"12345678").line == "client octets b'12345678'"
    assert Step("client", b"AMQP").line == "client octets b'AMQP'"


def test_an_opening_without_commands_says_no_more() -> None:
    (first, *_) = spoken(PARTS["session: attachment"], ["client:session.attach"]).lines
    assert first.endswith(": the connection is opened)")


def test_a_reader_cuts_octets_into_the_sent_steps_however_they_arrive() -> None:
    said = spoken(PARTS["tx"], ("client:tx.select", "client:tx.commit"))
    octets = said.octets("client")
    whole = list(StepReader("client").read(octets))
    assert whole == list(said.by("client"))
    reader = StepReader("client")
    assert [step for at in range(len(octets)) for step in reader.read(octets[at : at + 1])] == whole
    assert reader.header == AMQP_0_10.header


def test_a_reader_tells_what_is_no_frame() -> None:
    (header, wrong) = StepReader("server").read(AMQP_0_10.header + b"\xff" * 12)
    assert header == Step("server", AMQP_0_10.header)
    assert isinstance(wrong, Malformed)
