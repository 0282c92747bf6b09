"""Generates captures of very many short connections: of AMQP, or of another protocol.

python -m bench.crowds OUT.pcap --count 20000 [--foreign] [--open 50]

Equal arguments give equal files.  Each connection has six packets: it opens, either side sends once, it is closed.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from amqp_sansio.dialects import AMQP_0_10
from bench.traffic import ACK, FIN, PORT, PSH, SYN, Wire

OPEN: Final = 50
"""How many connections are open at a time."""
WEB: Final = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 204 No Content\r\n\r\n"
WEB_PORT: Final = 8080
_CLIENTS_PORTS: Final = 40_000


def _connection(wire: Wire, number: int, said: tuple[bytes, bytes], port: int) -> Iterator[None]:
    """Writes a packet at each step."""
    client = 0x0A000001 + number // _CLIENTS_PORTS, 0x0AFF0001, 20_000 + number % _CLIENTS_PORTS, port
    server = client[1], client[0], client[3], client[2]
    ask, answer = said
    here, there = number * 7919, number * 104_729
    wire.packet(client, here, 0, SYN)
    yield
    wire.packet(server, there, here + 1, SYN | ACK)
    yield
    wire.packet(client, here + 1, there + 1, PSH | ACK, ask)
    yield
    here += 1 + len(ask)
    wire.packet(server, there + 1, here, PSH | ACK, answer)
    yield
    there += 1 + len(answer)
    wire.packet(client, here, there, FIN | ACK)
    yield
    wire.packet(server, there, here + 1, FIN | ACK)


def make(path: Path, count: int, foreign: bool = False, open_: int = OPEN) -> int:
    """Writes a capture with this number of connections, `open_` of them at a time; returns the number of packets."""
    said, port = (WEB, WEB_PORT) if foreign else ((AMQP_0_10.header, AMQP_0_10.header), PORT)
    with open(path, "wb", 1 << 20) as out:
        wire = Wire(out)
        waiting = deque([_connection(wire, number, said, port) for number in range(min(open_, count))])
        begun = len(waiting)
        while waiting:
            connection = waiting.popleft()
            if next(connection, 0) is None:
                waiting.append(connection)
            elif begun < count:
                waiting.append(_connection(wire, begun, said, port))
                begun += 1
    return wire.packets


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--foreign", action="store_true", help="HTTP instead of AMQP")
    parser.add_argument("--open", type=int, default=OPEN, help="connections that are open at a time")
    given = parser.parse_args()
    print(f"{make(given.path, given.count, given.foreign, given.open)} packets")


if __name__ == "__main__":
    main()
