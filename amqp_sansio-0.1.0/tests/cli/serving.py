"""A real `amqp-sansio serve`, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from amqp_sansio.adapters.sync import Session
from amqp_sansio.spec.queue import QueueQueryResult

SOAK = os.environ.get("AMQP_PROFILE") == "soak"
PATIENCE = 60.0
"""Seconds after which what does not come is taken for lost, on however slow a machine."""
COMMAND = (sys.executable, "-m", "amqp_sansio")
COMPACTING = """
import sys
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer
from amqp_sansio.cli.main import main
BrokerServer.__init__.__kwdefaults__["compact"] = int(sys.argv.pop(1))
sys.exit(main(sys.argv[1:]))
"""
"""A `serve` that writes a snapshot after so many octets of entries."""


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(each for each in sys.path if each)
    kept = {name: value for name, value in os.environ.items() if name != "AMQP_URL"}
    return {**kept, "PYTHONPATH": path, **more}


def browse(session: Session, name: str = "q") -> list[bytes]:
    """All that is on a queue on which nobody else works: as many as the broker says that there are, and no more."""
    told = session.query_queue(name)
    assert isinstance(told, QueueQueryResult)
    found: list[bytes] = []
    with session.subscribe(name, browse=True) as messages:
        for _ in range(told.message_count or 0):
            message = messages.receive(PATIENCE)
            found.append(message.body)
            message.release()
        session.sync()  # what comes comes before this is complete
        assert not messages._inbox.messages
    return found


def run(*arguments: str, given: bytes = b"", **more: Any) -> subprocess.CompletedProcess[bytes]:
    """A verb, to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], input=given, capture_output=True, env=environment(), timeout=60, check=False, **more
    )


class Serving:
    """`serve` on a port of its own; killed at the end if it has not ended before."""

    def __init__(self, *arguments: str, port: int = 0, compact: int | None = None, **more: Any) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        command = COMMAND if compact is None else (sys.executable, "-c", COMPACTING, str(compact))
        self.process = subprocess.Popen(
            [*command, "serve", "--port", str(port), *arguments],
            stdout=subprocess.PIPE, stderr=self._errors, env=environment(), **more,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.out = self.process.stdout
        self.first = self.out.readline().decode()
        """What it prints first."""
        self.url = self.first.rpartition(" ")[2].strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        self.out.close()
        self._errors.close()

    @property
    def errors(self) -> str:
        """What it said on stderr so far."""
        self._errors.seek(0)
        return self._errors.read().decode()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit status, when it was asked to end."""
        self.process.send_signal(how)
        return self.wait()

    def wait(self) -> int:
        """Its exit status, when it ends by itself."""
        return self.process.wait(60)

    def kill(self) -> None:
        """kill -9."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(60)

    @property
    def cpu(self) -> float:
        """Seconds of CPU that it has had so far, user and system."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Octets that it holds in memory now."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
