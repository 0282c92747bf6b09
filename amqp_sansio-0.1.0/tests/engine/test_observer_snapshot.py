"""The state of an observer as plain values, and back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.captures import build
from tests.engine.overheard import ATTACH, Said, command, opening

from amqp_sansio.dialects import AMQP_0_10, DIALECTS
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.observer_snapshot import dump, load, names_in
from amqp_sansio.engine.witness import Witness
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import Violation
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.execution import Result
from amqp_sansio.spec.message import Accept, Acquire, Acquired, Flow, Subscribe, Transfer
from amqp_sansio.tables.connection import HANDSHAKE
from amqp_sansio.tables.session import ATTACHMENT, STREAM

CHECKER = Observer()._checker


def everything_in(plain: object) -> Iterator[object]:
    yield plain
    if isinstance(plain, tuple):
        for each in plain:
            yield from everything_in(each)


def test_what_comes_out_is_plain() -> None:
    plain = dump((Witness(True, Limits()), MutableRangeSet()), CHECKER, DIALECTS)
    assert {type(each) for each in everything_in(plain)} <= {tuple, str, bytes, int, bool, float, type(None)}


@pytest.mark.parametrize("table", [HANDSHAKE, *ATTACHMENT.values(), *STREAM.values()])
def test_a_machine_finds_its_table_again(table: object) -> None:
    machine = Machine(table)  # type: ignore[arg-type]  # a table: the list above holds nothing else
    again = load(dump(machine, CHECKER, DIALECTS), CHECKER, DIALECTS)
    assert isinstance(again, Machine)
    assert again.table is table
    assert again.state == machine.state


def test_what_is_no_snapshot_is_refused() -> None:
    for plain in (("NoSuchClass",), ("Machine", "no such table")):
        with pytest.raises(DecodeError):
            load(plain, CHECKER, DIALECTS)


def test_a_snapshot_names_its_dialect() -> None:
    assert names_in(Observer(AMQP_0_10).snapshot()) == ("0-10", "0-10")
    assert names_in(Observer().snapshot()) == ("0-10", None)
    assert names_in(()) == (None, None)


def test_a_later_version_is_refused_by_both_numbers() -> None:
    state, records = Observer().snapshot()
    assert isinstance(state, tuple)
    with pytest.raises(DecodeError, match="its version is 3, this library reads 1 and 2"):
        Observer.restore(((state[0], 3, *state[2:]), records))


OCTETS = [
    ("C", build.HEADER), ("S", build.HEADER + build.START), ("C", build.START_OK), ("S", build.TUNE),
    ("C", build.TUNE_OK + build.OPEN), ("S", build.OPEN_OK), ("C", build.ATTACH), ("S", build.ATTACHED),
    ("C", build.POINT + build.transfer(b"x" * 100)), ("S", build.completed(0)), ("C", build.CLOSE), ("S", build.CLOSE_OK),
]  # fmt: skip


@pytest.mark.parametrize("strict", [False, True])
def test_an_observer_that_is_stored_after_every_octet_hears_the_same(strict: bool) -> None:
    straight, stored = Observer(strict=strict), Observer(strict=strict)
    for speaker, octets in OCTETS:
        for at in range(len(octets)):
            straight.receive_data(speaker, octets[at : at + 1])  # type: ignore[arg-type]  # "C" or "S", from the list above
            stored.receive_data(speaker, octets[at : at + 1])  # type: ignore[arg-type]
            assert list(straight.events()) == list(stored.events())
            stored = Observer.restore(stored.snapshot())
    assert stored.snapshot() == straight.snapshot()


def test_what_is_asked_of_transfers_and_not_answered_is_stored_too() -> None:
    said: list[Said] = [
        *opening(),
        *ATTACH,
        ("C", command(Subscribe("q", "d", 0, 1))),
        *[("C", command(Flow("d", unit, 100))) for unit in (0, 1)],
        ("S", command(Transfer("d", 0, 1))),
        ("C", command(Acquire(RangeSet.of(0)))),
    ]
    watch = Observer(strict=True)
    for speaker, octets in said:
        watch.receive_data(speaker, octets)
        list(watch.events())
        watch = Observer.restore(watch.snapshot())
    for speaker, octets in (("S", command(Result(3, Acquired(RangeSet.of(0))))), ("C", command(Accept(RangeSet.of(0))))):
        watch.receive_data("S" if speaker == "S" else "C", octets)
        assert [each.event.rule for each in watch.events() if isinstance(each.event, Violation)] == []
