"""What a client may say to a broker, sensible or not: any word with any value, and whole scenes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from amqp_sansio.kernel.serials import TOP, RangeSet
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Close
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.layouts.layout import encode_headers

bits = st.booleans()
small = st.one_of(st.none(), st.integers(0, 2))
ids = st.one_of(st.integers(0, 30), st.sampled_from([TOP, 0x7FFFFFFF, 0x80000000]))
sets = st.one_of(
    st.none(),
    st.just(RangeSet([(0, 0x7FFFFFFE)])),
    st.lists(st.integers(0, 20), max_size=4).map(lambda each: RangeSet.of(*each)),
)
queues = st.sampled_from(["q", "r", "own", "x", "amq.q", "", None])
exchanges = st.sampled_from(["", "amq.direct", "amq.fanout", "amq.topic", "amq.match", "e", "f", "none", None])
kinds = st.sampled_from(["direct", "fanout", "topic", "headers", "?"])
keys = st.sampled_from(["q", "r", "a.b", "a.#", "*", "", None])
places = st.sampled_from(["d", "e", "", None])
arguments = st.sampled_from([None, {}, {"x-match": "all", "a": 1}, {"x-match": "any"}, {"qpid.max_count": 3}, {"odd": b"x"}])
xids = st.one_of(st.none(), st.builds(dtx.Xid, small, st.sampled_from([b"g", b"", None]), st.sampled_from([b"1", b"2"])))
credit = st.sampled_from([None, 0, 1, 3, 1000, 0xFFFFFFFF])

controls: st.SearchStrategy[Control] = st.one_of(
    st.builds(c.Attach, st.sampled_from([b"s", b"t"]), bits),
    st.builds(c.Detach, st.sampled_from([b"s", b"t", b""])),
    st.builds(c.Detached, st.sampled_from([b"s", b"t"]), small),
    st.builds(c.RequestTimeout, small),
    st.builds(c.CommandPoint, ids, st.just(0)),
    st.builds(c.Completed, sets, bits),
    st.builds(c.KnownCompleted, sets),
    st.builds(c.Expected, sets),
    st.builds(c.Confirmed, sets),
    st.builds(c.Flush, bits, bits, bits),
    st.builds(c.Gap, sets),
    st.builds(Close),
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(message.Subscribe, queues, places, small, small, bits),
    st.builds(message.Flow, places, small, credit),
    st.builds(message.Flow, st.just("d"), st.sampled_from([0, 1]), st.just(0xFFFFFFFF)),
    st.builds(message.SetFlowMode, places, small),
    st.builds(message.Flush, places),
    st.builds(message.Stop, places),
    st.builds(message.Cancel, places),
    st.builds(message.Accept, sets),
    st.builds(message.Reject, sets),
    st.builds(message.Release, sets, bits),
    st.builds(message.Acquire, sets),
    st.builds(message.Resume, places, st.just("r")),
    st.builds(queue.Declare, queues, exchanges, bits, bits, bits, bits, arguments),
    st.builds(queue.Delete, queues, bits, bits),
    st.builds(queue.Purge, queues),
    st.builds(queue.Query, queues),
    st.builds(exchange.Declare, exchanges, kinds, exchanges, bits, bits),
    st.builds(exchange.Delete, exchanges, bits),
    st.builds(exchange.Query, exchanges),
    st.builds(exchange.Bind, queues, exchanges, keys, arguments),
    st.builds(exchange.Unbind, queues, exchanges, keys),
    st.builds(exchange.Bound, exchanges, queues, keys, arguments),
    st.builds(tx.Select),
    st.builds(tx.Commit),
    st.builds(tx.Rollback),
    st.builds(dtx.Select),
    st.builds(dtx.Start, xids, bits, bits),
    st.builds(dtx.End, xids, bits, bits),
    st.builds(dtx.Prepare, xids),
    st.builds(dtx.Commit, xids, bits),
    st.builds(dtx.Rollback, xids),
    st.builds(dtx.Forget, xids),
    st.builds(dtx.Recover),
    st.builds(dtx.GetTimeout, xids),
    st.builds(dtx.SetTimeout, xids, credit),
    st.builds(execution.Sync),
    st.builds(execution.Result, ids, st.none()),
    st.builds(execution.Exception_, small, small),
    st.builds(file.Qos),
    st.builds(stream.Consume, queues),
)
headers = st.one_of(
    st.just(b""),
    st.builds(
        lambda delivery, properties: encode_headers([delivery, properties]),
        st.builds(
            DeliveryProperties, bits, bits, bits, st.one_of(st.none(), st.integers(0, 9)), st.sampled_from([None, 1, 2]),
            st.sampled_from([None, 0, 5000]), st.none(), st.none(), exchanges, keys,
        ),
        st.builds(MessageProperties, user_id=st.sampled_from([None, None, b"bob"]), application_headers=arguments),
    ),
    st.just(bytes.fromhex("0000000604010002" "01ff")),
)  # fmt: skip
good = st.one_of(
    st.tuples(
        st.just("command"),
        st.one_of(
            st.builds(queue.Declare, st.sampled_from(["q", "r"]), st.sampled_from([None, "amq.fanout"])),
            st.builds(exchange.Bind, st.sampled_from(["q", "r"]), st.just("amq.fanout"), st.sampled_from(["", "k"])),
            st.builds(message.Subscribe, st.just("q"), st.just("d"), bits.map(int), bits.map(int)),
            st.builds(message.Flow, st.just("d"), bits.map(int), st.just(TOP)),
            st.builds(message.Accept, sets),
            st.builds(message.Release, sets, bits),
            st.builds(message.Reject, sets),
            st.builds(message.Acquire, sets),
            st.builds(message.Flush, st.just("d")),
            st.builds(tx.Select),
            st.builds(dtx.Select),
            st.builds(dtx.Start, st.just(dtx.Xid(1, b"g", b"1"))),
            st.builds(dtx.End, st.just(dtx.Xid(1, b"g", b"1"))),
            st.builds(dtx.Prepare, st.just(dtx.Xid(1, b"g", b"1"))),
        ),
    ),
    st.tuples(st.just("publish"), st.tuples(st.just("amq.fanout"), bits.map(int), headers, st.integers(0, 400))),
    st.tuples(st.just("control"), st.builds(c.Completed, sets, bits)),
)
scenes = st.tuples(
    st.just("scene"),
    st.tuples(
        st.sampled_from([b"s", b"t", b"u", b"v"]), bits.map(int), bits.map(int), st.sampled_from(["", "tx", "dtx"]),
        st.integers(0, 5), st.lists(good, max_size=4),
    ),
)  # fmt: skip
acts = st.one_of(
    st.tuples(st.just("control"), controls),
    st.tuples(st.just("command"), commands),
    st.tuples(st.just("command"), commands),
    st.tuples(st.just("publish"), st.tuples(exchanges, small, headers, st.integers(0, 400))),
    st.tuples(st.just("attach"), st.sampled_from([b"s", b"t", b"u"])),
    st.tuples(st.just("attach"), st.sampled_from([b"s", b"t", b"u"])),
    st.tuples(st.just("good"), st.lists(good, min_size=1, max_size=8)),
    st.tuples(st.just("good"), st.lists(good, min_size=1, max_size=8)),
    scenes,
    scenes,
    st.tuples(st.just("octets"), st.binary(max_size=20)),
    st.tuples(st.just("take"), st.none()),
    st.tuples(st.just("new"), st.none()),
    st.tuples(st.just("eof"), st.none()),
    st.tuples(st.just("tick"), st.integers(0, 10)),
    st.tuples(st.just("journalled"), st.none()),
)
ONE = dtx.Xid(1, b"g", b"1")
BEGIN: dict[str, list[Command]] = {"": [], "tx": [tx.Select()], "dtx": [dtx.Select(), dtx.Start(ONE)]}
END: dict[str, list[Command]] = {"": [], "tx": [tx.Commit()], "dtx": [dtx.End(ONE)]}
Act = tuple[int, tuple[str, Any]]  # Any: what belongs to the act
