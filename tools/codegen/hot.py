"""The verbs on hot paths, which have straight-line code; all others use `wire.types.read_fields` and its like.

The figures are from `python -m bench.verbs` on 2026-11-23 (CPython 3.11, pure): how often `bench.workloads` reads and writes
the verb; then nanoseconds to read it, and to write it, each by straight-line code and by the interpreter.  The interpreter's
extra cost is about the cost of a message in the engine, so verbs that occur once per connection or subscription are not in the
list.
"""

from __future__ import annotations

HOT: dict[str, str] = {
    "message.transfer": "63 and 64, for known ones are cut by their octets; 774, 1775 and 563, 1070; each first of its kind",
    "message.accept": "5000 and 5002; 1072, 1429 and 498, 800",
    "message.release": "0 and 0; 1134, 1507 and 512, 888; as often as accept where messages are given back",
    "message.reject": "0 and 0; 1438, 2528 and 807, 1314; as often as accept where messages are refused",
    "message.acquire": "0 and 0; 1083, 1425 and 500, 807; once a message where a browser takes it",
    "message.flow": "154 and 158; 787, 1924 and 578, 1082; once a batch where credit is a window",
    "session.completed": "64 and 2165; 1070, 1455 and 510, 847",
    "session.known-completed": "80 and 80; 987, 1353 and 462, 770; once for each completed",
    "session.confirmed": "0 and 0; 1961, 2446 and 1178, 1540; as often as completed where a session outlives its connection",
    "session.flush": "0 and 0; 436, 815 and 191, 608; once a round trip of a synchronous sender",
    "execution.sync": "0 and 0; 347, 552 and 145, 370; once a round trip of a synchronous sender",
    "execution.result": "28 and 28; 3044, 3536 and 2045, 2427; once for each query",
    "exchange.bind": "1500 and 1500; 2118, 4034 and 1488, 2277",
    "exchange.unbind": "1500 and 1500; 977, 2681 and 702, 1264",
    "queue.declare": "1574 and 1574; 2134, 3702 and 1629, 2354",
    "queue.purge": "1500 and 1500; 653, 1379 and 362, 709",
    "queue.query": "0 and 0; 645, 1373 and 360, 710; once a round trip of a client that polls a queue",
    "tx.commit": "8 and 8; 339, 550 and 144, 371; once a message in the smallest transactions",
}
"""The reason for each verb."""
