"""The tests on the compiled build, apart from those that cannot be about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.compiled.sources import ROOT

FOLDERS: Final = ("kernel", "wire", "events", "tables", "engine", "captures")
"""Under tests/: those of what is compiled."""

_WRONG: Final = "an argument of a wrong type is a TypeError at the call"
_PATCHED: Final = "replaces a constant or a method, which compiled code does not look up again"
_OPENED: Final = "looks into an object through its `__dict__`"
APART: Final = {
    "tests/broker/test_broker.py::test_a_tick_looks_at_nobody_whose_time_has_not_come": _PATCHED,
    "tests/captures/replay/test_branches.py::test_branches_are_bounded": _PATCHED,
    "tests/captures/replay/test_half.py::test_open_commands_and_ranges_are_bounded": _PATCHED,
    "tests/captures/replay/test_half.py::test_open_messages_are_bounded": _PATCHED,
    "tests/captures/replay/test_half.py::test_what_needs_no_accept_goes_out_when_complete_or_after_a_grace": _PATCHED,
    "tests/captures/test_flows.py::test_how_often_ports_were_used_is_forgotten_at_the_limit": _PATCHED,
    "tests/captures/test_flows.py::test_limits_of_connections_that_never_end": _PATCHED,
    "tests/captures/test_flows.py::test_memory_does_not_grow_with_the_number_of_connections": _PATCHED,
    "tests/captures/test_tcp.py::test_noise_keeps_within_the_limits_and_comes_to_an_end": _PATCHED,
    "tests/captures/test_tcp.py::test_octets_behind_a_fin_that_waits_for_an_answer_come_to_an_end": _PATCHED,
    "tests/captures/test_tcp.py::test_the_limit_of_segments_that_wait": _PATCHED,
    "tests/captures/test_tcp.py::test_the_limit_of_what_waits": _PATCHED,
    "tests/engine/test_client.py::test_the_first_mechanism_of_ours_that_is_offered_is_used": _OPENED,
    "tests/engine/test_connection.py::test_no_secret_in_events_errors_reprs_or_the_record": _OPENED,
    "tests/engine/test_dtx.py::test_what_is_no_xid_or_no_time": _WRONG,
    "tests/engine/test_session_misuse.py::test_a_callers_mistake_raises_says_nothing_and_changes_nothing[a control]": _WRONG,
    "tests/engine/test_session_misuse.py::test_too_large_for_a_frame_is_refused_and_changes_nothing": _WRONG,
    "tests/engine/test_two_phase.py::test_what_are_no_branches": _WRONG,
    "tests/engine/test_xid.py::test_what_is_no_xid": _WRONG,
    "tests/testing/simulation/test_faults_found.py::test_a_fault_is_found_and_shrunk[ignores a window]": _PATCHED,
    "tests/wire/layouts/test_dispatch.py::test_a_value_that_no_field_can_hold_is_named[x]": _WRONG,
    "tests/wire/layouts/test_properties.py::test_what_cannot_be_written_is_named": _WRONG,
    "tests/wire/layouts/test_v0_10.py::test_encode_errors_name_the_field": _WRONG,
    "tests/wire/test_encoding.py::test_what_has_no_type": _WRONG,
}
"""Tests that are left out, by the beginning of their name, and why."""


def trial(out: Path, words: list[str]) -> int:
    """Runs them; `words` are for pytest.  The exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-o", f"pythonpath={out} ."]
    command += [f"--deselect={name}" for name in APART]
    command += words or [f"tests/{name}" for name in FOLDERS if (ROOT / "tests" / name).is_dir()]
    path = os.pathsep.join([str(out), str(ROOT)])
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
