"""The Qpid JMS client for AMQP 0-10, from its Maven artifacts, driven by our own programs in jms/: one scenario per run.

jms = Jms(folder); jms.run("queue", url(port)) -> the lines that it printed
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tools.interop.maven import compiled, fetch, java

POM: Final = Path(__file__).with_name("jms.xml")
SOURCES: Final = Path(__file__).with_name("jms")
HEADING: Final = "== "
"""Printed before the name of each scenario."""
PATIENCE: Final = 120.0
"""The most seconds of a scenario."""


class Jms:
    """The client, fetched and compiled.  Raises NotAvailable."""

    def __init__(self, folder: Path) -> None:
        self._java: Final = java()
        libraries = fetch(POM, folder)
        self._path: Final = f"{compiled(SOURCES, libraries, folder)}:{libraries}/*"

    def run(self, scenario: str, url: str, *more: str) -> list[str]:
        """Returns the output of a scenario.  Raises AssertionError, with the output, when it failed."""
        return self.run_all([scenario], url, *more)[scenario]

    def run_all(self, scenarios: Iterable[str], url: str, *more: str) -> dict[str, list[str]]:
        """Returns the output of each scenario, run in sequence up to the first that failed."""
        names = ",".join(scenarios)
        done = subprocess.run(self._command(names, url, more), capture_output=True, text=True, check=False, timeout=PATIENCE)
        said: dict[str, list[str]] = {}
        name = ""
        for line in done.stdout.splitlines():
            if line.startswith(HEADING):
                name = line.removeprefix(HEADING)
            else:
                said.setdefault(name, []).append(line)
        if done.returncode:
            said.setdefault(name, []).append(done.stderr)
            assert "," in names, f"{names}: {said}"
        return said

    def start(self, scenario: str, url: str, *more: str) -> subprocess.Popen[str]:
        """Starts an interactive scenario: lines in, lines out."""
        return subprocess.Popen(
            self._command(scenario, url, more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _command(self, scenario: str, url: str, more: tuple[str, ...]) -> list[str]:
        return [self._java, "-Dfile.encoding=UTF-8", "-cp", self._path, "Jms", scenario, url, *more]


def url(
    port: int, user: str = "guest", password: str = "guest", virtual_host: str = "", failover: str = "", **options: str
) -> str:
    """Returns the URL for this client; `options` are broker options such as heartbeat or sasl_mechs."""
    broker = "&".join([f"{name}='{value}'" for name, value in options.items()])
    more = f"&failover='{failover}'" if failover else ""
    brokers = f"tcp://127.0.0.1:{port}{'?' if broker else ''}{broker}"
    return f"amqp://{user}:{password}@client/{virtual_host}?brokerlist='{brokers}'{more}"
