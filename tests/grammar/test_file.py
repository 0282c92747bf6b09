"""The grammars of classes file and stream."""

from __future__ import annotations

from tests.grammar.naive import equivalent

from amqp_sansio.grammar import file
from amqp_sansio.grammar.algebra import interleaved, renamed

CONSUME, OK, DELIVER, CANCEL = "client:file.consume", "server:file.consume-ok", "server:file.deliver", "client:file.cancel"
NOWAIT = f"{CONSUME} nowait"
DONE = file.COMPLETED


def test_questions_about_quality() -> None:
    assert file.qos().accepts(["client:file.qos", "server:file.qos-ok"] * 2)
    assert not file.qos().prefixes().accepts(["client:file.qos"] * 2)
    assert file.qos(most=2).accepts(["client:file.qos"] * 2 + ["server:file.qos-ok"] * 2)


def test_a_consumer() -> None:
    legal = file.consumer().prefixes()
    assert legal.accepts([CONSUME, OK, DELIVER, CANCEL, DELIVER, DONE, NOWAIT, DELIVER])
    assert legal.accepts([CONSUME, CANCEL, DONE, OK, CONSUME])
    assert legal.accepts([NOWAIT, CANCEL, CONSUME, DELIVER, DONE, OK, DELIVER])
    for wrong in ([CONSUME, DELIVER], [CONSUME, OK, CONSUME], [NOWAIT, CANCEL, DONE, DELIVER], [CONSUME, CANCEL, CONSUME]):
        assert legal.accepts(wrong[:-1])
        assert not legal.accepts(wrong)


def test_returns() -> None:
    assert file.published().accepts(["client:file.publish", "server:file.return"])
    assert not file.published().prefixes().accepts(["server:file.return"])


def test_staging_one_at_a_time() -> None:
    legal = file.staging("client", "server", "file.publish").prefixes()
    staged = ["client:file.open", "server:file.open-ok", "client:file.stage"]
    assert legal.accepts([staged[0], "client:file.publish", *staged[1:], *staged, "client:file.publish"])
    assert not legal.accepts(["client:file.publish"])
    assert not legal.accepts([staged[0], staged[2]])
    assert not legal.accepts([staged[0], staged[0]])


def test_a_delivery_is_settled_once() -> None:
    legal = file.delivery().prefixes()
    deliver, ack, everything, done = (
        "server:file.deliver",
        "client:file.ack",
        "client:file.ack of all",
        "client:session.completed",
    )
    assert legal.accepts([deliver, everything, everything, ack, done, done])
    assert not legal.accepts([deliver, ack, "client:file.reject"])
    assert not legal.accepts([deliver, done, everything, ack])  # it had been received, so the ack of all was for it too
    assert not legal.accepts(["server:file.deliver no-ack", ack])


def test_it_is_like_class_file_without_staging_and_acknowledgement() -> None:
    mixed = interleaved(file.qos(), file.consumer(), file.published())
    assert equivalent(file.stream(), renamed(mixed, lambda word: word.replace("file.", "stream.")))
    assert file.qos("stream").accepts(["client:stream.qos", "server:stream.qos-ok"])
    assert file.consumer("stream").prefixes().accepts(["client:stream.consume nowait", "server:stream.deliver"])
    assert file.published("stream").accepts(["client:stream.publish", "server:stream.return"])
