"""An error of a capture file names file, packet and octet in one line, and travels between processes."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.captures.errors import CaptureError


@pytest.mark.parametrize(("packet", "line"), [(3, "a.pcap: packet 3, octet 40: too short"), (0, "a.pcap: octet 40: too short")])
def test_an_error_says_where(packet: int, line: str) -> None:
    error = CaptureError("a.pcap", packet, 40, "too short")
    assert str(error) == line
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (line, vars(error))
