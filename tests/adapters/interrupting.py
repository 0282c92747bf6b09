"""An interrupt at any place where CPython looks for signals: behind a call, at the start of a function, at the end of a loop.

A real Ctrl-C comes at one of them, and nobody can say at which.
"""

from __future__ import annotations

import dis
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

LOOKS: Final = frozenset(("CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD", "RESUME"))
"""Instructions behind which the interpreter looks for signals."""
CLIENTS: Final = ("/amqp_sansio/adapters/sync/", "/amqp_sansio/conversation/", "/amqp_sansio/engine/", "/threading.py")
"""Where they are counted: what a client runs.  The broker of the test runs in other threads, which get no signals."""


class Interrupted:
    """Runs something in this thread and raises KeyboardInterrupt at the place number `at`, from 1 (0: nowhere).

    `places` is how many there were, `where` says at which it was; `raised` is what came out.
    """

    def __init__(self, run: Callable[[], object], at: int) -> None:
        self.places = 0
        self.where = ""
        self.raised: BaseException | None = None
        self._at: Final = at
        self._found: Final[dict[CodeType, frozenset[int]]] = {}
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            run()
        except BaseException as error:
            self.raised = error
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if not any(each in frame.f_code.co_filename for each in CLIENTS):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event == "opcode" and not self.where and frame.f_lasti in self._behind(frame.f_code):
            self.places += 1
            if self.places == self._at:
                self.where = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"
                raise KeyboardInterrupt
        return self._step

    def _behind(self, code: CodeType) -> frozenset[int]:
        """The offsets of the instructions that follow one behind which signals are looked for."""
        if code not in self._found:
            steps = list(dis.get_instructions(code))
            self._found[code] = frozenset([after.offset for step, after in itertools.pairwise(steps) if step.opname in LOOKS])
        return self._found[code]
