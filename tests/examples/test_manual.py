"""The programs that were written from the manual alone."""

from __future__ import annotations

import importlib.util
import os
import signal
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import trustme
from tests.adapters.served import Served
from tests.cli.serving import Serving

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "examples" / "manual"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}


def printed(program: str, *arguments: str) -> str:
    """What it prints; it ends well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAMS / f"{program}.py"), *arguments],
        capture_output=True, text=True, check=False, timeout=60, env=ENVIRONMENT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [
        ("confirms", ("20",), "16 confirmed, 4 returned\n"),
        ("worker", ("20",), "10 done, 10 rejected\n"),
        ("request_reply", (), "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]\n"),
        (
            "topics",
            (),
            "*.eu.*: politics.eu.vote\n*.eu.*: sport.eu.football\nsport.#: sport.eu.football\nsport.#: sport.us.baseball\n",
        ),
        ("transfers", (), "not done: 1000 is too much\norders, bookings: [1, 0]\norders, bookings: [0, 2]\n"),
    ],
)
def test_a_program_prints_what_it_is_for(program: str, arguments: tuple[str, ...], expected: str) -> None:
    with Served() as served:
        assert printed(program, served.url, *arguments) == expected


def test_a_client_of_tls_trusts_one_authority(tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with Served(tls=context) as served:
        first, second = printed("tls", served.url, str(tmp_path / "ca.pem")).splitlines()
    assert "unable to get local issuer certificate" in first
    assert second == "hello"


def test_a_publisher_lives_through_a_kill_of_its_broker(tmp_path: Path) -> None:
    store = ("--data-dir", str(tmp_path / "store"))
    with Serving(*store) as first:
        client = subprocess.Popen(
            [sys.executable, str(PROGRAMS / "reconnect.py"), first.url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            client.stdin.write("\n")
            client.stdin.flush()
            assert client.stdout.readline() == "published 0\n"
            first.kill()
            client.stdin.write("\n")
            client.stdin.flush()
            with Serving(*store, port=first.port):
                assert client.stdout.readline() == "published 1\n"
                out, log = client.communicate(timeout=60)
        finally:
            client.kill()
    assert (client.returncode, out) == (0, "connections after the first: 1\n")
    steps = (
        "INFO connected to ",
        "WARNING session ",
        "WARNING connection to ",
        "INFO reconnecting to ",
        "(connection 2)",
        "opened again",
    )
    assert [step for step in steps if step not in log] == [], log
    places = [log.index(step) for step in ("WARNING connection to ", "INFO reconnecting to ", "(connection 2)", "opened again")]
    assert places == sorted(places), log


def test_a_web_application_shares_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    with Served() as served:
        monkeypatch.setenv("AMQP_URL", served.url)
        spec = importlib.util.spec_from_file_location("web", PROGRAMS / "web.py")
        assert spec is not None
        assert spec.loader is not None
        web = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(web)
        with TestClient(web.app) as client:
            assert [client.post("/orders", content=b"pizza").json() for _ in range(2)] == [{"waiting": 1}, {"waiting": 2}]
            assert client.get("/health").json() == {"broker": True, "reconnected": 0}
        assert (served.depth("orders"), served.sessions()) == (2, 0)


def test_an_interrupt_ends_a_blocking_client_and_leaves_nothing() -> None:
    code = """
import sys, threading
from amqp_sansio.adapters.sync import connect
try:
    with connect(sys.argv[1]) as connection, connection.session() as session:
        session.declare_queue("q", exclusive=True)
        with session.subscribe("q") as messages:
            print("waiting", flush=True)
            messages.receive()
except KeyboardInterrupt:
    print("interrupted", [each.name for each in threading.enumerate()], flush=True)
"""
    before = threading.active_count()
    with Served() as served:
        client = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code, served.url],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
        )  # fmt: skip
        try:
            assert client.stdout is not None
            assert client.stdout.readline() == "waiting\n"
            client.send_signal(signal.SIGINT)
            out, errors = client.communicate(timeout=60)
        finally:
            client.kill()
        assert (out, errors, client.returncode) == ("interrupted ['MainThread']\n", "", 0)
        assert served.sessions() == 0
    assert threading.active_count() <= before
