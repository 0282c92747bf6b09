"""A connection is cut, or the other side falls silent, at any octet: what was kept goes on, and every message is there once.

Small in `make test`; `make soak` does it a hundred times (tools/chores/soak.py), each time at other octets.
"""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from random import Random
from typing import Literal

import pytest
from tests.cli.proxy import Fault, Proxy, Speaker
from tests.cli.serving import SOAK, Serving, browse

from amqp_sansio.adapters import asyncio as awaiting
from amqp_sansio.adapters import sync as blocking
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.errors import SessionLost

OPENING = 1500
"""Octets of either speaker within which both sessions are attached and their timeouts granted; from then on they are kept."""
Kind = Literal["cut", "silent"]
RUNS: dict[Kind, int] = {"cut": 50, "silent": 50} if SOAK else {"cut": 2, "silent": 1}
SEED = int(os.environ.get("AMQP_SEED", "1"))
MESSAGES = 200
ENOUGH = 180.0
"""Seconds after which a run has stopped for good; it takes a few."""
BACK = RetryPolicy(attempts=100, first=0.02, factor=1.0, give_up=60.0)


class Outcome:
    """What a client knows in the end."""

    def __init__(self) -> None:
        self.confirmed = 0
        self.found: list[bytes] = []
        self.remade = 0
        """Sessions that the broker did not keep."""


def body(number: int) -> bytes:
    return b"%d|" % number + b"x" * (number * 37 % 900)


def faults(random: Random, kind: Kind) -> list[Fault]:
    """Up to three; the first may strike in the opening, and all are within what a run says."""
    found: list[Fault] = []
    for _ in range(random.randrange(1, 4) if kind == "cut" else 1):
        speaker: Speaker = random.choice(("client", "server"))
        found.append(Fault(speaker, random.randrange(400, 20_000 if speaker == "client" else 6_000), kind))
    return found


def sync_run(url: str, accept: bool) -> Outcome:
    """Blocking code: publishes, consumes, and settles, whatever happens to the connection."""
    told = Outcome()
    with (
        blocking.connect(url, retry=BACK) as connection,
        connection.session(keep_for=60) as session,
        connection.session(keep_for=60) as taking,
    ):
        session.declare_queue("q", durable=True)
        sent: list[blocking.Pending[None]] = []
        with taking.subscribe("q", prefetch=20) as messages:
            for number in range(MESSAGES):
                sent.append(session.send("", "q", body(number), persistent=True))
            for each in sent:
                each.result()
                told.confirmed += 1
            while accept and len(told.found) < MESSAGES:
                message = messages.receive(30)
                told.found.append(message.body)
                message.accept()
            taking.sync()
        told.remade = session.remade + taking.remade
    return told


async def asyncio_run(url: str, accept: bool) -> Outcome:
    """The same by code that awaits."""
    told = Outcome()
    async with (
        asyncio.timeout(ENOUGH),
        awaiting.connect(url, retry=BACK) as connection,
        connection.session(keep_for=60) as session,
        connection.session(keep_for=60) as taking,
    ):
        await session.declare_queue("q", durable=True)
        sent: list[awaiting.Pending[None]] = []
        async with taking.subscribe("q", prefetch=20) as messages:
            for number in range(MESSAGES):
                sent.append(await session.send("", "q", body(number), persistent=True))
            for each in sent:
                await each
                told.confirmed += 1
            while accept and len(told.found) < MESSAGES:
                message = await messages.receive()
                told.found.append(message.body)
                message.accept()
            await taking.sync()
        told.remade = session.remade + taking.remade
    return told


def left(url: str) -> list[bytes]:
    """All that is on the queue."""
    with blocking.connect(url) as connection, connection.session() as session:
        return browse(session)


def within(seconds: float, url: str, accept: bool) -> Outcome:
    """Blocking code has nobody who stops it: it is given up, in a thread of its own, when it does not come to its end."""
    told: list[Outcome] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            told.append(sync_run(url, accept))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it waits for ever"
    if errors:
        raise errors[0]
    return told[0]


def heartbeat() -> int:
    """Seconds, after twice which a silent side is given up: but not one that only waits for its turn on this machine."""
    waiting = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 1 + int(waiting / 5)


@pytest.mark.parametrize(("kind", "number"), [(kind, number) for kind, runs in RUNS.items() for number in range(runs)])
def test_every_message_is_there_once_whatever_happens_to_the_connection(kind: Kind, number: int, tmp_path: Path) -> None:
    """Where the sessions were resumed every message is consumed, or left on the queue, exactly once, and in order.

    Where one was not, because the broker had not kept it yet or any more, each message is confirmed and there, or in doubt.
    """
    random = Random(f"{SEED}-{kind}-{number}")
    accept = random.random() < 0.7
    planned = faults(random, kind)
    published = [body(each) for each in range(MESSAGES)]
    with Serving("--data-dir", str(tmp_path / "data")) as serving:
        with Proxy(serving.port, planned) as proxy:
            url = proxy.url + (f"?heartbeat={heartbeat()}" if kind == "silent" else "")
            try:
                told = within(ENOUGH, url, accept) if number % 2 else asyncio.run(asyncio_run(url, accept))
            except SessionLost as error:
                raise AssertionError(f"{planned}: {error}") from error
            assert proxy.met >= 1
        there = left(serving.url)
        assert told.confirmed == MESSAGES
        if proxy.passed[0] > OPENING:  # else both sessions need not have been kept yet when the first connection was lost
            assert told.remade == 0
        if not told.remade:
            assert told.found == (published if accept else [])
            assert there == ([] if accept else published)
        else:  # the attachment itself was cut: nothing was kept yet
            assert sorted({*told.found, *there}) == sorted(published)
        assert serving.stop() == 0
        assert serving.errors == ""
