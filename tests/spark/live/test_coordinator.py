"""The driver and its tasks: whatever dies, and at whatever step, each row of each epoch is published once."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from tests.adapters.served import Served
from tests.spark.live.stage import COPY, Crash, InMemory, SinkQuery, at_step, declare, die, drain, in_doubt, sink
from tests.spark.live.test_spooler import without_dtx

from amqp_sansio.spark.errors import LiveError, LiveLossError, LiveSetupError
from amqp_sansio.spark.live import coordinator, disk
from amqp_sansio.spark.live.broker_link import BrokerLink
from amqp_sansio.spark.live.coordinator import NOTE, CommitCoordinator, Decisions, EpochDecision, TaskPublished
from amqp_sansio.spark.live.identity import SINK, branch, name_of
from amqp_sansio.spark.live.mapping import Outgoing
from amqp_sansio.spark.live.options import EXACTLY_ONCE
from amqp_sansio.spark.live.sink import STEPS as TASK_STEPS
from amqp_sansio.spark.live.sink import Publisher

EPOCHS = [[b"row %d" % (10 * epoch + number) for number in range(8)] for epoch in range(3)]
ROWS = [row for epoch in EPOCHS for row in epoch]
AROUND = ("planned", "commit logged")


@pytest.fixture
def broker() -> Iterator[InMemory]:
    with Served() as served:
        declare(served.url, COPY)
        yield InMemory(served)


def open_branches(coordinator: CommitCoordinator) -> int:
    """How many branches of its journal are in doubt at the broker."""
    with BrokerLink(coordinator.options.access) as link:
        return len(coordinator._ours(coordinator._owned(link)))


@pytest.mark.parametrize("step", [*TASK_STEPS, *coordinator.STEPS, *AROUND])
def test_a_crash_at_any_step_loses_nothing_and_doubles_nothing(broker: InMemory, tmp_path: Path, step: str) -> None:
    """The whole driver dies, with its tasks; the epoch is played again."""
    query = SinkQuery(sink(broker.url, tmp_path), EPOCHS, at_step(step, 2, die))
    query.run()
    assert query.starts == len(EPOCHS) + 1
    assert Counter(each.body for each in drain(broker.url)) == Counter(ROWS)
    assert in_doubt(broker.url) == 0
    (last,) = Decisions(query.options.journal).all()
    assert (last.epoch, last.total_rows, last.finished) == (2, len(ROWS), True)


@pytest.mark.parametrize("step", [*TASK_STEPS, *coordinator.STEPS])
def test_a_connection_lost_at_any_step(broker: InMemory, tmp_path: Path, step: str) -> None:
    """A task is tried again by Spark, what the driver says by itself."""
    query = SinkQuery(sink(broker.url, tmp_path), EPOCHS, at_step(step, 2, broker.cut))
    query.run()
    assert Counter(each.body for each in drain(broker.url)) == Counter(ROWS)
    assert in_doubt(broker.url) == 0


@pytest.mark.parametrize("step", ["published", "planned", "decided", "commit logged"])
def test_at_least_once_loses_nothing_and_doubles_have_one_id(broker: InMemory, tmp_path: Path, step: str) -> None:
    epochs = [[*EPOCHS[0], b"same", b"same", b"same"], EPOCHS[1]]
    query = SinkQuery(sink(broker.url, tmp_path, mode="at-least-once"), epochs, at_step(step, 1, die))
    query.run()
    got = drain(broker.url)
    ids = {each.message_id: each.body for each in got}
    assert None not in ids
    assert Counter(ids.values()) == Counter([row for epoch in epochs for row in epoch])
    if step == "planned":
        assert len(got) == len(ids)


@pytest.mark.parametrize("step", ["checked", "decided", "committed", "finished"])
def test_a_commit_that_fails_is_not_undone_by_spark(broker: InMemory, tmp_path: Path, step: str) -> None:
    """Spark aborts an epoch whose commit raised; behind the decision that must not undo it."""

    def fail() -> None:
        raise LiveError("the broker is away for longer than we try")

    query = SinkQuery(sink(broker.url, tmp_path, retrySeconds="0"), EPOCHS, at_step(step, 2, fail))
    query.run()
    assert Counter(each.body for each in drain(broker.url)) == Counter(ROWS)
    assert in_doubt(broker.url) == 0


def test_a_full_disk_is_one_error_and_loses_nothing(broker: InMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = SinkQuery(sink(broker.url, tmp_path), EPOCHS, lambda step: None)
    with monkeypatch.context() as patched:

        def full(file: object) -> None:
            raise OSError(28, "No space left on device")

        def planned(step: str) -> None:
            if step == "checked":
                patched.setattr(disk, "sync", full)

        query.step = planned
        with pytest.raises(LiveError, match="the disk is full"):
            query._epoch(0)
    assert (in_doubt(broker.url), drain(broker.url)) == (0, [])
    query.step = lambda step: None
    query.run()
    assert Counter(each.body for each in drain(broker.url)) == Counter(ROWS)


def test_an_epoch_that_was_decided_is_not_published_again(broker: InMemory, tmp_path: Path) -> None:
    """Spark plays an epoch again whose commit it does not know of: what is prepared then is rolled back."""
    options = sink(broker.url, tmp_path)
    decisions = Decisions(options.journal)
    made = CommitCoordinator(options)
    for wanted in (True, False):
        made.begin()
        published = Publisher(options, decisions.owner, EXACTLY_ONCE).publish([Outgoing("", COPY, b"one", {})], 5)
        assert made.commit("q", 5, [published]) is wanted
    assert [each.body for each in drain(broker.url)] == [b"one"]
    # Another query counts its epochs from 0 on.
    published = Publisher(options, decisions.owner, EXACTLY_ONCE).publish([Outgoing("", COPY, b"two", {})], 0)
    assert made.commit("another", 0, [published])
    assert [each.body for each in drain(broker.url)] == [b"two"]


def test_branches_that_are_gone_are_not_decided_about(broker: InMemory, tmp_path: Path) -> None:
    """A broker that forgot what was prepared: the epoch is not decided, so that it will be published again."""
    options = sink(broker.url, tmp_path, retrySeconds="0")
    decisions = Decisions(options.journal)
    lost = TaskPublished(name_of(branch(decisions.owner, SINK, 0)), 1, 1)
    with pytest.raises(LiveError, match="1 of 1 prepared branches are not there any more"):
        CommitCoordinator(options).commit("q", 0, [lost])
    assert decisions.last("q") is None


def test_abort_and_the_branches_of_dead_tasks(broker: InMemory, tmp_path: Path) -> None:
    options = sink(broker.url, tmp_path)
    decisions = Decisions(options.journal)
    tasks = Publisher(options, decisions.owner, EXACTLY_ONCE)
    kept = Publisher(options, Decisions(tmp_path / "other").owner, EXACTLY_ONCE)
    kept.publish([Outgoing("", COPY, b"not ours", {})])
    one, _ = [tasks.publish([Outgoing("", COPY, b"x", {})], 1) for _ in range(2)]
    made = CommitCoordinator(options)
    assert open_branches(made) == 2
    made.abort([one, None])
    assert open_branches(made) == 1
    made.begin()
    assert open_branches(made) == 0
    assert in_doubt(broker.url) == 1
    made.abort([])
    made.abort([None])


def test_a_worker_that_seemed_dead_loses_nothing(broker: InMemory, tmp_path: Path) -> None:
    """Between the look at the branches of an epoch and its decision nobody else can begin, and roll them back."""
    options = sink(broker.url, tmp_path)
    seen: list[str] = []

    def another(step: str) -> None:
        seen.append(step)
        with pytest.raises(LiveError, match=r"is used by another query; .* \(option journal\)"):
            Decisions(options.journal).lock.take(0.0)

    decisions = Decisions(options.journal)
    one = Publisher(options, decisions.owner, EXACTLY_ONCE).publish([Outgoing("", COPY, b"1", {})])
    CommitCoordinator(options, step=another).begin()
    assert seen == ["asked", "undone"]
    with pytest.raises(LiveError, match="not there any more"):
        CommitCoordinator(attrs.evolve(options, access=attrs.evolve(options.access, retry=0.0))).commit("q", 0, [one])
    one = Publisher(options, decisions.owner, EXACTLY_ONCE).publish([Outgoing("", COPY, b"1", {})])
    CommitCoordinator(options, step=another).commit("q", 0, [one])
    assert {*coordinator.STEPS, *coordinator.RECOVERY} == set(seen)


def test_jobs_share_a_journal(broker: InMemory, tmp_path: Path) -> None:
    options = sink(broker.url, tmp_path)
    decisions = Decisions(options.journal)
    from amqp_sansio.spark.live.identity import JOB, number_of_job

    tasks = Publisher(options, decisions.owner, EXACTLY_ONCE)
    one = tasks.publish([Outgoing("", COPY, b"1", {})], number_of_job("one"), JOB)
    tasks.publish([Outgoing("", COPY, b"2", {})], number_of_job("two"), JOB)
    CommitCoordinator(options, "three").begin()
    assert in_doubt(broker.url) == 2
    with pytest.raises(Crash):
        CommitCoordinator(options, "one", at_step("decided", 1, die)).commit("one", 0, [one])
    CommitCoordinator(options, "three").begin()  # what was decided is finished by whoever comes
    assert in_doubt(broker.url) == 1
    CommitCoordinator(options, "two").begin()
    assert in_doubt(broker.url) == 0
    assert [each.body for each in drain(broker.url)] == [b"1"]


def test_what_is_wrong_from_the_start_is_one_error(
    broker: InMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def begin(**more: str) -> str:
        options = sink(broker.url, tmp_path, **more)
        return CommitCoordinator(options).begin()

    with pytest.raises(LiveSetupError, match="there is no queue 'nowhere'"):
        begin(routingKey="nowhere")
    with pytest.raises(LiveSetupError, match="there is no exchange 'nowhere'"):
        begin(exchange="nowhere")
    assert begin(exchange="amq.topic") == begin(mode=EXACTLY_ONCE) == EXACTLY_ONCE
    without_dtx(monkeypatch)
    with pytest.raises(LiveSetupError, match="mode exactly-once needs them"):
        begin(mode=EXACTLY_ONCE)
    with caplog.at_level(logging.WARNING):
        assert begin() == "at-least-once"
    assert "same message_id" in caplog.text


def test_a_broker_that_breaks_its_word_is_reported(broker: InMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio.spark.live.broker_link import BrokerLink
    from amqp_sansio.spec.codes import XaStatus

    options = sink(broker.url, tmp_path)
    decisions = Decisions(options.journal)
    one = Publisher(options, decisions.owner, EXACTLY_ONCE).publish([Outgoing("", COPY, b"1", {})])
    monkeypatch.setattr(BrokerLink, "commit", lambda self, branches: [(each, XaStatus.XA_HEURRB) for each in branches])
    with pytest.raises(LiveLossError, match="undid a branch that it had prepared"):
        CommitCoordinator(options).commit("q", 0, [one])


def test_a_decision_holds(tmp_path: Path) -> None:
    made = Decisions(tmp_path / "j")
    assert made.last("q") is None
    first = made.decide(EpochDecision(query="q", epoch=0, branches=("a", "b"), rows=3, octets=30))
    second = made.decide(EpochDecision(query="q", epoch=4, rows=2, octets=20))
    again = Decisions(tmp_path / "j")
    assert again.owner == made.owner
    assert (first.total_rows, second.total_rows, second.total_octets) == (3, 5, 50)
    assert again.last("q") == second
    again.finish(second)
    assert Decisions(tmp_path / "j").all() == [again.last("q")]
    found = again.last("q")
    assert found is not None
    assert found.finished
    with pytest.raises(LiveSetupError, match="epoch 4 was decided before"):
        again.decide(EpochDecision(query="q", epoch=4))
    again.decide(EpochDecision(query="another", epoch=0))
    assert len(again.all()) == 2
    again.forget("another")
    again.forget("another")
    assert len(again.all()) == 1


def test_a_journal_that_is_not_ours(tmp_path: Path) -> None:
    made = Decisions(tmp_path)
    made.decide(EpochDecision(query="q", epoch=0))
    (path,) = tmp_path.glob("decision-*.json")
    path.write_text('{"query": "q"}')
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        made.all()
    (tmp_path / NOTE).write_text('{"form": 7}')
    with pytest.raises(LiveSetupError, match="of form 7"):
        Decisions(tmp_path)
    (tmp_path / NOTE).write_text('{"form": 1}')
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        Decisions(tmp_path)
    (tmp_path / NOTE).unlink()
    with pytest.raises(LiveSetupError, match="is gone"):
        Decisions(tmp_path)
