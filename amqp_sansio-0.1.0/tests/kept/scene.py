"""What the product writes down of fixed inputs: `python -m tests.kept.scene FOLDER`, once for each set of versions.

Run before a version is raised; what it wrote stays in tests/data/kept, and `test_former_versions` reads it or hears why not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.broker.harness import Client, World
from tests.broker.restarts import JOURNAL, KEEP, XID, consume, say
from tests.captures import build
from tests.captures.packets import Row, batch, by_connection, packet_rows

from amqp_sansio import Observer, Session
from amqp_sansio.adapters.store import Store
from amqp_sansio.broker import encode_entry, encode_snapshot
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties

DATA: Final = Path(__file__).parents[1] / "data"
CAPTURE: Final = DATA / "captures" / "tx.pcap"
BODIES: Final = (b"first", b"another", b"urgent", b"last")
OCTETS: Final = (
    ("C", build.HEADER), ("S", build.HEADER + build.START), ("C", build.START_OK), ("S", build.TUNE),
    ("C", build.TUNE_OK + build.OPEN), ("S", build.OPEN_OK), ("C", build.ATTACH), ("S", build.ATTACHED),
    ("C", build.POINT + build.transfer(b"x" * 100)),
)  # fmt: skip
REST: Final = (("S", build.completed(0)), ("C", build.CLOSE), ("S", build.CLOSE_OK))
"""What follows on `OCTETS`."""
OPTIONS: Final = ReplayOptions(tables=tuple(TABLES))


class _Keeping:
    """A broker and its store."""

    def __init__(self, folder: Path) -> None:
        self.world: Final = World(JOURNAL)
        self.world.tick()
        self.store: Final = Store(folder)

    def keep(self) -> None:
        """Stores the entries, as an adapter does."""
        entries = self.world.broker.journal()
        if entries:
            self.store.append([(entry.number, encode_entry(entry)) for entry in entries])
            self.world.broker.journalled(entries[-1].number)
        self.world.run()

    def compact(self) -> None:
        """Stores a snapshot."""
        snapshot = self.world.broker.snapshot()
        self.store.compact(self.world.broker._journals.last, encode_snapshot(snapshot))

    def say(self, client: Client, session: Session, *commands: object) -> None:
        for command in commands:
            session.send(command)  # type: ignore[arg-type]  # commands
            self.world.run()
            self.keep()

    def publish(self, client: Client, session: Session, body: bytes, priority: int = 4, **headers: object) -> None:
        delivery = DeliveryProperties(routing_key="q", delivery_mode=2, priority=priority)
        said = MessageProperties(content_type="text/plain", application_headers=headers)  # type: ignore[arg-type]
        session.send(message.Transfer("", 1, 0), delivery, said, body=body)
        self.world.run()
        self.keep()


def write_store(folder: Path) -> None:
    """A store: a snapshot, and entries behind it.

    Queue `q` has a binding with headers, an alternate, and the messages of `BODIES`, the third one of the highest priority;
    branch `XID` is prepared and holds back one message for `q`; a session that is kept subscribes to `q` and has two messages
    acquired.
    """
    keeping = _Keeping(folder)
    keeper, other = keeping.world.connect(server=KEEP), keeping.world.connect(server=KEEP)
    kept, worker = keeper.session(b"kept", 300), other.session(b"worker")
    keeping.say(
        other, worker,
        exchange.Declare("headers", "headers", durable=True), exchange.Declare("dead", "fanout", durable=True),
        queue.Declare("q", "dead", durable=True, arguments={"qpid.priorities": 10, "qpid.max_count": 100}),
        exchange.Bind("q", "headers", "key", {"x-match": "all", "kind": "k"}), exchange.Bind("q", "amq.topic", "a.#"),
    )  # fmt: skip
    keeping.publish(other, worker, BODIES[0], kind="k")
    keeping.publish(other, worker, BODIES[1])
    consume(keeper, kept)
    keeping.keep()
    keeping.say(keeper, kept, message.Stop("d"))
    keeper.cut()
    keeping.keep()
    keeping.publish(other, worker, BODIES[2], 9, number=2)
    keeping.compact()
    keeping.publish(other, worker, BODIES[3], number=3)
    keeping.say(other, worker, dtx.Select(), dtx.Start(XID))
    keeping.publish(other, worker, b"in doubt")
    keeping.say(other, worker, dtx.End(XID), dtx.Prepare(XID))
    other.cut()
    keeping.keep()
    keeping.store.close()


def session_snapshot() -> dict[str, object]:
    """Of a client's session with a subscription, a message that it has not accepted, and a publish that is not confirmed."""
    world = World()
    client = world.connect(server=KEEP)
    session = client.session(b"kept", 300)
    say(client, session, queue.Declare("q"))
    consume(client, session)
    session.publish(routing_key="q", body=b"body")
    world.run()
    session.publish(routing_key="q", body=b"not arrived")
    client.lost = True
    client.connection.receive_eof()
    world.run()
    return session.snapshot()


def observer() -> Observer:
    """One that has heard `OCTETS`."""
    watch = Observer()
    for speaker, octets in OCTETS:
        watch.receive_data(speaker, octets)  # type: ignore[arg-type]  # "C" or "S"
    while watch.next_event() is not None:
        pass
    return watch


def replay() -> tuple[ConnectionReplay, list[Row]]:
    """A replay of the first half of a capture, and the packets of the rest."""
    rows: list[Row] = [{**row, "capture": CAPTURE.name} for row in packet_rows(str(CAPTURE))]
    packets = max(by_connection(rows).values(), key=len)
    half = len(packets) // 2
    made = ConnectionReplay(OPTIONS)
    made.feed(batch(packets[:half]))
    return made, packets[half:]


def write(folder: Path) -> None:
    """All of it."""
    folder.mkdir(parents=True)
    write_store(folder / "store")
    (folder / "session.txt").write_text(repr(session_snapshot()) + "\n")
    (folder / "observer.txt").write_text(repr(observer().snapshot()) + "\n")
    (folder / "replay.bin").write_bytes(replay()[0].snapshot())


if __name__ == "__main__":
    write(Path(sys.argv[1]))
