"""Conversations of the grammars as octets: the seeds of a guided fuzzer, for each of its targets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import pack
from typing import Final

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.grammar import commands, connection, file, message, session, transactions
from amqp_sansio.grammar.automaton import Automaton
from amqp_sansio.grammar.walks import Conversation, transition_words
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection as c
from amqp_sansio.spec import dtx as d
from amqp_sansio.spec import exchange as e
from amqp_sansio.spec import execution as x
from amqp_sansio.spec import file as f
from amqp_sansio.spec import message as m
from amqp_sansio.spec import queue as q
from amqp_sansio.spec import session as s
from amqp_sansio.spec import stream as t
from amqp_sansio.spec import tx as tx_
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.values import List
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.segments import frame_command, frame_control
from fuzz.corpus import Said

LAYOUT: Final = AMQP_0_10.codec
CHANNEL: Final = 1
MOST: Final = 40
"""The most seeds of one target: those with the most different words."""
XID: Final = d.Xid(1, b"g", b"b")
IDS: Final = RangeSet([(0, 2)])
HEADER: Final = encode_headers(
    [
        m.DeliveryProperties(routing_key="q", priority=4),
        m.MessageProperties(content_length=2, application_headers={"k": List([1, "x"])}),
    ]
)

SAYS: Final[dict[str, Control | Command]] = {
    "connection.start": c.Start({"product": "p"}, ("ANONYMOUS", "PLAIN"), ("en_US",)),
    "connection.start-ok": c.StartOk({"product": "p"}, "ANONYMOUS", b"", "en_US"),
    "connection.secure": c.Secure(b"?"),
    "connection.secure-ok": c.SecureOk(b"!"),
    "connection.tune": c.Tune(16, 4096, 0, 120),
    "connection.tune-ok": c.TuneOk(4, 4096, 60),
    "connection.open": c.Open(""),
    "connection.open-ok": c.OpenOk(("a:1",)),
    "connection.redirect": c.Redirect("elsewhere", ("a:1",)),
    "connection.heartbeat": c.Heartbeat(),
    "connection.close": c.Close(200, "bye"),
    "connection.close-ok": c.CloseOk(),
    "session-traffic": s.Attach(b"fuzz"),
    "session.attach": s.Attach(b"fuzz"),
    "session.attached": s.Attached(b"fuzz"),
    "session.detach": s.Detach(b"fuzz"),
    "session.detached": s.Detached(b"fuzz", 0),
    "other": s.Flush(completed=True),
    "session.request-timeout": s.RequestTimeout(60),
    "session.timeout": s.Timeout(60),
    "session.command-point": s.CommandPoint(0, 0),
    "session.expected": s.Expected(IDS),
    "session.flush": s.Flush(True, True, True),
    "session.gap": s.Gap(RangeSet.of(9)),
    "session.known-completed": s.KnownCompleted(IDS),
    "session.completed": s.Completed(IDS, True),
    "session.confirmed": s.Confirmed(IDS),
    "command": x.Sync(),
    "execution.sync": x.Sync(),
    "execution.result": x.Result(0, m.Acquired(IDS)),
    "execution.exception": x.Exception_(404, 0),
    "message.transfer": m.Transfer("d", 0, 0),
    "message.accept": m.Accept(IDS),
    "message.reject": m.Reject(IDS, 1, "no"),
    "message.release": m.Release(IDS, True),
    "message.acquire": m.Acquire(IDS),
    "message.resume": m.Resume("d", "r"),
    "message.subscribe": m.Subscribe("q", "d", 0, 0, arguments={"a": 1}),
    "message.cancel": m.Cancel("d"),
    "message.set-flow-mode": m.SetFlowMode("d", 1),
    "message.flow": m.Flow("d", 0, 5),
    "message.flow byte": m.Flow("d", 1, 0xFFFFFFFF),
    "message.flush": m.Flush("d"),
    "message.stop": m.Stop("d"),
    "tx.select": tx_.Select(),
    "tx.commit": tx_.Commit(),
    "tx.rollback": tx_.Rollback(),
    "dtx.select": d.Select(),
    "dtx.start": d.Start(XID),
    "dtx.start(join)": d.Start(XID, True),
    "dtx.start(resume)": d.Start(XID, resume=True),
    "dtx.end": d.End(XID),
    "dtx.end(fail)": d.End(XID, True),
    "dtx.end(suspend)": d.End(XID, suspend=True),
    "dtx.prepare": d.Prepare(XID),
    "dtx.commit": d.Commit(XID),
    "dtx.commit(one-phase)": d.Commit(XID, True),
    "dtx.rollback": d.Rollback(XID),
    "dtx.forget": d.Forget(XID),
    "dtx.recover": d.Recover(),
    "dtx.get-timeout": d.GetTimeout(XID),
    "dtx.set-timeout": d.SetTimeout(XID, 5),
    "exchange.declare": e.Declare("e", "topic"),
    "exchange.delete": e.Delete("e"),
    "exchange.query": e.Query("e"),
    "exchange.bind": e.Bind("q", "amq.topic", "a.#", {"x-match": "all"}),
    "exchange.unbind": e.Unbind("q", "amq.topic", "a.#"),
    "exchange.bound": e.Bound("amq.topic", "q"),
    "queue.declare": q.Declare("q", arguments={"qpid.max_count": 3}),
    "queue.delete": q.Delete("q"),
    "queue.purge": q.Purge("q"),
    "queue.query": q.Query("q"),
    "file.qos": f.Qos(1, 1),
    "file.qos-ok": f.QosOk(),
    "file.consume": f.Consume("q", "t"),
    "file.consume-ok": f.ConsumeOk("t"),
    "file.cancel": f.Cancel("t"),
    "file.open": f.Open("i", 2),
    "file.open-ok": f.OpenOk(0),
    "file.stage": f.Stage(),
    "file.publish": f.Publish("", "q", identifier="i"),
    "file.return": f.Return(312, "no route"),
    "file.deliver": f.Deliver("t", 0, identifier="i"),
    "file.ack": f.Ack(0),
    "file.reject": f.Reject(0),
    "stream.qos": t.Qos(1, 1, 1),
    "stream.qos-ok": t.QosOk(),
    "stream.consume": t.Consume("q", "t"),
    "stream.consume-ok": t.ConsumeOk("t"),
    "stream.cancel": t.Cancel("t"),
    "stream.publish": t.Publish("", "q"),
    "stream.return": t.Return(312, "no route"),
    "stream.deliver": t.Deliver("t", 0),
}
"""The control or command of each verb; a verb with a qualifier ("message.flow byte") is looked up whole, then without it."""


def octets(verb: str) -> bytes:
    """Returns the frames of a verb; nothing for what no speaker can send."""
    if verb == "protocol-header":
        return AMQP_0_10.header
    if verb == "other-protocol-header":
        return b"AMQP\x00\x00\x09\x01"
    if verb.endswith(" completed"):
        verb = "session.completed"
    word = SAYS.get(verb) or SAYS.get(verb.partition(" ")[0]) or SAYS.get(verb.partition("(")[0])
    if isinstance(word, Control):
        return frame_control(0 if word.VERB.startswith("connection.") else CHANNEL, LAYOUT.encode_control(word))
    if isinstance(word, Command):
        content = word.VERB in LAYOUT.segments
        header = HEADER if word.VERB == "message.transfer" else None
        body = b"hi" if content else None
        return b"".join(frame_command(CHANNEL, LAYOUT.encode_command(word, True), header, body, 65535))
    return b""


def spoken(said: Conversation, *speakers: str) -> Said:
    """Returns the octets of a conversation in order, of these speakers only if any are named."""
    found: list[tuple[str, bytes]] = []
    for word in said:
        speaker, _, verb = word.partition(":")
        part = octets(verb)
        if part and (not speakers or speaker in speakers):
            if found and found[-1][0] == speaker:
                found[-1] = (speaker, found[-1][1] + part)
            else:
                found.append((speaker, part))
    return tuple(found)


def _ways(*languages: Automaton) -> Iterator[Conversation]:
    for language in languages:
        yield from transition_words(language.prefixes()).values()


OPENING: Final = (
    "client:protocol-header", "server:protocol-header", "server:connection.start", "client:connection.start-ok",
    "server:connection.tune", "client:connection.tune-ok", "client:connection.open", "server:connection.open-ok",
    "client:session.attach", "server:session.attached", "client:session.command-point", "server:session.command-point",
)  # fmt: skip
"""What comes before the first command."""


def conversations(section: str) -> list[Conversation]:
    """Returns conversations of one part of the specification, through every move of its grammar."""
    if section == "connection":
        return list(_ways(connection.conversation()))
    if section == "session":
        halves = [each(who, other) for each in (session.attachment, session.commands) for who, other in WHO]
        return list(_ways(*halves))
    if section == "message":
        return list(_ways(message.subscription_with_credit()))
    if section == "transactions":
        return list(_ways(transactions.tx(), transactions.demarcation(1)))
    return list(_ways(commands.exchange(), commands.queue(), file.consumer(), file.delivery(), file.published(), file.stream()))


WHO: Final = (("client", "server"), ("server", "client"))
SECTIONS: Final = ("connection", "session", "message", "transactions", "model")


def chosen(saids: Iterable[Said]) -> list[Said]:
    """Returns distinct ones, the longest first that contain something new; at most MOST."""
    every = sorted({said for said in saids if said}, key=lambda said: (-sum([len(octets) for _, octets in said]), said))
    return every[:: max(1, len(every) // MOST)][:MOST]


def capture(said: Said) -> bytes:
    """Returns a capture of a conversation: pcap, raw IPv4, TCP between ports 50000 and 5672."""
    found = [pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    next_octet = {"client": 1, "server": 1}
    for number, (speaker, octets) in enumerate(said):
        other = "server" if speaker == "client" else "client"
        ports = (50000, 5672) if speaker == "client" else (5672, 50000)
        tcp = pack(">HHIIBBHHH", *ports, next_octet[speaker], next_octet[other], 0x50, 0x18, 65535, 0, 0)
        here = 1 if speaker == "client" else 2
        ip = pack(">BBHHHBBH4B4B", 0x45, 0, 40 + len(octets), 0, 0, 64, 6, 0, 10, 0, 0, here, 10, 0, 0, 3 - here)
        packet = ip + tcp + octets
        found.append(pack("<IIII", 1, number, len(packet), len(packet)) + packet)
        next_octet[speaker] += len(octets)
    return b"".join(found)


def control_payloads() -> list[bytes]:
    """Returns the payload of each control."""
    return [LAYOUT.encode_control(word) for word in dict.fromkeys(SAYS.values()) if isinstance(word, Control)]


def command_payloads() -> list[bytes]:
    """Returns the payload of each command."""
    return [LAYOUT.encode_command(word, False) for word in dict.fromkeys(SAYS.values()) if isinstance(word, Command)]


def structs() -> list[bytes]:
    """Returns each kind of struct that a result may hold, and an xid."""
    return [
        LAYOUT.encode_struct32(each)
        for each in (
            m.Acquired(IDS), m.MessageResumeResult(1), d.XaResult(0), d.GetTimeoutResult(5), d.RecoverResult([XID]), XID,
            e.ExchangeQueryResult("topic", True, arguments={"a": 1}), e.ExchangeBoundResult(key_not_matched=True),
            q.QueueQueryResult("q", "e", message_count=1, subscriber_count=2), f.FileProperties("t", headers={"a": List([1])}),
            t.StreamProperties("t", headers={"a": b"x"}),
        )
    ]  # fmt: skip
