"""Headers of messages without properties."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.headers import HEADERS, PlainHeaders
from amqp_sansio.errors import EncodeError
from amqp_sansio.wire.layouts.properties import write_properties


@pytest.mark.parametrize(("count", "kept"), [(HEADERS - 1, HEADERS - 1), (HEADERS, HEADERS), (HEADERS + 1, 1)])
def test_so_many_are_remembered(count: int, kept: int) -> None:
    headers = PlainHeaders()
    for _ in range(2):
        assert headers.of("0") == write_properties(routing_key="0")
    for number in range(count):
        headers.of(str(number))
    assert len(headers) == kept


def test_what_is_no_routing_key_is_not_remembered() -> None:
    headers = PlainHeaders()
    with pytest.raises(EncodeError):
        headers.of("k" * 256)
    assert not headers
