"""Files that are staged.  (Word by word: test_content_talk.)"""

from __future__ import annotations

import pytest

from amqp_sansio.engine.file import Staging
from amqp_sansio.spec import file
from amqp_sansio.tables.connection import CLIENT, SERVER
from amqp_sansio.tables.content_classes import OPENING, PUBLISH, STAGED


def staged(*names: str, most: int = 9, late: bool = False) -> Staging:
    staging = Staging(CLIENT, most, late)
    for name in names:
        for speaker, command in ((CLIENT, file.Open(name, 7)), (SERVER, file.OpenOk(3)), (CLIENT, file.Stage())):
            assert staging.check(speaker, command, 4) is None
            staging.step(speaker, command)
    return staging


def test_a_file_may_be_used_as_soon_as_it_was_opened() -> None:
    staging = staged()
    assert staging.check_use(PUBLISH, "f") is not None
    staging.step(CLIENT, file.Open("f", 1))
    assert staging._machine.state == OPENING
    assert staging.check_use(PUBLISH, "f") is None
    assert staging.size("f") == 1
    objection = staging.check_use(PUBLISH, "g")
    assert objection is not None
    assert not objection.sure
    assert objection.legal == ("file.publish of 'f'", "file.open")


@pytest.mark.parametrize(("count", "held"), [(1, True), (2, True), (3, False)])
def test_limit_of_files_that_are_remembered(count: int, held: bool) -> None:
    staging = staged(*[str(number) for number in range(count)], most=2)
    assert (staging.check_use(PUBLISH, "another") is not None) == held
    assert staging.check_use(PUBLISH, str(count - 1)) is None


def test_the_same_file_again_takes_no_room() -> None:
    assert staged(*"ababab", most=2).check_use(PUBLISH, "c") is not None


def test_missing_sizes_are_not_judged() -> None:
    staging = Staging(CLIENT, 9, False)
    staging.step(CLIENT, file.Open("f"))
    assert staging.check(SERVER, file.OpenOk(99), None) is None
    staging.step(SERVER, file.OpenOk(99))
    assert staging.check(CLIENT, file.Stage(), 5) is None


def test_a_late_observer_holds_nobody_to_anything_and_learns() -> None:
    staging = staged(late=True)
    assert staging.check_use(PUBLISH, "f") is None
    for speaker, command in ((CLIENT, file.Open("f", 1)), (SERVER, file.OpenOk(2)), (CLIENT, file.Stage())):
        assert staging.check(speaker, command, 5) is None
    staging.step(SERVER, file.OpenOk(2))
    assert staging.check(SERVER, file.OpenOk(2), None) is not None
    staging.forget()
    assert staging.check(SERVER, file.OpenOk(2), None) is None


def test_a_snapshot() -> None:
    staging = staged("f", "g")
    assert staging._machine.state == STAGED
    staging.step(CLIENT, file.Open("h", 9))
    again = Staging(CLIENT, 9, False)
    again.restore(staging.snapshot())
    assert again.snapshot() == staging.snapshot()
    assert again.check(SERVER, file.OpenOk(10), None) is not None
    for key in staging.snapshot():
        if key != "forgot":
            with pytest.raises((KeyError, ValueError, TypeError)):
                Staging(CLIENT, 9, False).restore({**staging.snapshot(), key: "x"})
