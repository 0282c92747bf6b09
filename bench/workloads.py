"""Workloads of fixed size, one for each hot path, to be timed in two trees in turn (see `bench.against`).

As a program it is the process of one tree: it reads one name per line and prints the CPU seconds of one round.

python bench/workloads.py CAPTURE     the capture that `replay` reads
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.codes import AcceptMode, AcquireMode
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from bench import ours
from bench.broker import Scene
from bench.messages import messages

MINIMAL: Final = 20_000
RICH: Final = 6_000
THROUGH_BROKER: Final = 6_000
COMMANDS: Final = 6_000
SETTLED: Final = 5_000
"""The sizes, so that a round takes about a tenth of a second or two."""
Work: TypeAlias = Callable[[], object]
"""One round; its result must be the same in every round."""


def _joined() -> tuple[ClientConnection, ServerConnection]:
    client, server = ClientConnection(ClientConfig()), ServerConnection(ServerConfig())
    _carry(client, server)
    client.session(b"bench")
    _carry(client, server)
    return client, server


def _carry(client: ClientConnection, server: ServerConnection) -> int:
    """Carries octets until neither side has any; returns the number of events of both sides."""
    count = 0
    while (there := client.data_to_send()) or server.bytes_to_send:
        server.receive_data(there)
        count += sum(1 for _ in server.events())
        client.receive_data(server.data_to_send())
        count += sum(1 for _ in client.events())
    return count


def settle() -> Work:
    """A client that receives with explicit accept and accepts in sets, as a consumer with prefetch does."""
    client, server = _joined()
    (session,) = client.sessions
    (sender,) = server.sessions
    session.subscribe("q", "d").grant(0xFFFFFFFF)
    _carry(client, server)
    transfer = Transfer("d", AcceptMode.EXPLICIT, AcquireMode.PRE_ACQUIRED)
    properties = DeliveryProperties(exchange="x", routing_key="k")

    def work() -> int:
        accepted = 0
        for _ in range(SETTLED // 20):
            for _ in range(20):
                sender.send(transfer, properties, body=bytes(100))
            client.receive_data(server.data_to_send())
            ids = [event.id for event in client.events() if type(event) is TransferReceived]
            for id in ids:
                session.accept(id)
            accepted += len(ids)
            _carry(client, server)
        return accepted

    return work


def commands() -> Work:
    """Many small commands: declare, bind, query, sync, each completed by the other side."""
    client, server = _joined()
    (session,) = client.sessions

    def work() -> int:
        count = 0
        for _ in range(COMMANDS // 40):
            for number in range(10):
                name = f"queue-{number}"
                session.send(queue.Declare(name))
                session.send(exchange.Bind(name, "amq.topic", "a.*.b"))
                session.send(queue.Purge(name))
                session.send(exchange.Unbind(name, "amq.topic", "a.*.b"))
            server.receive_data(client.data_to_send())
            (peer,) = server.sessions
            for event in server.events():
                count += 1
                if (id := getattr(event, "id", None)) is not None:
                    peer.complete(id)
            client.receive_data(server.data_to_send())
            count += sum(1 for _ in client.events())
        return count

    return work


def replay(capture: str) -> Work:
    """All tables of a capture, in one process, without writing them."""
    from amqp_sansio.captures.columns.runner import records_of
    from amqp_sansio.captures.replay.options import ReplayOptions

    def work() -> int:
        return sum(batch.num_rows for _, batch in records_of([capture], ReplayOptions()))

    return work


def workloads(capture: str) -> dict[str, Callable[[], Work]]:
    """Returns the workloads by name; each call prepares a fresh round, which is not timed."""
    minimal, rich = messages(MINIMAL, rich=False, varied=True), messages(RICH, rich=True, varied=True)
    scene: list[Scene] = []

    def broker() -> Work:
        if not scene:
            scene.append(Scene(10, 2, accept_mode=1))
        return scene[0].publish(THROUGH_BROKER)

    return {
        "receive": ours.receive(minimal, read=False),
        "receive and read": ours.receive(rich, read=True),
        "publish": ours.publish(rich),
        "settle": settle,
        "commands": commands,
        "broker": broker,
        "replay": lambda: replay(capture),
    }


def main(capture: str) -> None:
    """For each name on standard input, prints the CPU seconds of one round of that work, and what it counted."""
    known = workloads(capture)
    print(*known, sep="\t", flush=True)
    for line in sys.stdin:
        work = known[line.rstrip("\n")]()
        gc.collect()
        started = time.process_time()
        counted = work()
        print(time.process_time() - started, counted, sep="\t", flush=True)


if __name__ == "__main__":
    main(str(Path(sys.argv[1])))
