"""Channels on asyncio, over real sockets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.asyncio.test_connection import AsyncioLoop
from tests.adapters.channel_floods import *  # noqa: F403
from tests.adapters.channel_scenarios import *  # noqa: F403

from amqp_sansio.adapters.asyncio import channels
from amqp_sansio.errors import AddressError


class ChannelLoop(AsyncioLoop):
    connect: Any = staticmethod(channels.connect)


@pytest.fixture
def loop() -> ChannelLoop:
    return ChannelLoop()


def test_an_address_is_checked_at_once() -> None:
    with pytest.raises(AddressError):
        channels.connect("amqp://h?colour=blue")
