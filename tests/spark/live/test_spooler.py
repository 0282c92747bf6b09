"""The spooler: whatever dies, and at whatever step, each message is in one segment or on its queue."""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.adapters.served import Served
from tests.spark.live.stage import (
    NEXT,
    ORDERS,
    Crash,
    InMemory,
    SourceQuery,
    at_step,
    declare,
    depth,
    die,
    in_doubt,
    send,
    source,
    stream_at,
)

from amqp_sansio.broker.fronts.sessions import commands
from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.identity import SOURCE, branch, new_owner
from amqp_sansio.spark.live.options import BRANCH_TIMEOUT
from amqp_sansio.spark.live.spool import RawMessage, Spool
from amqp_sansio.spark.live.spooler import STEPS, STEPS_AT_LEAST_ONCE, QueueIntake, Spooler
from amqp_sansio.spec import dtx

BODIES = [b"order %d" % number for number in range(30)]
AROUND = ("offset logged", "rows stored", "batch committed")


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, ORDERS)
        yield InMemory(served)


@pytest.mark.parametrize("step", [*STEPS, *AROUND])
def test_a_crash_at_any_step_loses_nothing_and_doubles_nothing(broker: InMemory, tmp_path: Path, step: str) -> None:
    send(broker.url, BODIES)
    query = SourceQuery(source(broker.url, tmp_path), at_step(step, 2, die))
    query.run()
    assert query.starts == 2
    assert sorted(query.bodies) == sorted(BODIES)
    assert (broker.served.depth(ORDERS), broker.served.acquired(ORDERS), in_doubt(broker.url)) == (0, 0, 0)
    assert left(tmp_path) == []


@pytest.mark.parametrize("step", STEPS)
def test_a_connection_lost_at_any_step_is_made_again(broker: InMemory, tmp_path: Path, step: str) -> None:
    send(broker.url, BODIES)
    query = SourceQuery(source(broker.url, tmp_path), at_step(step, 2, broker.cut))
    query.run()
    assert query.starts == 1
    assert sorted(query.bodies) == sorted(BODIES)
    assert (broker.served.depth(ORDERS), in_doubt(broker.url)) == (0, 0)


@pytest.mark.parametrize("step", [*STEPS_AT_LEAST_ONCE, *AROUND])
def test_at_least_once_loses_nothing_and_every_double_says_so(broker: InMemory, tmp_path: Path, step: str) -> None:
    send(broker.url, BODIES)
    query = SourceQuery(source(broker.url, tmp_path, mode="at-least-once"), at_step(step, 2, die))
    query.run()
    first: set[bytes] = set()
    for row in query.rows:
        assert row["redelivered"] or row["body"] not in first
        first.add(row["body"])
    assert first == set(BODIES)
    doubled = sum(Counter(query.bodies).values()) - len(BODIES)
    assert doubled == (7 if step == "recorded" else 0)
    assert broker.served.depth(ORDERS) == 0


def test_nobody_elses_branch_is_touched(broker: InMemory, tmp_path: Path) -> None:
    """Two queries die with a branch in doubt each; the first one comes back, and decides about its own."""
    send(broker.url, BODIES)
    for name in ("one", "two"):
        reader = stream_at(source(broker.url, tmp_path / name), at_step("prepared", 1, die))
        with pytest.raises(Crash):
            reader.latestOffset(reader.initialOffset(), NEXT)
        reader.spooler.spool.lock.release()
    assert in_doubt(broker.url) == 2
    reader = stream_at(source(broker.url, tmp_path / "one"))
    reader.spooler.open()
    assert in_doubt(broker.url) == 1
    reader.stop()


def left(place: Path) -> list[Path]:
    """Drafts and segments in the spool."""
    return list((place / "spool").glob("*.segment*"))


