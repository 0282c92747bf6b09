"""A tapped guest is the guest, and its listener hears both speakers."""

from __future__ import annotations

from amqp_sansio import ClientConnection
from amqp_sansio.adapters.tapping import Tapped
from amqp_sansio.broker import Broker


class Heard:
    def __init__(self) -> None:
        self.lines: list[tuple[str, bytes]] = []

    def hear(self, speaker: str, octets: bytes) -> None:
        self.lines.append((speaker, octets))

    def note(self, text: str) -> None:
        self.lines.append((text, b""))


def test_it_gets_both_speakers_and_the_end() -> None:
    broker, client, heard = Broker(), ClientConnection(), Heard()
    tapped = Tapped(broker.connect(), heard)
    hello = client.data_to_send()
    tapped.receive_data(hello)
    list(broker.events())
    tapped.writable = False
    assert (tapped.writable, tapped.full, broker.ready()) == (False, False, ())
    tapped.writable = True
    assert broker.ready() == (tapped.guest,)
    answer = tapped.data_to_send()
    assert answer
    assert tapped.data_to_send() == b""
    assert (tapped.wants_data, tapped.finished) == (True, False)
    tapped.receive_eof()
    tapped.receive_eof()
    list(broker.events())
    assert (tapped.wants_data, tapped.finished) == (False, True)
    assert heard.lines == [("client", hello), ("server", answer), ("the client's octets have ended", b"")]
