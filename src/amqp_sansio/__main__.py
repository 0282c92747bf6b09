"""Runs the command `amqp-sansio`, also for `python -m amqp_sansio`.

Little is imported before `main` runs, so that an interrupt during imports ends the command as quietly as a later one.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from amqp_sansio.cli import INTERRUPTED


def main() -> int:
    """Runs the command; gives its exit status: INTERRUPTED after an interrupt, whenever it comes."""
    usual = signal.getsignal(signal.SIGINT)
    heeds = usual is signal.default_int_handler  # else whoever started it wants none
    if heeds:
        signal.signal(signal.SIGINT, _end)
    from amqp_sansio.cli.main import main as run

    sys.unraisablehook = _in_destructor
    try:
        if heeds:
            signal.signal(signal.SIGINT, usual)
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if heeds:
            signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    """Ends the program for an interrupt before anything has begun, or after everything."""
    os._exit(INTERRUPTED)


def _in_destructor(error: sys.UnraisableHookArgs) -> None:
    """Ends the program for an interrupt that came into a destructor, which can raise nothing."""
    if issubclass(error.exc_type, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(error)


if __name__ == "__main__":
    raise SystemExit(main())
