"""RabbitMQ from the Debian package: started on free loopback ports, in its own folder, stopped by its process id."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tools.interop.broker_j import free_ports
from tools.interop.maven import NotAvailable

SERVER: Final = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The server itself; the wrapper on the path requires root, and uses the machine's own node."""
CONTROL: Final = SERVER.with_name("rabbitmqctl")
CONTROL_SECONDS: Final = 120.0
"""The time limit of an operator's command."""
START_SECONDS: Final = 300.0
"""The time limit for its start: usually 2 s, but more on a busy machine."""


_TLS_FILES: Final = {"cacertfile": "ca.pem", "certfile": "server.pem", "keyfile": "server.key"}


def program() -> str:
    """Returns the path of its name daemon, if the server is installed, too.  Raises NotAvailable."""
    names = shutil.which("epmd")
    if not SERVER.is_file() or names is None:
        raise NotAvailable("RabbitMQ is not here: apt install rabbitmq-server")
    return names


class RabbitMq:
    """One node with the user guest; it only listens on loopback, and leaves nothing behind.

    `tls`: a folder with ca.pem, server.pem and server.key; the node then also listens on `tls_port`, and a client with a
    certificate of that authority may log in by its common name (EXTERNAL).  Raises NotAvailable when the package is missing, or
    the node does not start.
    """

    def __init__(self, tls: Path | None = None) -> None:
        self.port, self.tls_port, self._names_port, self._node_port = free_ports(4)
        self._tls: Final = tls
        self._environment: dict[str, str] = {}
        self._folder: Final = tempfile.TemporaryDirectory(prefix="amqp-sansio-rabbitmq-")
        self._names: subprocess.Popen[bytes] | None = None
        self._node: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL for guest."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    def __enter__(self) -> Self:
        try:
            names = program()
        except NotAvailable:
            self._folder.cleanup()
            raise
        folder = Path(self._folder.name)
        if self._tls is not None:
            lines = [f"listeners.ssl.1 = 127.0.0.1:{self.tls_port}", "ssl_options.verify = verify_peer"]
            lines += [f"ssl_options.{option} = {self._tls / file}" for option, file in _TLS_FILES.items()]
            lines += [f"auth_mechanisms.{at} = {name}" for at, name in enumerate(("PLAIN", "AMQPLAIN", "EXTERNAL"), 1)]
            lines.append("ssl_cert_login_from = common_name")
            (folder / "node.conf").write_text("\n".join(lines) + "\n")
            (folder / "plugins").write_text("[rabbitmq_auth_mechanism_ssl].\n")
        self._environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(folder), "LANG": "C.UTF-8",
            "ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(self._names_port),
            "RABBITMQ_NODENAME": f"interop-{os.getpid()}@localhost", "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port), "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"), "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"), "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
            "RABBITMQ_CONFIG_FILE": str(folder / ("node.conf" if self._tls else "none")),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }  # fmt: skip
        self._names = self._begin(names, "-address", "127.0.0.1", "-port", str(self._names_port))
        self._start()
        return self

    def _begin(self, *command: str) -> subprocess.Popen[bytes]:
        folder = Path(self._folder.name)
        with (folder / "said").open("ab") as said:
            return subprocess.Popen(
                command, cwd=folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
            )

    def _start(self) -> None:
        self._node = self._begin(str(SERVER))
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._node.poll() is not None or time.monotonic() > until:
                told = (Path(self._folder.name) / "said").read_text(errors="replace").strip().splitlines() or ["no word"]
                self.stop()
                raise NotAvailable(f"RabbitMQ did not start: {told[-1]}")
            time.sleep(0.2)

    def restart(self) -> None:
        """Starts it again after a kill, with the data on its disk.  Raises NotAvailable."""
        assert self._node is not None
        self._node.wait(30)
        self._start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _answers(self) -> bool:
        """Returns whether an AMQP server answers: it replies to a foreign header with its own."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0) as asked:
                asked.sendall(b"AMQP\0\0\0\0")
                return asked.recv(4) == b"AMQP"
        except OSError:
            return False

    def control(self, *words: str) -> str:
        """Returns the output of an operator's command (rabbitmqctl).  Raises CalledProcessError."""
        done = subprocess.run(
            [str(CONTROL), "-q", *words], env=self._environment, cwd=self._folder.name, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=True, timeout=CONTROL_SECONDS,
        )  # fmt: skip
        return done.stdout

    def kill(self) -> None:
        """Kills the node itself (SIGKILL), as a power failure would."""
        self._signal(signal.SIGKILL)

    def hold(self) -> None:
        """Freezes it until `go_on`: its connections stay open, and silent."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Ends `hold`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        os.kill(int((Path(self._folder.name) / "pid").read_text()), number)

    def stop(self) -> None:
        """Stops its processes and removes its folder."""
        for process in (self._node, self._names):
            if process is not None and process.poll() is None:
                process.terminate()
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self._folder.cleanup()
