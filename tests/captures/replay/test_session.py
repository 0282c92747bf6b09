from __future__ import annotations

from tests.captures.replay.made import named

from amqp_sansio.captures.replay.branches import Branches
from amqp_sansio.captures.replay.message import NOTHING
from amqp_sansio.captures.replay.rows import Rows
from amqp_sansio.captures.replay.session import Session
from amqp_sansio.captures.replay.transactions import Transactions
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events.observed import CommandSeen
from amqp_sansio.spec.message import Subscribe, Transfer
from amqp_sansio.wire.segments import KnownTransfer

PAYLOAD = AMQP_0_10.layout.encode_command(Transfer("in", 0, 0), False)


def session(rows: Rows) -> Session:
    made = Session(rows, Branches(rows), 1, b"s", 10, True, (True, True))
    made.credit.hear(11, 0, Subscribe(queue="q", destination="in"))
    made.tx = Transactions(rows, ("s", 1), made.server)
    return made


def test_many_transfers_at_once_are_the_same_as_one_by_one() -> None:
    for speaker in ("C", "S"):
        found = []
        for at_once in (False, True):
            rows = Rows()
            one = session(rows)
            transfer = Transfer("in", 0, 0)
            if at_once:
                hearing = one.hearing(speaker, 100, 3)
                for id in range(3):
                    known = KnownTransfer(1, transfer, False, PAYLOAD)
                    hearing.transfer(known, NOTHING, b"i" * 16, id, 5, 7, 100 + id, 101, 102 + id, 1000 * id, id, None)
            else:
                for id in range(3):
                    said = CommandSeen(1, b"s", id, "message.transfer", transfer, False, PAYLOAD, b"h" * 5, b"b" * 7)
                    times = 100 + id, 101, 102 + id
                    one.transfer(speaker, said, transfer, times, (1000 * id, id), (NOTHING, b"i" * 16), None)
            one.finish("connection", 500)
            found.append([named(rows, table) for table in ("messages", "commands", "sessions", "credit", "transactions")])
        assert found[0] == found[1]
        assert [row["queue"] for row in found[0][0]] == [None if speaker == "C" else "q"] * 3
        assert [row["transaction"] for row in found[0][0]] == [1 if speaker == "C" else None] * 3
