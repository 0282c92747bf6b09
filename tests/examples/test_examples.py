"""Every example runs as its first line says, as a program of its own, against `amqp-sansio serve`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.served_channels import ServedChannels
from tests.cli.serving import Serving

from amqp_sansio.adapters.sync import connect
from amqp_sansio.errors import SessionFailed
from amqp_sansio.spec import queue

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ("sync", "asyncio", "trio")
PRINTED = {
    "hello": "Hello, broker!\n",
    "publisher": "20 messages confirmed\nreturned: unroutable",
    "worker": "20 tasks done, 3 given back once\n",
    "request_reply": "one -> ONE\ntwo -> TWO\nthree -> THREE\n",
    "transactions": "rolled back: not today\nfrom: 5, to: 0\nfrom: 0, to: 5\n",
}

CHANNELS = {
    "channel_publisher": "20 messages confirmed\nreturned: unroutable",
    "channel_worker": "20 tasks done, 3 given back once\n",
    "channel_request": "one -> ONE\ntwo -> TWO\nthree -> THREE\n",
    "channel_reconnect": "20 lines published, 0 of them again\n",
}


def run(adapter: str, example: str, *arguments: str) -> str:
    """What it prints; it ends well."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / adapter / f"{example}.py"), *arguments],
        capture_output=True, text=True, check=False, timeout=60, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "error"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def brokers() -> Iterator[tuple[Serving, Serving]]:
    with Serving() as one, Serving() as two:
        yield one, two
        assert (one.stop(), one.errors, two.stop(), two.errors) == (0, "", 0, "")


def depth(url: str, name: str) -> int:
    """Messages on a queue."""
    with connect(url) as connection, connection.session() as session:
        found = session.execute(queue.Query(name))
    assert isinstance(found, queue.QueueQueryResult)
    return found.message_count or 0


def test_the_three_folders_hold_the_same_programs() -> None:
    names = [sorted(path.name for path in (ROOT / "examples" / adapter).glob("*.py")) for adapter in ADAPTERS]
    assert names[0] == names[1] == names[2]
    assert {f"{example}.py" for example in (*PRINTED, *CHANNELS, "distributed", "custom_server")} == set(names[0])


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_examples_with_one_broker(adapter: str, brokers: tuple[Serving, Serving]) -> None:
    for example, printed in PRINTED.items():
        count = ["20"] if example in ("publisher", "worker") else []
        assert run(adapter, example, brokers[0].url, *count).startswith(printed)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_examples_of_channels(adapter: str) -> None:
    with ServedChannels() as served:
        for example, printed in CHANNELS.items():
            count = [] if example == "channel_request" else ["20"]
            assert run(adapter, example, served.url, *count).startswith(printed)
        assert served.bodies("channel-work") == []
        assert served.bodies("channel-log") == [b"line %d" % number for number in range(20)]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_example_with_two_brokers(adapter: str, brokers: tuple[Serving, Serving], tmp_path: Path) -> None:
    stored = tmp_path / "decisions.json"
    printed = run(adapter, "distributed", brokers[0].url, brokers[1].url, str(stored))
    assert printed == "broken off: 1 transaction rolled back\ncommitted: 0 left\n"
    assert stored.read_text() == "[]"
    assert depth(brokers[0].url, "ledger") == depth(brokers[1].url, "ledger") > 0


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_the_server_of_ones_own(adapter: str) -> None:
    serving = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / adapter / "custom_server.py"), "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert serving.stdout is not None
    try:
        url = serving.stdout.readline().split()[-1]
        with connect(url) as connection, connection.session("me") as session:
            session.publish("", "anywhere", b"one")
            session.publish("", "anywhere", b"two")
        with pytest.raises(SessionFailed, match=r"540 to queue\.declare: this server takes messages"):
            with connect(url) as connection, connection.session() as session:
                session.execute(queue.Declare("q"))
        serving.send_signal(signal.SIGINT)
        printed, complaint = serving.communicate(timeout=30)
    finally:
        serving.kill()
    assert (printed, complaint, serving.returncode) == ("me: one\nme: two\n", "", 0)
