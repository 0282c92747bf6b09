"""The base of connections for blocking code, for sessions and channels alike: one background thread, and reconnecting."""

from __future__ import annotations

import ssl
import threading
import weakref
from typing import Final, Self

from amqp_sansio.adapters.sync.base_session import C, ConnectionState
from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.adapters.sync.line import Line
from amqp_sansio.adapters.sync.turns import Turn
from amqp_sansio.conversation.address import Address
from amqp_sansio.conversation.base_client import Ending
from amqp_sansio.errors import AmqpError
from amqp_sansio.errors.checks import check_timeout


class BaseConnection(ConnectionState[C]):
    """Base of a client's connection, for sessions and channels alike.  Any number of threads may use it.

    A background thread keeps it alive, heartbeats included, until it is closed, or until the program no longer references it
    nor any of its sessions, channels, subscriptions or pending results.
    """

    def __init__(self, address: Address, client: C, tls: ssl.SSLContext | None, close_timeout: float) -> None:
        self.address: Final = address
        self._client = client
        lock = threading.RLock()
        turn = Turn(lock)
        client.wake, client.guard = turn.want, turn
        driver: Final = Driver(client, address, tls, lock, turn)
        self._line = Line(driver, turn)
        # An interrupt may come before the block has begun or at its very end; then the block does not close the connection.
        self._dropped: Final = weakref.finalize(self._line, driver.abandon)
        self._ending: Final = Ending(client, close_timeout)

    def _open(self) -> Self:
        self._client.enter()
        try:
            self._line.driver.start()
            self._line.wait(self._client.opened)
        except BaseException:
            self._line.driver.stop(self._ending.seconds)
            raise
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self, timeout: float | None = None) -> None:
        """Closes the connection and waits up to `timeout` seconds (default: `close_timeout`) for the answer.

        Commands and accepts that were made before are sent first; it does not wait for confirms: end the sessions first, or
        `sync` them.  May be called again.
        """
        check_timeout(timeout)
        try:
            try:
                with self._line.turn:
                    self._line.wait(self._client.close(), self._ending.timeout if timeout is None else timeout)
            except (TimeoutError, AmqpError):
                pass  # it is over in either case
            finally:
                self._line.driver.stop(self._ending.seconds)
        except BaseException:  # an interrupt, perhaps in the middle of `stop`
            self._line.driver.stop(self._ending.seconds)
            raise
        self._dropped.detach()
