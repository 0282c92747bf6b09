"""What connections of both families do on trio, over real sockets."""

from __future__ import annotations

import re
from typing import Any

import pytest
import trio as trio_
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


def test_a_handshake_of_tls_that_fails_leaves_no_socket(loop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    streams: list[trio_.SocketStream] = []
    opened = trio_.open_tcp_stream

    async def noted(host: str, port: int) -> trio_.SocketStream:
        streams.append(await opened(host, port))
        return streams[-1]

    monkeypatch.setattr(trio_, "open_tcp_stream", noted)
    with strangers.someone(b"") as url:
        assert scenarios.refused(loop, url.replace("amqp:", "amqps:"))
    assert [stream.socket.fileno() for stream in streams] == [-1]
