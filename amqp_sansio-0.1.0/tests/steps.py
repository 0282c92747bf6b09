"""How much work a call does, counted: what a peer can make grow must grow no faster than what it sends."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import pytest

from amqp_sansio.kernel.build import COMPILED

MOST: Final = 2.2
"""Twice the input may cost so many times the steps."""


def steps(work: Callable[[], object]) -> int:
    """Bytecodes that a call runs.  What runs in C counts as one, whatever its length: copies, sorts, looks into dicts."""
    count = 0

    def each(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += 1
        return each

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what others run at a collection is none of the work
    sys.settrace(each)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count


steps(lambda: None)
"""Python 3.12 tells bytecodes only from the second time on that it is traced."""


def assert_linear(prepared: Callable[[int], Callable[[], object]], size: int) -> None:
    """What `prepared` makes for twice the size runs at most 2.2 times the steps.  Making it is not counted."""
    if COMPILED:
        pytest.skip("the steps of compiled code cannot be counted")
    once, twice = steps(prepared(size)), steps(prepared(2 * size))
    assert once > size, "too little runs to judge by"
    assert twice <= MOST * once, f"{once} steps at size {size}, {twice} at {2 * size}"