def without_dtx(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in list(commands.COMMANDS):
        if each.VERB.startswith("dtx."):
            monkeypatch.delitem(commands.COMMANDS, each)
    assert dtx.Start not in commands.COMMANDS


def test_a_broker_without_branches(
    broker: InMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    without_dtx(monkeypatch)
    send(broker.url, BODIES)
    reader = stream_at(source(broker.url, tmp_path, mode="exactly-once"))
    with pytest.raises(LiveSetupError, match="knows no distributed transactions, and mode exactly-once needs them"):
        reader.latestOffset(reader.initialOffset(), NEXT)
    reader.stop()
    assert broker.served.depth(ORDERS) == len(BODIES)
    with caplog.at_level(logging.WARNING):
        query = SourceQuery(source(broker.url, tmp_path), lambda step: None)
        query.run()
    assert "at least once" in caplog.text
    assert "message_id" in caplog.text
    assert sorted(query.bodies) == sorted(BODIES)


def test_what_is_wrong_from_the_start_is_one_error(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES)
    with pytest.raises(LiveSetupError, match=r"there is no queue 'nowhere' and none 'neither' \(option queue\)"):
        Spooler(source(broker.url, tmp_path, queue="nowhere,orders,neither"), Spool(tmp_path / "spool")).open()
    with pytest.raises(LiveError, match="nobody listens there") as told:
        Spooler(source("amqp://guest:geheim@127.0.0.1:1", tmp_path), Spool(tmp_path / "other")).open()
    assert "geheim" not in str(told.value)
    assert broker.served.depth(ORDERS) == len(BODIES)


def test_a_full_disk_is_one_error_and_loses_nothing(broker: InMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio.spark.live import spool

    def full(file: object) -> None:
        raise OSError(28, "No space left on device")

    send(broker.url, BODIES)
    reader = stream_at(source(broker.url, tmp_path))
    with monkeypatch.context() as patched:
        patched.setattr(spool, "sync", full)
        with pytest.raises(LiveError, match="the disk is full; nothing was taken"):
            reader.latestOffset(reader.initialOffset(), NEXT)
    reader.stop()
    assert (depth(broker.url), in_doubt(broker.url)) == (len(BODIES), 0)
    assert left(tmp_path) == []
    query = SourceQuery(source(broker.url, tmp_path), lambda step: None)
    query.run()
    assert sorted(query.bodies) == sorted(BODIES)


def test_bounds_and_several_queues(broker: InMemory, tmp_path: Path) -> None:
    declare(broker.url, "more")
    send(broker.url, [b"x" * 100] * 5)
    send(broker.url, [b"y" * 100] * 5, "more")
    options = source(broker.url, tmp_path, queue="orders, more", maxOctets="200")
    query = SourceQuery(options, lambda step: None)
    query.run()
    assert Counter(row["queue"] for row in query.rows) == {"orders": 5, "more": 5}
    assert {len(rows) for rows in query.output.values()} <= {1, 2}  # with their headers two are more than 200 octets


@pytest.mark.parametrize(("seconds", "rows"), [("5", 5), ("0", 100)])
def test_a_batch_is_bounded_in_time_however_fast_messages_come(tmp_path: Path, seconds: str, rows: int) -> None:
    """Without seconds it takes what is here, and waits for no more."""

    class Endless:
        def receive(self, seconds: float) -> tuple[None, RawMessage]:
            return None, RawMessage("q", 0, b"", b"x")

    options = source("amqp://nowhere", tmp_path, maxRows="100", maxSeconds=seconds)
    ticking = itertools.count()
    spooler = Spooler(options, Spool(options.spool), clock=lambda: float(next(ticking)))
    assert len(spooler._collect(Endless(), None, 1.0)[1]) == rows  # type: ignore[arg-type]


def test_credit_bounds_what_is_in_flight(broker: InMemory, tmp_path: Path) -> None:
    send(broker.url, BODIES)
    reader = stream_at(source(broker.url, tmp_path, maxRows="5", prefetch="8"))
    start = reader.latestOffset(reader.initialOffset(), NEXT)
    reader.spooler.depth()
    assert broker.served.acquired(ORDERS) <= 8
    assert start["rows"] == 5
    assert reader.reportLatestOffset() == {**start, "lag": 25, "in_doubt": 0, "mode": "exactly-once"}
    reader.stop()
    assert broker.served.depth(ORDERS) == 25


OWNER = new_owner()


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        declare(served.url, ORDERS, "more")
        yield served


def intake(served: Served, *queues: str, prefetch: int = 10, octets: int | None = None, **more: str) -> QueueIntake:
    from pathlib import Path

    made = QueueIntake(source(served.url, Path("/"), **more).access, queues, prefetch, octets)
    made.open()
    made.subscribe()
    return made


def test_messages_come_in_turn_of_their_queues(served: Served) -> None:
    send(served.url, [b"a"] * 3)
    send(served.url, [b"b"] * 3, "more")
    made = intake(served, ORDERS, "more")
    assert made.there == 6
    got = [made.receive(5.0) for _ in range(6)]
    assert sorted(each[1].queue for each in got if each is not None) == ["more"] * 3 + [ORDERS] * 3
    assert made.receive(0.0) is None
    assert made.receive(0.01) is None
    made.close()
    assert served.depth(ORDERS) == 3


def test_a_branch_from_its_start_to_its_end(served: Served) -> None:
    send(served.url, [b"a"] * 2)
    made = intake(served, ORDERS)
    for finish in (lambda name: made.link.rollback([name]), made.commit):
        got = [made.receive(5.0) for _ in range(2)]
        name = branch(OWNER, SOURCE, 1)
        made.begin(name)
        made.accept([each[0] for each in got if each is not None])
        made.end(name)
        asked = partial(made._session._core.transactions.get_timeout, name)
        assert made._session._asked(asked) == BRANCH_TIMEOUT
        made.prepare(name)
        assert made.link.in_doubt() == (name,)
        finish(name)
        assert made.link.in_doubt() == ()
    made.sync()
    assert made.depth() == 0
    made.close()
    assert (served.depth(ORDERS), served.acquired(ORDERS)) == (0, 0)


def test_depth_counts_each_message_once(served: Served) -> None:
    send(served.url, [b"a"] * 9)
    made = intake(served, ORDERS, prefetch=4)
    assert made.depth() == 9
    made.close()


def test_refusals_and_losses(served: Served) -> None:
    with pytest.raises(LiveSetupError, match="there is no queue 'nowhere'"):
        intake(served, ORDERS, "nowhere")
    made = intake(served, ORDERS, branchTimeout="1000000")
    with pytest.raises(LiveSetupError, match=r"542.*branchTimeout"):
        made.begin(branch(OWNER, SOURCE, 1))
    made.close()
    made = intake(served, ORDERS)
    served.cut()
    with pytest.raises(LiveError):
        made.receive(5.0)
    with pytest.raises(LiveError):
        made.sync()
    made.close()
