"""The command `amqp-sansio`, also as `python -m amqp_sansio`.

Little is imported before `main` runs, so that an interrupt ends it as quietly while it begins as later.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
from types import FrameType

from amqp_sansio.cli.interrupts import INTERRUPTED


def main() -> int:
    """Runs the command; gives its exit status: INTERRUPTED behind an interrupt, whenever it comes."""
    usual = signal.getsignal(signal.SIGINT)
    heeds = usual is signal.default_int_handler  # else whoever started it wants none
    if heeds:
        signal.signal(signal.SIGINT, _end)
    from amqp_sansio.cli.main import main as run

    sys.unraisablehook = _raised_later
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
    """An interrupt before anything has begun, or behind everything."""
    os._exit(INTERRUPTED)


def _raised_later(error: sys.UnraisableHookArgs) -> None:
    """An interrupt that came into a destructor is raised behind it."""
    if issubclass(error.exc_type, KeyboardInterrupt):
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(error)


if __name__ == "__main__":
    raise SystemExit(main())
