"""Who may be at the other end instead of a broker of ours: no broker, one of another version, one that sends us elsewhere."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import repeat
from typing import Self

from amqp_sansio.config import ServerConfig
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import AttachRequested, CommandReceived, Event, MethodReceived, OpenRequested
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import message
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.methods import basic
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_command, frame_control


@contextmanager
def someone(answer: bytes, hold: bool = False, patience: float | None = None) -> Iterator[str]:
    """Somebody who listens and is no broker; we wait for it as long as our patience lasts."""
    held = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    client, _ = listener.accept()
                    client.recv(100)
                    client.sendall(answer)
                    held.append(client) if hold else client.close()
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        if patience is None:
            patience = 0.2 if hold and not answer.startswith(b"SSH") else 60
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}/?connect_timeout={patience}"
        listener.shutdown(socket.SHUT_RDWR)
    for each in held:
        each.close()


WRONG = [
    (b"AMQP\0\0\x09\x01", False, "speaks another protocol.*0-9-1"),
    (b"AMQP\0\1\0\0", False, "speaks another protocol.*AMQP 1.0"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", False, 'speaks another protocol.*HTTP.*, and said "HTTP/1.1 400 Bad Request"$'),
    (b"SSH-2.0-OpenSSH_9.2\r\n", True, 'speaks another protocol.*SSH.*, and said "SSH-2.0-OpenSSH_9.2"$'),
    (b"\x15\x03\x03\0\x02\x02F", False, "ended the connection before it was open: it said 15 03 .* amqps:// may be meant$"),
    (b"+OK\r\n", True, 'no open connection within 0.2 seconds: the other side said only "\\+OK"$'),
    (b"", False, "ended the connection before it was open, and did not say why"),
    (b"", True, "no open connection within 0.2 seconds: the other side said nothing$"),
]


@contextmanager
def gone_at(kind: type[Event]) -> Iterator[str]:
    """A server that is gone without a word whenever that happens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client, suppress(OSError):
                        meet(client)

        def meet(client: socket.socket) -> None:
            connection = ServerConnection(ServerConfig())
            while octets := client.recv(4096):
                connection.receive_data(octets)
                for event in connection.events():
                    if isinstance(event, kind):
                        return
                client.sendall(connection.data_to_send())

        threading.Thread(target=serve, daemon=True).start()
        yield f"amqp://127.0.0.1:{listener.getsockname()[1]}/"
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def demanding(context: ssl.SSLContext) -> Iterator[str]:
    """A server that tells why it does not do TLS with us, and waits until that is read."""
    with socket.create_server(("localhost", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(heard, said, server_side=True)
            with client, suppress(OSError):
                while octets := client.recv(65536):
                    heard.write(octets)
                    with suppress(ssl.SSLError):
                        tls.do_handshake()
                    client.sendall(said.read())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"amqps://localhost:{listener.getsockname()[1]}/"
        thread.join()


@contextmanager
def redirecting(where: str, config: ServerConfig = ServerConfig(), tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that sends everybody elsewhere."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client if tls is None else tls.wrap_socket(client, server_side=True) as client:
                connection = ServerConnection(config)
                while not connection.finished:
                    octets = client.recv(4096)
                    if not octets:
                        return
                    connection.receive_data(octets)
                    for event in connection.events():
                        if isinstance(event, OpenRequested):
                            connection.redirect(where)
                    client.sendall(connection.data_to_send())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        yield f"amqp://127.0.0.1:{port}/" if tls is None else f"amqps://localhost:{port}/"
        thread.join()


@contextmanager
def eavesdropping() -> Iterator[tuple[int, list[bytes]]]:
    """Somebody who hears what a client says first, and is gone then: the port, and what was heard."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    with client:
                        heard.append(client.recv(4096))

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)


class Flooding:
    """A server that floods whoever subscribes.  A base class: a family brings `_meet`.

    It stops after so many octets and is gone then: `sent` counts those that the client took.
    """

    def __init__(self, octets: int) -> None:
        self.sent = 0
        self.url = ""
        self._octets = octets

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """It listens at `url`."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.url = f"amqp://127.0.0.1:{listener.getsockname()[1]}/"

            def serve() -> None:
                client, _ = listener.accept()
                with client, suppress(ConnectionError):
                    self._meet(client)

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            yield self
            thread.join()

    def _meet(self, client: socket.socket) -> None:
        """Lets it in, and floods it."""
        raise NotImplementedError

    def _flood(self, client: socket.socket, words: Iterator[bytes]) -> None:
        while self.sent < self._octets:
            piece = b""
            while len(piece) < 65536:
                piece += next(words)
            client.sendall(piece)
            self.sent += len(piece)


class Hostile(Flooding):
    """One with sessions: what `said` gives for the session, again and again."""

    def __init__(self, said: Callable[[Session], bytes], octets: int) -> None:
        super().__init__(octets)
        self._said = said

    def _meet(self, client: socket.socket) -> None:
        connection = ServerConnection(ServerConfig())
        while octets := client.recv(4096):
            connection.receive_data(octets)
            connection.tick(0.0)
            for event in connection.events():
                match event:
                    case OpenRequested():
                        connection.open_ok()
                    case AttachRequested(session=name):
                        connection.accept(name)
                    case CommandReceived(session=name, command=message.Subscribe()):
                        session = connection.session_named(name)
                        assert session is not None
                        session.sync()  # a command-point stands before it
                        client.sendall(connection.data_to_send())
                        said = self._said(session)
                        self._flood(client, repeat(said * (65536 // len(said) + 1)))
                        return
            client.sendall(connection.data_to_send())


class HostileChannels(Flooding):
    """One with channels: what `said` gives for the first consumer's tag, again and again."""

    def __init__(self, said: Callable[[str], Iterator[bytes]], octets: int) -> None:
        super().__init__(octets)
        self._said = said

    def _meet(self, client: socket.socket) -> None:
        config = ServerConfig(dialects=(AMQP_0_9_1,), mechanisms=(PlainServer(lambda user, password: True),))
        connection = ChannelServerConnection(config)
        while octets := client.recv(4096):
            connection.receive_data(octets)
            connection.tick(0.0)
            for event in connection.events():
                if not isinstance(event, MethodReceived) or event.id is None:
                    continue
                (served,) = connection.channels
                if isinstance(event.method, basic.Qos):
                    served.reply(event.id, basic.QosOk())
                elif isinstance(event.method, basic.Consume):
                    tag = event.method.consumer_tag
                    served.reply(event.id, basic.ConsumeOk(tag))
                    client.sendall(connection.data_to_send())
                    self._flood(client, self._said(tag))
                    return
            client.sendall(connection.data_to_send())


def number_of(session: Session) -> int:
    """The channel that it is on."""
    assert session._channel is not None
    return session._channel.number


def transfers(session: Session) -> bytes:
    """A message for the first subscription."""
    (destination,) = session.subscribers
    command = LAYOUT.encode_command(message.Transfer(destination, 0, 0), False)
    return b"".join(frame_command(number_of(session), command, None, b"x" * 1000))


def accepts(session: Session) -> bytes:
    """A word about a message that is settled."""
    command = LAYOUT.encode_command(message.Accept(RangeSet.of(0)), False)
    return b"".join(frame_command(number_of(session), command))


def heartbeats(session: Session) -> bytes:
    """A sign of life."""
    return frame_control(0, LAYOUT.encode_control(Heartbeat()), 65535)
