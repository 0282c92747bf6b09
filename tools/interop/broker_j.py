"""Apache Qpid Broker-J with AMQP 0-10, from its Maven artifacts: started on free loopback ports, stopped by its process id.

with BrokerJ(folder) as broker: broker.url, broker.scram_url, broker.anonymous_url, broker.tls_url
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import trustme

from amqp_sansio.engine.sasl import scram_secret
from tools.interop.maven import NotAvailable, fetch, java

POM: Final = Path(__file__).with_name("broker_j.xml")
START_SECONDS: Final = 120.0
"""The time limit for its start."""
JAVA_OPTIONS: Final = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""It only lives for seconds, so these options shorten its start."""


class BrokerJ:
    """A Broker-J with a virtual host "default", and user guest (PLAIN, SCRAM) on two of its three ports.

    Messages are in memory or, with `durable`, in a store of Apache Derby that outlives its process: see `fall`.
    """

    def __init__(self, folder: Path, durable: bool = False) -> None:
        self.folder: Final = folder
        self.durable: Final = durable
        self.port, self.anonymous_port, self.tls_port, self.scram_port, self.plain_port = free_ports(5)
        self.authority: Final = trustme.CA()
        """The authority that signed its certificate."""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL for guest with a password, by PLAIN, CRAM-MD5 or SCRAM."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/default"

    @property
    def anonymous_url(self) -> str:
        """The URL for anonymous clients."""
        return f"amqp://127.0.0.1:{self.anonymous_port}/default"

    @property
    def tls_url(self) -> str:
        """The same as `url`, over TLS."""
        return f"amqps://guest:guest@localhost:{self.tls_port}/default"

    @property
    def scram_url(self) -> str:
        """The URL for guest by SCRAM-SHA-256 alone: no password goes over the wire."""
        return f"amqp://guest:guest@127.0.0.1:{self.scram_port}/default"

    @property
    def plain_url(self) -> str:
        """The URL for guest by PLAIN alone."""
        return f"amqp://guest:guest@127.0.0.1:{self.plain_port}/default"

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        work = self._work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        (work / "init.json").write_text(json.dumps(self._settings(work)))
        self._start(fetch(POM, self.folder))
        return self

    @property
    def _work(self) -> Path:
        return self.folder / f"run-{os.getpid()}-{self.port}"

    def _start(self, libraries: Path) -> None:
        work = self._work
        with (work / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [java(), *JAVA_OPTIONS, "-cp", f"{libraries}/*", "org.apache.qpid.server.Main", "-st", "Memory",
                 "-icp", str(work / "init.json"), "-prop", f"qpid.work_dir={work}"],
                stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=work,
            )  # fmt: skip
        until = time.monotonic() + START_SECONDS
        while b"BRK-1004" not in (work / "log").read_bytes():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise NotAvailable(f"Broker-J did not start: {(work / 'log').read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)

    def fall(self) -> None:
        """Kills it with signal 9, and starts it again with the same ports and the same store."""
        self.kill()
        self._start(fetch(POM, self.folder))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
        if error is None:  # otherwise its log may tell why
            shutil.rmtree(self._work, ignore_errors=True)

    def stop(self) -> None:
        """Stops its process."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def kill(self) -> None:
        """Kills its process."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _settings(self, work: Path) -> dict[str, object]:
        certificate = self.authority.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.RSA)
        certificate.private_key_pem.write_to_path(str(work / "key.pem"))
        certificate.cert_chain_pems[0].write_to_path(str(work / "cert.pem"))
        aliases = [{"name": kind, "type": kind} for kind in ("nameAlias", "defaultAlias", "hostnameAlias")]
        users = [{"name": "guest", "type": "managed", "password": "guest"}]
        salt, stored_key, server_key, count = scram_secret("guest", salt=b"salt of the tests")
        encoded = [base64.b64encode(each).decode() for each in (salt, stored_key, server_key)]
        kept = ",".join([encoded[0], "", *encoded[1:], str(count)])  # empty where it used to hold the salted password
        keyed = [{"name": "guest", "type": "managed", "password": kept}]

        def port(name: str, number: int, provider: str, **more: object) -> dict[str, object]:
            return {
                "name": name, "port": str(number), "bindingAddress": "127.0.0.1", "authenticationProvider": provider,
                "protocols": ["AMQP_0_10"], "virtualhostaliases": aliases, **more,
            }  # fmt: skip

        return {
            "name": "broker", "modelVersion": "9.0",
            "keystores": [{
                "name": "keys", "type": "NonJavaKeyStore", "privateKeyUrl": (work / "key.pem").as_uri(),
                "certificateUrl": (work / "cert.pem").as_uri(),
            }],
            "authenticationproviders": [
                {"name": "anonymous", "type": "Anonymous"},
                {"name": "plain", "type": "Plain", "secureOnlyMechanisms": "[]", "users": users},
                {"name": "scram", "type": "SCRAM-SHA-256", "secureOnlyMechanisms": "[]", "disabledMechanisms": '["PLAIN"]',
                 "users": keyed},
                {"name": "plain only", "type": "Plain", "secureOnlyMechanisms": "[]", "users": users,
                 "disabledMechanisms": '["CRAM-MD5", "SCRAM-SHA-1", "SCRAM-SHA-256"]'},
            ],
            "ports": [
                port("amqp", self.port, "plain"),
                port("anonymous", self.anonymous_port, "anonymous"),
                port("plain only", self.plain_port, "plain only"),
                port("scram", self.scram_port, "scram"),
                port("tls", self.tls_port, "plain", transports=["SSL"], keyStore="keys"),
            ],
            "virtualhostnodes": [self._node(work)],
        }  # fmt: skip

    def _node(self, work: Path) -> dict[str, object]:
        """Returns where the virtual host, its queues and its messages are kept."""
        where: dict[str, object] = {"type": "DERBY", "storePath": str(work / "store")} if self.durable else {"type": "Memory"}
        host = {"type": "ProvidedStore"} if self.durable else {"type": "Memory", "nodes": []}
        return {
            "name": "default", "defaultVirtualHostNode": "true", **where, "virtualHostInitialConfiguration": json.dumps(host),
        }  # fmt: skip


def free_ports(many: int) -> list[int]:
    """Returns loopback ports that are not in use."""
    sockets = [socket.socket() for _ in range(many)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
