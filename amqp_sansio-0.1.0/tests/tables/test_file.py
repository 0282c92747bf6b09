"""Class file: staging, and deliveries that are acknowledged."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables import file as t
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.consumer import COMPLETED
from amqp_sansio.tables.session import COMMAND_SPEAKERS

C, S = CLIENT, SERVER


def test_every_command_of_the_class_has_a_row_and_its_speaker() -> None:
    tables = (t.QOS, t.CONSUMER, t.PUBLISHING, *t.STAGING.values(), t.DELIVERY)
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
    for before in ([], [COMPLETED], [t.ACK_ALL], [t.ACK_ALL, COMPLETED]):
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
        (C, COMPLETED, t.PERHAPS_RECEIVED),
        (C, t.ACK_ALL, t.END),
    ]:
        assert machine.step(speaker, verb) is None
        assert machine.state == state
