"""Generates words that are well-formed and nearly legal: they refer to what exists, in an order that is mostly wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import connection, dtx, exchange, execution, message, queue, session, tx
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.wire.segments import frame_command, frame_control

Word: TypeAlias = Control | Command
Make: TypeAlias = Callable[[random.Random], Word]

LAYOUT: Final = AMQP_0_10.codec
INFINITE: Final = 2**32 - 1


def _ids(dice: random.Random) -> RangeSet:
    """Returns ids that are mostly in use: small ones; now and then none, or a range over nearly half of all."""
    shape = dice.randrange(12)
    if shape == 0:
        return RangeSet()
    if shape == 1:
        return RangeSet([(dice.choice((0, 3)), 2**31 - 2)]) if dice.randrange(2) else RangeSet([(2**32 - 2, 1)])
    low = dice.randrange(8)
    if shape == 2:
        return RangeSet.of(low, low + 2, low + 4)
    return RangeSet([(low, low + dice.choice((0, 0, 1, 3)))])


def _id(dice: random.Random) -> int:
    return dice.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 2**31, INFINITE))


def _name(dice: random.Random) -> bytes:
    return dice.choice((b"fuzz", b"fuzz", b"fuzz", b"other", b""))


def _destination(dice: random.Random) -> str:
    return dice.choice(("d", "d", "d", "e", ""))


def _mode(dice: random.Random) -> int:
    return dice.choice((0, 0, 1, 1, 2))


def _bit(dice: random.Random) -> bool:
    return dice.randrange(2) == 0


SESSION: Final[Sequence[Make]] = (
    lambda dice: session.Attach(_name(dice), _bit(dice)),
    lambda dice: session.Attached(_name(dice)),
    lambda dice: session.Detach(_name(dice)),
    lambda dice: session.Detached(_name(dice), dice.randrange(6)),
    lambda dice: session.RequestTimeout(dice.choice((None, 0, 5))),
    lambda dice: session.Timeout(dice.choice((None, 0, 5))),
    lambda dice: session.CommandPoint(_id(dice), dice.choice((0, 0, 0, 7))),
    lambda dice: session.Expected(_ids(dice)),
    lambda dice: session.Confirmed(_ids(dice)),
    lambda dice: session.Completed(_ids(dice), _bit(dice)),
    lambda dice: session.Completed(_ids(dice), _bit(dice)),
    lambda dice: session.Completed(_ids(dice), _bit(dice)),
    lambda dice: session.KnownCompleted(_ids(dice)),
    lambda dice: session.Flush(_bit(dice), _bit(dice), _bit(dice)),
    lambda dice: session.Gap(_ids(dice)),
)
CONNECTION: Final[Sequence[Make]] = (
    lambda dice: connection.Heartbeat(),
    lambda dice: connection.Heartbeat(),
    lambda dice: connection.Heartbeat(),
    lambda dice: connection.Close(dice.choice((200, 320, 501, 9)), "bye"),
    lambda dice: connection.CloseOk(),
    lambda dice: connection.TuneOk(10, 4096, 0),
    lambda dice: connection.OpenOk(()),
)
EITHER: Final[Sequence[Make]] = (
    lambda dice: execution.Sync(),
    lambda dice: execution.Sync(),
    lambda dice: execution.Result(_id(dice), dice.choice((None, queue.QueueQueryResult("q"), message.Acquired(_ids(dice))))),
    lambda dice: message.Transfer(_destination(dice), _mode(dice), _mode(dice)),
    lambda dice: message.Transfer(_destination(dice), _mode(dice), _mode(dice)),
    lambda dice: message.Transfer(_destination(dice), _mode(dice), _mode(dice)),
    lambda dice: message.Transfer("d", 0, 0),
    lambda dice: message.Accept(_ids(dice)),
    lambda dice: message.Accept(_ids(dice)),
    lambda dice: message.Reject(_ids(dice), dice.randrange(4), "no"),
    lambda dice: message.Release(_ids(dice), _bit(dice)),
    lambda dice: message.Acquire(_ids(dice)),
    lambda dice: message.SetFlowMode(_destination(dice), _mode(dice)),
    lambda dice: message.Flow(_destination(dice), _mode(dice), dice.choice((0, 1, 5, 1000, INFINITE - 1, INFINITE))),
    lambda dice: message.Stop(_destination(dice)),
)
TO_SERVER: Final[Sequence[Make]] = (
    *EITHER,
    *EITHER,
    lambda dice: message.Subscribe("q", _destination(dice), _mode(dice), _mode(dice)),
    lambda dice: message.Cancel(_destination(dice)),
    lambda dice: message.Flush(_destination(dice)),
    lambda dice: message.Resume(_destination(dice), "r"),
    lambda dice: queue.Declare("q", arguments={"k": 1}),
    lambda dice: queue.Query("q"),
    lambda dice: exchange.Bind("q", "x", "k"),
    lambda dice: exchange.Bound("x", "q"),
    lambda dice: tx.Select(),
    lambda dice: tx.Commit(),
    lambda dice: dtx.Select(),
    lambda dice: dtx.Start(dtx.Xid(1, b"g", b"b"), _bit(dice), _bit(dice)),
    lambda dice: execution.Exception_(404, _id(dice)),
)
TO_CLIENT: Final[Sequence[Make]] = (*EITHER, *EITHER, *EITHER, lambda dice: execution.Exception_(404, _id(dice)))


def _headers(dice: random.Random) -> bytes | None:
    structs: list[Struct] = []
    if dice.randrange(3):
        structs.append(message.DeliveryProperties(routing_key="q", ttl=dice.choice((None, 5))))
    if dice.randrange(3) == 0:
        structs.append(message.MessageProperties(content_length=3, application_headers={"k": dice.choice((1, "x", b"y"))}))
    if dice.randrange(12) == 0:
        structs.append(message.FragmentProperties(True, False))
    return b"".join(LAYOUT.encode_struct32(struct) for struct in structs) if structs or dice.randrange(2) else None


def word(dice: random.Random, speaker: str, channel: int) -> bytes:
    """Returns one control or command of `speaker`, framed."""
    shape = dice.randrange(40)
    if shape == 0:
        return frame_control(dice.choice((0, channel)), LAYOUT.encode_control(_control(dice, CONNECTION)))
    if shape < 14:
        return frame_control(channel, LAYOUT.encode_control(_control(dice, SESSION)))
    said = dice.choice(TO_CLIENT if speaker == "server" else TO_SERVER)(dice)
    assert isinstance(said, Command)
    payload = LAYOUT.encode_command(said, _bit(dice))
    if not isinstance(said, message.Transfer):
        return b"".join(frame_command(channel, payload))
    body = dice.choice((None, b"", b"hello", b"x" * 40))
    return b"".join(frame_command(channel, payload, _headers(dice), body, dice.choice((65535, 100))))


def _control(dice: random.Random, makes: Sequence[Make]) -> Control:
    said = dice.choice(makes)(dice)
    assert isinstance(said, Control)
    return said


def conversation(dice: random.Random, speaker: str) -> list[bytes]:
    """Returns one to twelve words, mostly on channel 1."""
    return [word(dice, speaker, 1 if dice.randrange(25) else dice.choice((0, 2, 15, 16))) for _ in range(dice.randint(1, 12))]
