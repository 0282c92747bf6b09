"""Consumers, quality of service and returns, as classes file and stream share them."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine, Table
from amqp_sansio.tables import consumer as t
from amqp_sansio.tables import file, stream
from amqp_sansio.tables.connection import CLIENT, SERVER

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
    table = t.qos_table(name)
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
    table = t.consumer_table(name)
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
    table = t.consumer_table(name)
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
    table = t.return_table(name)
    refusal = Machine(table).step(S, f"{name}.return")
    assert refusal is not None
    assert refusal.legal == (f"client:{name}.publish",)
    walk(table, (C, f"{name}.publish"), (S, f"{name}.return"), (S, f"{name}.return"), (C, f"{name}.publish"))


def test_tables_of_the_two_classes_differ_in_name_and_verbs() -> None:
    ours = [file.QOS, file.CONSUMER, file.PUBLISHING, stream.QOS, stream.CONSUMER, stream.PUBLISHING]
    assert len({table.name for table in ours}) == len(ours)
    for table in ours:
        name = table.name.partition(":")[0]
        assert all(row.verb.startswith((f"{name}.", t.COMPLETED)) for row in table.rows)
