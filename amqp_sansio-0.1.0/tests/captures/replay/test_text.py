from __future__ import annotations

import pytest

from amqp_sansio.captures.replay.text import text_of


@pytest.mark.parametrize(
    ("octets", "text"),
    [(None, None), (b"", ""), (b"orders", "orders"), (b"\xff", "0xff"), (b"a\nb", "0x610a62"), (b"0x41", "0x30783431")],
)
def test_octets_are_text_where_they_can_be_and_never_taken_for_hex(octets: bytes | None, text: str | None) -> None:
    assert text_of(octets) == text
