"""The peers: what each needs, and whether it is available here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.installation import ensure_java
from amqp_sansio.spark.session import require_extra
from tools.interop import broker_j, jms, packages, qpid_python, rabbitmq, tshark
from tools.interop.maven import NotAvailable, compiled, fetch, java

CACHE: Final = Path(__file__).resolve().parents[2] / ".cache"
VARIABLE: Final = "AMQP_INTEROP"
"""The environment variable that names the peers that tests may use, separated by commas; "1" for all."""


@attrs.frozen
class Peer:
    """Third-party software.  `ready` fetches it, or raises NotAvailable."""

    name: str
    title: str
    ready: Callable[[], object]


def _broker_j() -> None:
    java()
    fetch(broker_j.POM, CACHE / "broker_j")


def _jms() -> None:
    java("javac")
    compiled(jms.SOURCES, fetch(jms.POM, CACHE / "jms"), CACHE / "jms")


def _qpid_python() -> None:
    packages.install(qpid_python.python(), qpid_python.REQUIREMENTS, CACHE / "qpid_python")


def chromium() -> str:
    """Returns the path of the browser.  Raises NotAvailable."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise NotAvailable("there is no chromium here")


def _spark() -> None:
    try:
        require_extra()
        ensure_java(dict(os.environ))
    except PipelineError as error:
        raise NotAvailable(str(error)) from error


PEERS: Final = (
    Peer("broker_j", "Apache Qpid Broker-J", _broker_j),
    Peer("jms", "the Qpid JMS client", _jms),
    Peer("qpid_python", "Apache's Python client and its suites", _qpid_python),
    Peer("codecs", "pamqp and pika, codecs of 0-9-1", lambda: packages.codecs(CACHE / "codecs")),
    Peer("tshark", "tshark", tshark.program),
    Peer("rabbitmq", "RabbitMQ", rabbitmq.program),
    Peer("spark", "Spark in processes that are killed", _spark),
    Peer("chromium", "chromium, that shows the report", chromium),
)


def wanted(name: str) -> bool:
    """Returns whether tests may use that peer."""
    said = os.environ.get(VARIABLE, "")
    return said == "1" or name in said.split(",")
