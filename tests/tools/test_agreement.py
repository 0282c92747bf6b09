"""What tshark says is read, compared with what we find, and told where it differs: with a tshark that says what we want."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events import ConnectionClosed, SessionDetached
from amqp_sansio.spec import queue
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.layouts.fields import FIELDS
from amqp_sansio.wire.segments import frame_command
from tools.interop import agreement, tshark
from tools.interop.agreement import Difference, compare
from tools.interop.everything import conversation
from tools.interop.pcap import PcapWriter
from tools.interop.samples import frames
from tools.interop.tshark import Shown, Tshark
from tools.interop.tshark_gaps import GAPS, MAP_GAPS, WORDS

VERBS = {kind.VERB for kind in FIELDS if issubclass(kind, Control | Command)}
PURGE = b"".join(frame_command(1, AMQP_0_10.codec.encode_command(queue.Purge("it"), False)))
PDML = """<pdml><packet>
<proto name="tcp"><field name="tcp.stream" show="0"/><field name="tcp.dstport" show="5672"/></proto>
<proto name="amqp" pos="40" size="21">
<field name="amqp.format" pos="40" size="1" show="0"/><field name="amqp.frame-position" pos="40" size="1" show="15"/>
<field name="amqp.type" pos="41" size="1" show="1"/><field name="amqp.length" pos="42" size="2" show="21"/>
<field name="amqp.track-number" pos="45" size="1" show="1"/><field name="amqp.channel" pos="46" size="2" show="1"/>
<field name="amqp.class" pos="52" size="1" show="8"/>
<field name="amqp.queue.method" showname="Method: queue.purge (3)" pos="53" size="1" show="3"/>
<field name="amqp.session.header" showname="Session header: 0x0100" pos="54" size="2" show="0x0100"/>
<field name="amqp.session.header.sync" showname=".... ...0 = Sync: not requested" pos="55" size="1" show="0"/>
<field name="amqp.method.arguments" pos="56" size="5" show="">
<field name="amqp.struct.packing" pos="56" size="2" show="0x0100"/>
<field name="amqp.queue.declare.queue" showname="Queue: it" pos="58" size="3" show="it" value="026974"/>
</field></proto></packet></pdml>"""


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """One command, said by a client."""
    path = tmp_path / "capture.pcap"
    with PcapWriter(path, lambda: 1.0) as writer:
        talk = writer.connection()
        for client in (True, False):
            talk.say(client, AMQP_0_10.header)
        talk.say(True, PURGE)
        talk.close()
    return path


def saying(monkeypatch: pytest.MonkeyPatch, folder: Path, pdml: str) -> Tshark:
    """A tshark that says so."""
    (folder / "pdml").write_text(pdml)
    script = folder / "tshark"
    script.write_text(f'#!/bin/sh\ntest "$1" = --version && echo TShark "(Wireshark)" 9.9 || cat {folder / "pdml"}\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(tshark, "program", lambda: str(script))
    return Tshark()


def test_frames_and_fields(monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    witness = saying(monkeypatch, capture.parent, PDML)
    assert witness.version == "9.9"
    (frame,) = witness.frames(capture)
    assert (frame.verb, frame.kind, frame.flags, frame.size, frame.channel) == ("queue.purge", 1, 15, 21, 1)
    assert frame.fields[-1] == Shown("amqp.queue.declare.queue", "Queue", "it", 18, 3, "it", b"\2it")


def test_it_agrees(monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    comparison = compare(capture, saying(monkeypatch, capture.parent, PDML))
    assert comparison.differences == []
    assert (comparison.frames, comparison.verbs, comparison.fields) == (1, {"queue.purge"}, {("queue.purge", "queue")})


@pytest.mark.parametrize(
    ("said", "instead", "field", "what"),
    [
        ('show="it"', 'show="at"', "queue", "'it', tshark: 'at'"),
        ("026974", "026174", "queue", "026974, tshark: 026174"),
        ('pos="58" size="3"', 'pos="58" size="2"', "queue", "3 octets, tshark: 2"),
        ('pos="58"', 'pos="57"', "queue", "at octet 18 nothing of that name"),
        ("Queue: it", "Row: it", "queue", "at octet 18 nothing of that name"),
        ("Queue: it", "Row: it", "row", "tshark alone: Row: it"),
        ("queue.purge (3)", "queue.query (4)", "", "'queue.query'"),
        ('name="amqp.channel" pos="46" size="2" show="1"', 'name="amqp.channel" show="2"', "", "21, 2, 'queue.purge'"),
        ('pos="55" size="1" show="0"', 'pos="55" size="1" show="1"', "sync", "False, tshark: ['1']"),
    ],
)
def test_it_differs(monkeypatch: pytest.MonkeyPatch, capture: Path, said: str, instead: str, field: str, what: str) -> None:
    assert said in PDML
    comparison = compare(capture, saying(monkeypatch, capture.parent, PDML.replace(said, instead)))
    assert [each.what for each in comparison.differences if (each.verb, each.field) == ("queue.purge", field)]
    assert any(what in each.what for each in comparison.differences)


def test_a_frame_too_few_and_a_connection_too_many(monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    packet = PDML.removeprefix("<pdml>").removesuffix("</pdml>")
    other = packet.replace('name="tcp.stream" show="0"', 'name="tcp.stream" show="1"')
    for pdml in ("<pdml></pdml>", f"<pdml>{packet}{packet}</pdml>", f"<pdml>{packet}{other}</pdml>"):
        comparison = compare(capture, saying(monkeypatch, capture.parent, pdml))
        assert comparison.differing() == {("", "")}


def test_other_words(monkeypatch: pytest.MonkeyPatch, capture: Path) -> None:
    witness = saying(monkeypatch, capture.parent, PDML.replace("Queue: it", "Row: it"))
    assert compare(capture, witness, {("queue.purge", "queue"): "row"}).differences == []
    assert agreement.plain("Alternate-Exchange") == "alternate_exchange"
    assert agreement.plain("Commands [(1, 3)]") == agreement.plain("Commands (2 entries)") == "commands"


def test_the_conversation_says_everything_and_breaks_no_rule(tmp_path: Path) -> None:
    said: dict[int, list[tuple[bool, bytes]]] = {}
    heard = conversation(lambda: lambda client, octets: said.setdefault(len(said), []).append((client, octets)))
    ends = [event for event in heard if isinstance(event, ConnectionClosed | SessionDetached)]
    assert ends
    assert [each for each in ends if each.violation is not None] == []


def test_known_gaps_are_about_what_there_is() -> None:
    names = VERBS | {getattr(kind, "NAME", "") for kind in FIELDS}
    assert {verb for verb, _ in (*GAPS, *WORDS)} <= names
    assert all(len(code) == 2 for code in MAP_GAPS)
    assert len(list(frames())) > 500
    assert str(Difference("a", "b", "c"))
