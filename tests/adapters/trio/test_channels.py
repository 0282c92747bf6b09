"""Channels on trio, over real sockets."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adapters.channel_floods import *  # noqa: F403
from tests.adapters.channel_scenarios import *  # noqa: F403
from tests.adapters.trio.test_connection import TrioLoop

from amqp_sansio.adapters.trio import channels
from amqp_sansio.errors import AddressError


class ChannelLoop(TrioLoop):
    connect: Any = staticmethod(channels.connect)


@pytest.fixture
def loop() -> ChannelLoop:
    return ChannelLoop()


def test_an_address_is_checked_at_once() -> None:
    with pytest.raises(AddressError):
        channels.connect("amqp://h?colour=blue")
