from __future__ import annotations

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.octets import octets_of


def test_octets_may_be_given_in_three_types_and_no_other() -> None:
    for octets in (b"x", bytearray(b"x"), memoryview(b"x.")[::2]):
        assert octets_of(octets) == b"x"
    with pytest.raises(EncodeError, match="body: takes octets, not int"):
        octets_of(5)
