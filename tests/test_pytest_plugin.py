"""The fixtures for pytest, as a user's tests see them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.docs.test_snippets import ROOT, snippets

PAGE = ROOT / "docs" / "how-to" / "a-broker-in-your-tests.md"


def run(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a file of tests in a process of its own."""
    (folder / "test_mine.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "amqp_sansio_pytest",
        "-p",
        "no:cacheprovider",
        "test_mine.py",
        *words,
    ]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment, timeout=120)


def test_the_tests_of_the_manual_pass(tmp_path: Path) -> None:
    (text,) = [each.text for each in snippets(PAGE) if each.language == "text" and "def test_" in each.text]
    assert len([line for line in text.splitlines() if line.strip()]) <= 20
    done = run(tmp_path, text)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_a_test_without_a_broker_imports_nothing_of_it(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys\n\ndef test_nothing() -> None:\n    assert 'amqp_sansio' not in sys.modules\n")
    assert done.returncode == 0, done.stdout


def test_each_test_has_a_broker_of_its_own_also_with_several_processes(tmp_path: Path) -> None:
    text = """
import pytest
from amqp_sansio.adapters.sync import connect
from amqp_sansio.spec import queue

@pytest.mark.parametrize("number", range(6))
def test_mine(number, amqp_url, amqp_broker):
    assert amqp_url == amqp_broker.url
    with connect(amqp_url) as connection, connection.session() as session:
        session.declare_queue("q")
        session.publish("", "q", b"mine")
    assert amqp_broker.queues["q"].bodies == (b"mine",)
"""
    done = run(tmp_path, text, "-p", "xdist", "-n", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


def test_a_broker_without_a_socket_is_there_as_well(tmp_path: Path) -> None:
    text = """
def test_mine(amqp_memory):
    assert amqp_memory.connect().connection.is_open
"""
    done = run(tmp_path, text)
    assert done.returncode == 0, done.stdout


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """No thread, no socket and no file, and nobody listens: also where a client is still connected, and the test has failed."""
    text = """
import os, socket, threading
import pytest
from amqp_sansio.adapters.sync import connect

held, ports = [], []

def open_files():
    return len(os.listdir("/proc/self/fd"))

@pytest.fixture(scope="module", autouse=True)
def before():
    with socket.create_server(("127.0.0.1", 0)):  # whatever sockets need once
        pass
    return open_files(), threading.enumerate()

@pytest.mark.xfail(strict=True)
def test_fails(amqp_broker, before):
    with connect(amqp_broker.url) as connection, connection.session() as session:
        session.declare_queue("q", durable=True)
    port = int(amqp_broker.url.split(":")[-1].strip("/"))
    ports.append(port)
    held.append(socket.create_connection(("127.0.0.1", port)))
    assert False

def test_what_is_there_afterwards(before):
    held.pop().close()
    assert (open_files(), threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]))
    assert [each for each in os.listdir(".") if not each.startswith("__pycache__")] == ["test_mine.py"]
"""
    done = run(tmp_path, text, "-W", "error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 xfailed" in done.stdout
