"""Runs `amqp-sansio probe` on Broker-J and writes its deviations as JSON for the manual.

python -m tools.interop.probed [CONVERSATIONS] [SECONDS] [SECTION]     writes docs/data/broker-j.json
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Final

from amqp_sansio.cli.probe import SocketTransport
from amqp_sansio.testing.probe import ProbeError, Prober
from tools.interop.broker_j import BrokerJ
from tools.interop.peers import CACHE

DATA: Final = Path(__file__).resolve().parents[2] / "docs" / "data" / "broker-j.json"
PATIENCE: Final = 0.4


class Restarted:
    """A Broker-J that is restarted when a conversation has ended it; the first connect after that reports it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._broker: BrokerJ | None = None
        self.starts = 0

    def connect(self) -> SocketTransport:
        """Returns a connection.  Raises ProbeError when the broker is gone, after starting a new one."""
        if self._broker is None:
            self._start()
        assert self._broker is not None
        try:
            return SocketTransport("127.0.0.1", self._broker.anonymous_port, PATIENCE)
        except ProbeError:
            self.stop()
            self._start()
            time.sleep(0.5)  # it may be about to end
            raise

    def _start(self) -> None:
        self._broker = BrokerJ(self._folder)
        self._broker.__enter__()
        self.starts += 1

    def stop(self) -> None:
        """Stops it."""
        if self._broker is not None:
            self._broker.__exit__(None, None, None)
            self._broker = None


def probe(conversations: int, seconds: float, section: str | None = None, seed: int = 0) -> tuple[dict[str, object], int]:
    """Returns the report as JSON, and how often the broker had to be started; runs for at most `seconds`."""
    server = Restarted(CACHE / "broker_j")
    prober = Prober(server.connect, section=section, conversations=conversations, seed=seed, virtual_host="default")
    until = time.monotonic() + seconds
    try:
        for _ in prober.rounds():
            if time.monotonic() > until:
                break
    finally:
        server.stop()
    return dict(prober.report.row()), server.starts


def departures(row: dict[str, object]) -> dict[str, object]:
    """Returns the parts for the manual: without octets, and for each broken rule only the ways in which it was broken."""
    rules = row["rules"]
    assert isinstance(rules, list)
    broken = [
        {
            "rule": rule["rule"],
            "broken": rule["broken"],
            "kept": rule["kept"],
            "ways": [
                {"answer": way["answer"], "number": way["number"], "conversation": way["conversation"]} for way in rule["ways"]
            ],
        }
        for rule in rules
        if rule["broken"]
    ]
    return {
        "conversations": row["conversations"],
        "kept": sorted(rule["rule"] for rule in rules if not rule["broken"]),
        "broken": broken,
        "not_offered": row["not_offered"],
        "coverage": row["coverage"],
    }


def main(arguments: list[str]) -> int:
    """Writes the data."""
    conversations = int(arguments[0]) if arguments else 300
    seconds = float(arguments[1]) if len(arguments) > 1 else 60.0
    section = arguments[2] if len(arguments) > 2 else None
    row, starts = probe(conversations, seconds, section)
    DATA.parent.mkdir(exist_ok=True)
    DATA.write_text(json.dumps({"starts": starts, **departures(row)}, indent=1, sort_keys=True) + "\n")
    print(f"{row['conversations']} conversations, {row['broken']} rules broken, {row['kept']} kept, {starts} starts")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
