"""What connections of both families do on trio, over real sockets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.adapters import scenarios, strangers
from tests.adapters.lives import *  # noqa: F403
from tests.adapters.trio.test_connection import TrioLoop

from amqp_sansio.adapters import trio
from amqp_sansio.adapters.trio import channels


class SessionLoop(TrioLoop):
    connect: Any = staticmethod(trio.connect)


class ChannelLoop(TrioLoop):
    connect: Any = staticmethod(channels.connect)


@pytest.fixture(params=[SessionLoop, ChannelLoop])
def loop(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.mark.parametrize(("answer", "hold", "text"), strangers.WRONG[2:])
def test_one_sentence_reports_a_server_that_speaks_something_else(loop: Any, answer: bytes, hold: bool, text: str) -> None:
    with strangers.someone(answer, hold) as url:
        assert re.search(text, scenarios.refused(loop, url))
