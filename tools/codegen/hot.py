"""The verbs on hot paths, which have straight-line code; all others go through `wire.interpreter`.

The figures are those that `python -m bench.verbs` printed on 2026-11-23 (CPython 3.11, pure): how often `bench.workloads` reads
and writes the verb, then nanoseconds to read and to write it, by straight-line code and by the interpreter.  What that
costs more is about what a message costs in the engine, so verbs that come once a connection or a subscription are not here.
"""

from __future__ import annotations

HOT: dict[str, str] = {
    "message.transfer": "63 and 64, for known ones are cut by their octets; 815, 1850 and 473, 1023; each first of its kind",
    "message.accept": "5000 and 5002; 1087, 1486 and 483, 838",
    "message.release": "0 and 0; 1350, 1622 and 521, 920; as often as accept where messages are given back",
    "message.reject": "0 and 0; 1754, 2896 and 967, 1554; as often as accept where messages are refused",
    "message.acquire": "0 and 0; 1097, 1498 and 501, 847; once a message where a browser takes it",
    "message.flow": "154 and 158; 775, 1971 and 480, 1025; once a batch where credit is a window",
    "session.completed": "64 and 2165; 1080, 1564 and 479, 868",
    "session.known-completed": "80 and 80; 1011, 1392 and 456, 765; once for each completed",
    "session.confirmed": "0 and 0; 2093, 2715 and 1012, 1416; as often as completed where a session outlives its connection",
    "session.flush": "0 and 0; 485, 803 and 185, 573; once a round trip of a synchronous sender",
    "execution.sync": "0 and 0; 338, 564 and 153, 363; once a round trip of a synchronous sender",
    "execution.result": "28 and 28; 4425, 5120 and 1807, 2261; once for each query",
    "exchange.bind": "1500 and 1500; 2022, 6485 and 1335, 2345",
    "exchange.unbind": "1500 and 1500; 941, 3071 and 570, 1060",
    "queue.declare": "1574 and 1574; 2292, 6074 and 1365, 2463",
    "queue.purge": "1500 and 1500; 634, 1422 and 331, 632",
    "queue.query": "0 and 0; 641, 1432 and 311, 609; once a round trip of whoever watches a queue",
    "tx.commit": "8 and 8; 335, 568 and 152, 352; once a message in the smallest transactions",
}
"""Why, by verb."""
