"""SIGINT, at a moment at which nothing is broken off in the middle."""

from __future__ import annotations

import signal
import threading

import pytest

from amqp_sansio.cli.interrupts import Interrupts


def test_the_first_interrupt_is_remembered_and_the_second_is_raised_at_once() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts() as interrupts:
        interrupts.look()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.look()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_a_thread_that_gets_no_signals_changes_nothing() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def elsewhere() -> None:
        with Interrupts() as interrupts:
            interrupts.look()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
