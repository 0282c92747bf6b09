"""Consumers, quality of service and returns, as classes file and stream share them."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine, Table
from amqp_sansio.tables import content_classes as t
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.session import COMMAND_SPEAKERS

C, S = CLIENT, SERVER
BOTH = pytest.mark.parametrize("name", ["file", "stream"])


def walk(table: Table, *words: tuple[str, str]) -> Machine:
    """A machine that was told these words, all legal."""
    machine = Machine(table)
    for speaker, verb in words:
        assert machine.step(speaker, verb) is None, (machine, speaker, verb)
    return machine


@BOTH
def test_one_question_about_quality_at_a_time(name: str) -> None:
    table = t.QOS[name]
    machine = walk(table, (C, f"{name}.qos"))
    refusal = machine.step(C, f"{name}.qos")
    assert refusal is not None
    assert refusal.legal == (f"server:{name}.qos-ok",)
    assert machine.step(S, f"{name}.qos-ok") is None
    assert machine.step(S, f"{name}.qos-ok") is not None
    assert machine.finished


@BOTH
def test_the_life_of_a_consumer(name: str) -> None:
    consume, ok, cancel, deliver = [f"{name}.{verb}" for verb in ("consume", "consume-ok", "cancel", "deliver")]
    table = t.CONSUMER[name]
    for words, state in [
        ([(C, consume)], t.ASKED),
        ([(C, consume), (S, ok), (S, deliver), (S, deliver)], t.CONSUMING),
        ([(C, t.nowait(name)), (S, deliver)], t.CONSUMING),
        ([(C, consume), (S, ok), (C, cancel), (S, deliver)], t.CANCELLED),
        ([(C, consume), (S, ok), (C, cancel), (S, t.COMPLETED)], t.NO_CONSUMER),
        ([(C, consume), (C, cancel), (S, ok), (S, deliver), (S, t.COMPLETED)], t.NO_CONSUMER),
        ([(C, consume), (C, cancel), (S, t.COMPLETED), (S, ok)], t.NO_CONSUMER),
        ([(C, t.nowait(name)), (C, cancel), (C, consume), (S, deliver), (S, ok)], t.CONSUMING),
        ([(C, t.nowait(name)), (C, cancel), (C, consume), (S, t.COMPLETED)], t.ASKED),
        ([(C, t.nowait(name)), (C, cancel), (C, consume), (C, cancel), (S, deliver), (S, ok), (S, deliver)], t.CANCELLED),
    ]:
        assert walk(table, *words).state == state


@BOTH
def test_what_a_consumer_may_not_hear_or_say(name: str) -> None:
    consume, ok, cancel, deliver = [f"{name}.{verb}" for verb in ("consume", "consume-ok", "cancel", "deliver")]
    table = t.CONSUMER[name]
    for words, wrong in [
        ([], [(C, cancel), (S, ok), (S, deliver)]),
        ([(C, consume)], [(C, consume), (C, t.nowait(name)), (S, deliver)]),
        ([(C, t.nowait(name))], [(C, consume), (C, t.nowait(name)), (S, ok)]),
        ([(C, consume), (S, ok), (C, cancel)], [(C, cancel), (S, ok)]),
        ([(C, consume), (C, cancel)], [(C, consume), (S, deliver)]),
        ([(C, consume), (S, ok), (C, cancel), (S, t.COMPLETED)], [(S, deliver), (C, cancel)]),
    ]:
        for speaker, verb in wrong:
            assert walk(table, *words).step(speaker, verb) is not None, (words, verb)


@BOTH
def test_nothing_comes_back_before_something_was_published(name: str) -> None:
    table = t.PUBLISHING[name]
    refusal = Machine(table).step(S, f"{name}.return")
    assert refusal is not None
    assert refusal.legal == (f"client:{name}.publish",)
    walk(table, (C, f"{name}.publish"), (S, f"{name}.return"), (S, f"{name}.return"), (C, f"{name}.publish"))


def test_tables_of_the_two_classes_differ_in_name_and_verbs() -> None:
    ours = [*t.QOS.values(), *t.CONSUMER.values(), *t.PUBLISHING.values()]
    assert len({table.name for table in ours}) == len(ours)
    for table in ours:
        name = table.name.partition(":")[0]
        assert all(row.verb.startswith((f"{name}.", t.COMPLETED)) for row in table.rows)


def test_every_command_of_class_stream_has_a_row_and_its_speaker() -> None:
    rows = [row for table in (t.QOS["stream"], t.CONSUMER["stream"], t.PUBLISHING["stream"]) for row in table.rows]
    said = {(row.verb.removesuffix(" nowait"), row.speaker) for row in rows if row.verb.startswith("stream.")}
    assert said == {(verb, speaker) for verb, speaker in COMMAND_SPEAKERS.items() if verb.startswith("stream.")}


def test_every_command_of_class_file_has_a_row_and_its_speaker() -> None:
    tables = (t.QOS["file"], t.CONSUMER["file"], t.PUBLISHING["file"], *t.STAGING.values(), t.DELIVERY)
    said = {(row.verb.partition(" ")[0], row.speaker) for table in tables for row in table.rows}
    both = {(verb, speaker) for verb in (t.OPEN, t.OPEN_OK, t.STAGE) for speaker in (C, S)}
    alone = {(verb, speaker) for verb, speaker in COMMAND_SPEAKERS.items() if verb.startswith("file.")}
    assert {word for word in said if word[0].startswith("file.")} == both | alone


@pytest.mark.parametrize(("sender", "receiver", "use"), [(C, S, t.PUBLISH), (S, C, t.DELIVER)])
def test_a_file_is_opened_staged_and_used(sender: str, receiver: str, use: str) -> None:
    machine = Machine(t.STAGING[sender])
    assert machine.step(sender, use) is not None
    for _ in range(2):
        for speaker, verb in ((sender, t.OPEN), (sender, use), (receiver, t.OPEN_OK), (sender, t.STAGE), (sender, use)):
            assert machine.step(speaker, verb) is None
    assert machine.finished


@pytest.mark.parametrize(("sender", "receiver"), [(C, S), (S, C)])
def test_the_steps_of_staging_wait_for_one_another(sender: str, receiver: str) -> None:
    machine = Machine(t.STAGING[sender])
    order = [(sender, t.OPEN), (receiver, t.OPEN_OK), (sender, t.STAGE)]
    for at, (speaker, verb) in enumerate(order * 2):
        for other, wrong in order:
            if (other, wrong) != order[at % 3]:
                assert machine.step(other, wrong) is not None, (machine, wrong)
        assert machine.step(receiver if speaker == sender else sender, verb) is not None
        assert machine.step(speaker, verb) is None


@pytest.mark.parametrize("verb", [t.ACK, t.REJECT])
def test_a_delivery_is_settled_once(verb: str) -> None:
    for before in ([], [t.COMPLETED], [t.ACK_ALL], [t.ACK_ALL, t.COMPLETED]):
        machine = Machine(t.DELIVERY)
        assert machine.step(C, verb) is not None
        assert machine.step(S, t.DELIVER) is None
        for word in before:
            assert machine.step(C, word) is None
        assert machine.step(C, verb) is None
        assert machine.finished
        assert machine.step(C, verb) is not None


def test_without_acks_there_is_nothing_to_settle() -> None:
    machine = Machine(t.DELIVERY)
    assert machine.step(S, t.DELIVER_NO_ACK) is None
    assert machine.finished
    assert machine.step(C, t.ACK) is not None


def test_all_so_far_leaves_what_was_under_way_perhaps_acknowledged() -> None:
    machine = Machine(t.DELIVERY)
    for speaker, verb, state in [
        (S, t.DELIVER, t.DELIVERED),
        (C, t.ACK_ALL, t.PERHAPS),
        (C, t.ACK_ALL, t.PERHAPS),
        (C, t.COMPLETED, t.PERHAPS_RECEIVED),
        (C, t.ACK_ALL, t.END),
    ]:
        assert machine.step(speaker, verb) is None
        assert machine.state == state
