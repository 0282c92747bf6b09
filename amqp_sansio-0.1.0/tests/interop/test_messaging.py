"""qpid.messaging, Apache's Python client, as a client of `serve`: what messaging.py27 prints."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from amqp_sansio.adapters.sync import connect
from amqp_sansio.cli.served import Process
from amqp_sansio.spec import queue
from tools.interop import qpid_python
from tools.interop.qpid_python import Suites

PROGRAM = Path(qpid_python.__file__).with_name("messaging.py27")
PATIENCE = 120.0
"""Seconds that a scenario may take."""
MANY = 20_000
SAID = {
    "spout": [
        "text subject 1 True 9 False",
        "amqp/map [1, 2.5, True, None] c py-replies",
        "amqp/list ['a', '1']",
        "''",
        "NotFound",
    ],
    "rollback": [
        "before commit 0",
        "after commit 5",
        "['0', '1', '2', '3', '4'] [False, False, False, False, False]",
        "['0', '1', '2', '3', '4'] [True, True, True, True, True]",
        "['0', '1', '2']",
        "left 2",
    ],
    "browse": [
        "['0', '1', '2', '3']",
        "['0', '1', '2', '3']",
        "['4']",
        "['0', '1', '2', '3', '4']",
        "[]",
    ],
    "dead": ["['0', '1'] [False, False]", "['2', '3']"],
    "many": ["True 0"],
}
"""What each scenario prints."""


def broker(process: Process) -> str:
    """The address of a `serve`, as this client takes it."""
    return urlsplit(process.url).netloc.rpartition("@")[2]


@pytest.fixture(scope="module", params=[False, True], ids=["memory", "data-dir"])
def serving(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One `serve` for all, in memory and with a store."""
    process = Process(*(["--data-dir", str(tmp_path_factory.mktemp("messaging") / "data")] if request.param else []))
    try:
        yield broker(process)
        assert process.end() == 0
    finally:
        process.kill()


@pytest.mark.parametrize("scenario", SAID)
def test_served(scenario: str, serving: str, suites: Suites) -> None:
    program = suites.start(PROGRAM, scenario, serving, *([str(MANY)] if scenario == "many" else []))
    try:
        printed, _ = program.communicate(timeout=PATIENCE)
    finally:
        program.kill()
    assert (printed.splitlines(), program.returncode) == (SAID[scenario], 0)


class Talk:
    """A scenario that prints lines and reads one when it may go on."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program

    def line(self) -> str:
        """The next line; "" when it has ended."""
        assert self._program.stdout is not None
        return self._program.stdout.readline().strip()

    def go_on(self) -> None:
        """Lets it go on."""
        assert self._program.stdin is not None
        self._program.stdin.write("\n")
        self._program.stdin.flush()


def test_three_kills_lose_nothing_and_what_comes_twice_says_so(tmp_path: Path, suites: Suites) -> None:
    """The broker dies twice while the client sends and once while it receives; each time the client comes back by itself.

    What was in doubt when it died comes twice at most; then one of the two says `redelivered`.
    """
    data, messages = str(tmp_path / "data"), 600
    process = Process("--data-dir", data)
    port = str(urlsplit(process.url).port)
    program: subprocess.Popen[str] | None = None
    try:
        with connect(process.url) as connection, connection.session() as session:
            session.execute(queue.Declare("py-killed", durable=True))
        program = suites.start(PROGRAM, "reconnect", f"127.0.0.1:{port}", "py-killed", str(messages))
        talk = Talk(program)
        kills = 0
        received: list[tuple[int, bool]] = []
        while (line := talk.line()) != "done":
            word, _, rest = line.partition(" ")
            assert word in ("sent", "got", "half"), line
            if word == "got":
                content, _, redelivered = rest.partition(" ")
                received.append((int(content), redelivered == "True"))
                continue
            talk.go_on()
            if line in ("sent 200", "sent 400", "half"):
                process.kill()  # in the middle of what it does now
                kills += 1
                process = Process("--data-dir", data, "--port", port)
        assert kills == 3
        marks: dict[int, list[bool]] = {}
        for number, marked in received:
            marks.setdefault(number, []).append(marked)
        assert set(marks) == set(range(messages))
        assert [number for number, all_of_it in marks.items() if len(all_of_it) > 1 and not any(all_of_it)] == []
    finally:
        process.kill()
        if program is not None:
            program.kill()
            program.wait()
