"""Real peers: only by `make interop`, which says where they are missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from tests.interop.overhearing import Witness

from tools.interop import packages
from tools.interop.broker_j import BrokerJ
from tools.interop.jms import Jms
from tools.interop.peers import CACHE, VARIABLE, chromium, wanted
from tools.interop.qpid_python import Suites
from tools.interop.rabbitmq import RabbitMq
from tools.interop.tshark import Tshark

collect_ignore_glob = [] if os.environ.get(VARIABLE) else ["test_*.py"]


TOLD = "told"
"""The property of a test with what the run says at its end, whichever process the test ran in."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have counted."""
    reports = [each for kind in ("passed", "failed") for each in terminalreporter.stats.get(kind, [])]
    for name, told in [each for report in reports if report.when == "call" for each in report.user_properties]:
        if name == TOLD:
            terminalreporter.write_line(f"interop: {told}")


def have(name: str) -> None:
    if not wanted(name):
        pytest.skip(f"{name} cannot be had here")


@pytest.fixture(scope="session")
def broker_j() -> Iterator[BrokerJ]:
    """A Broker-J that is there for all tests that do it no harm."""
    have("broker_j")
    with BrokerJ(CACHE / "broker_j") as broker:
        yield broker


@pytest.fixture(scope="session")
def spark_processes() -> None:
    """Spark, in processes that a test starts and kills."""
    have("spark")


@pytest.fixture(scope="session")
def jms() -> Jms:
    """The Qpid JMS client."""
    have("jms")
    return Jms(CACHE / "jms")


@pytest.fixture(scope="session")
def suites() -> Suites:
    """Apache's Python client and its suites."""
    have("qpid_python")
    return Suites(CACHE / "qpid_python")


@pytest.fixture(scope="session")
def codecs() -> Path:
    """The folder with pamqp and pika, for PYTHONPATH."""
    have("codecs")
    return packages.codecs(CACHE / "codecs")


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority's, and those that it gave a server and a client."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    server = authority.issue_cert("localhost", "127.0.0.1")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    server.private_key_pem.write_to_path(folder / "server.key")
    for blob in server.cert_chain_pems:
        blob.write_to_path(folder / "server.pem", append=True)
    client = authority.issue_cert("client.invalid", common_name="sansio")
    client.private_key_and_cert_chain_pem.write_to_path(folder / "client.pem")
    return folder


@pytest.fixture(scope="session")
def rabbitmq(certificates: Path) -> Iterator[RabbitMq]:
    """The one node, for TLS, too: starting it takes long.  Whoever does it harm heals it."""
    have("rabbitmq")
    with RabbitMq(certificates) as node:
        yield node


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """tshark counts the same frames as we in all that is said to RabbitMQ in these tests: once, for its start takes long."""
    with Witness(tmp_path_factory.mktemp("rabbitmq")):
        yield


@pytest.fixture(scope="session")
def tshark() -> Tshark:
    """The independent witness."""
    have("tshark")
    return Tshark()


@pytest.fixture(scope="session")
def browser() -> str:
    """A browser's program."""
    have("chromium")
    return chromium()
