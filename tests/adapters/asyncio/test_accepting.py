"""Accepting connections on asyncio: who is beyond a limit is refused at once, and a system without room is told of seldom."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import threading
from typing import Any

import pytest
import trustme
from tests.adapters.conditions import PATIENCE

from amqp_sansio.adapters.admission import PLAIN_OCTETS, TLS_OCTETS
from amqp_sansio.adapters.asyncio import connect
from amqp_sansio.adapters.asyncio.accepting import ACCEPTS
from amqp_sansio.adapters.asyncio.server import serve
from amqp_sansio.broker.broker import Broker
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.sasl import PlainServer
from amqp_sansio.errors import ConnectFailed
from amqp_sansio.limits import ServerLimits


async def silent(where: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that says nothing."""
    return await asyncio.open_connection(*where)


@pytest.mark.parametrize("each", [False, True], ids=["all", "one address"])
@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_beyond_what_may_be_unopened_a_connection_is_refused_and_room_comes_back(tls: bool, each: bool) -> None:
    authority = trustme.CA()
    here, there = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(here)
    authority.issue_cert("127.0.0.1").configure_cert(there)
    limits = ServerLimits(unopened_octets=2 * (TLS_OCTETS if tls else PLAIN_OCTETS))
    if each:
        limits = ServerLimits(unopened_per_address=2)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there if tls else None, limits=limits) as server:
            url = "amqp{}://{}:{}/".format("s" if tls else "", *server.address)
            first = await silent(server.address)
            async with connect(url, tls=here if tls else None):
                second = await silent(server.address)
                beyond = await silent(server.address)
                assert await beyond[0].read() == b""
                assert (server.admission.refused, server.admission.unopened, server.admission.connections) == (1, 2, 3)
                assert len(broker.peers) == (1 if tls else 3)
                with pytest.raises((ConnectFailed, OSError)):
                    async with connect(url, tls=here if tls else None):
                        pass
                first[1].close()
                while server.admission.unopened > 1:
                    await asyncio.sleep(0)
                async with connect(url, tls=here if tls else None):
                    pass
            for _, writer in (second, beyond):
                writer.close()
        assert server.admission.connections == 0
        assert server.admission.unopened == 0

    asyncio.run(main())


def test_a_client_that_does_not_come_through_tls_in_its_time_is_dropped() -> None:
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(there)

    async def main() -> None:
        broker = Broker()
        async with serve(broker, broker.connect, port=0, tls=there, limits=ServerLimits(tls_seconds=0.01)) as server:
            reader, writer = await silent(server.address)
            assert await reader.read() == b""
            assert server.admission.unopened == 0
            writer.close()

    asyncio.run(main())


class Full(socket.socket):
    """A listening socket of a system that has no file descriptor left, for so many calls."""

    left = 0
    asked = 0

    def accept(self) -> tuple[socket.socket, Any]:  # Any: as the standard library has it
        Full.asked += 1
        if Full.left:
            Full.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_a_system_without_file_descriptors_is_logged_once_for_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop of asyncio's own server says so a thousand times a second."""
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.accepting.RETRY_SECONDS", 0)
    monkeypatch.setattr(Full, "left", 3)
    told: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, what: told.append(str(what["message"])))
        broker = Broker()
        server = serve(broker, broker.connect, port=0)
        monkeypatch.setattr(socket, "socket", Full)
        async with server:
            monkeypatch.undo()
            Full.left = 3
            async with connect("amqp://{}:{}/".format(*server.address)):
                pass

    asyncio.run(main())
    assert told == ["no connection can be accepted"] * 3
    assert ACCEPTS > 3


class Short(socket.socket):
    """A listening socket of a system that has no file descriptor left behind the first connection, once."""

    accepted = 0

    def accept(self) -> tuple[socket.socket, Any]:  # Any: as the standard library has it
        if Short.accepted == 1:
            Short.accepted += 1
            raise OSError(errno.EMFILE, "Too many open files")
        found = super().accept()
        Short.accepted += 1
        return found


def test_a_client_behind_strangers_that_have_left_does_not_wait_a_second_for_every_few_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("amqp_sansio.adapters.asyncio.accepting.RETRY_SECONDS", 3600)
    monkeypatch.setattr(Short, "accepted", 0)
    told: list[str] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(str(what["message"])))
        broker = Broker()
        server = serve(broker, broker.connect, port=0)
        with monkeypatch.context() as listening:
            listening.setattr(socket, "socket", Short)
            await server.__aenter__()
        async with asyncio.timeout(PATIENCE):
            for _ in range(2):
                async with connect("amqp://{}:{}/".format(*server.address)):
                    pass
        await server.close()

    asyncio.run(main())
    assert told == []
    assert Short.accepted == 3


def test_passwords_are_checked_beside_the_loop_and_a_failed_login_holds_up_nobody() -> None:
    """As long as a check lasts, others log in and work."""
    go_on = threading.Event()
    threads: set[int] = set()

    def verify(username: str, password: str) -> bool:
        threads.add(threading.get_ident())
        if username == "slow":
            go_on.wait(30)
        return password == "right"

    async def main() -> None:
        broker = Broker()
        config = ServerConfig(mechanisms=(PlainServer(verify, slow=True),))
        async with serve(broker, lambda: broker.connect(config), port=0) as server:
            where = "{}:{}".format(*server.address)
            waiting = asyncio.create_task(enter(f"amqp://slow:wrong@{where}/"))
            async with connect(f"amqp://ann:right@{where}/") as connection, connection.session() as session:
                await session.sync()
                assert not waiting.done()
                go_on.set()
                with pytest.raises(ConnectFailed, match="authentication failed"):
                    await waiting
                await session.sync()
        assert threading.get_ident() not in threads

    asyncio.run(main())


async def enter(url: str) -> None:
    async with connect(url, config=ClientConfig()):
        pass
