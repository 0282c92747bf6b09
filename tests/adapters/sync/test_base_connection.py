"""What connections of both families do for blocking code, over real sockets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.adapters.conditions import eventually
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters import sync
from amqp_sansio.adapters.sync import channels
from amqp_sansio.errors import ConnectionLost, LocalProtocolError

families = pytest.mark.parametrize(("connect", "broker"), [(sync.connect, Served), (channels.connect, ServedChannels)])


@families
def test_a_connection_is_opened_once_and_closed_as_often_as_one_likes(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    before = threading.active_count()
    with broker() as served:
        with connect(served.url) as connection:
            assert connection.is_open
            with pytest.raises(LocalProtocolError, match="opened before"):
                connection._open()
            connection.close()
            connection.close()
        assert not connection.is_open
        connection.closed.result()
    assert threading.active_count() == before


@families
def test_a_connection_that_was_lost_is_made_again_and_counted(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    with broker() as served, connect(served.url, retry=QUICK) as connection:
        served.cut()
        eventually(lambda: connection.remade == 1)


@families
def test_without_a_policy_the_loss_is_the_end_and_says_why(
    connect: Callable[..., Any], broker: type[Served | ServedChannels]
) -> None:
    with broker() as served, connect(served.url) as connection:
        served.cut()
        with pytest.raises(ConnectionLost):
            connection.closed.result()
        assert connection.remade == 0
