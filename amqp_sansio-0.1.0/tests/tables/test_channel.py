"""The life of a channel and its modes, walked by hand."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables.channel import CLOSE, CLOSE_OK, LIFE, MODE, OPEN, OPEN_OK, REFERENCE, RESUME, RESUMED, WORK
from amqp_sansio.tables.connection import CLIENT, SERVER

C, S = CLIENT, SERVER


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ([(C, OPEN), (C, WORK), (S, OPEN_OK), (S, WORK)], "open"),
        ([(C, OPEN), (S, OPEN_OK), (C, CLOSE), (S, WORK), (S, CLOSE_OK)], "closed"),
        ([(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, WORK), (C, CLOSE_OK), (C, OPEN)], "opening"),
        ([(C, OPEN), (S, OPEN_OK), (C, CLOSE), (S, CLOSE), (S, CLOSE_OK), (C, CLOSE_OK)], "closed"),
        ([(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, CLOSE), (C, CLOSE_OK), (S, CLOSE_OK)], "closed"),
        ([(C, OPEN), (C, CLOSE), (S, OPEN_OK), (S, CLOSE_OK)], "closed"),
        ([(C, RESUME), (C, WORK), (S, RESUMED), (S, WORK)], "open"),
        ([(C, RESUME), (C, CLOSE), (S, RESUMED), (S, CLOSE_OK), (C, RESUME)], "resuming"),
        ([(C, RESUME), (S, CLOSE), (C, CLOSE_OK)], "closed"),
    ],
)
def test_legal_lives(said: list[tuple[str, str]], state: str) -> None:
    walk = Machine(LIFE)
    assert [walk.step(*each) for each in said] == [None] * len(said)
    assert walk.state == state


@pytest.mark.parametrize(
    "said",
    [
        [(C, WORK)],
        [(C, OPEN), (C, OPEN)],
        [(C, OPEN), (S, WORK)],
        [(C, OPEN), (S, OPEN_OK), (C, CLOSE), (C, WORK)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE), (S, WORK)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE), (C, OPEN)],
        [(C, OPEN), (S, OPEN_OK), (S, CLOSE_OK)],
    ],
)
def test_what_may_not_be_said(said: list[tuple[str, str]]) -> None:
    walk = Machine(LIFE)
    refusals = [walk.step(*each) for each in said]
    assert refusals[:-1] == [None] * (len(said) - 1)
    assert refusals[-1] is not None


@pytest.mark.parametrize(
    ("first", "second", "legal"),
    [
        ("tx.select", "tx.commit", True),
        ("tx.select", "confirm.select", False),
        ("confirm.select", "tx.select", False),
        ("confirm.select", "confirm.select", True),
    ],
)
def test_modes(first: str, second: str, legal: bool) -> None:
    walk = Machine(MODE)
    assert walk.step(C, first) is None
    assert (walk.step(C, second) is None) is legal


@pytest.mark.parametrize("who", REFERENCE)
def test_a_reference_is_in_scope_from_open_or_resume_to_close(who: str) -> None:
    for first in ("message.open", "message.resume"):
        walk = Machine(REFERENCE[who])
        said = (first, "message.append", "message.transfer by reference", "message.checkpoint", "message.close")
        assert [walk.step(who, verb) for verb in said] == [None] * 5
        assert walk.finished
        assert walk.step(who, "message.append") is not None
