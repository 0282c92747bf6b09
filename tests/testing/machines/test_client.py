"""The machine that talks to a client: ours passes, and a broken one is found quickly and told readably."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test
from tests.testing.machines.test_server import FINDING, QUICK

from amqp_sansio import ClientConnection
from amqp_sansio.testing.machines import ClientMachine


class OurClient(ClientMachine):
    def connect(self) -> None:
        self.client = ClientConnection()
        self.asked = False

    def exchange(self, octets: bytes) -> bytes | None:
        self.client.receive_data(octets)
        for _ in self.client.events():
            pass
        if self.client.is_open and not self.asked:
            self.asked = True
            self.client.session("s")
        said = self.client.data_to_send()
        return said if said or not self.client.finished else None


class Hasty(OurClient):
    """Opens before it was asked to tune."""

    def exchange(self, octets: bytes) -> bytes | None:
        said = super().exchange(octets)
        if said and b"\0\0\0\0\x01\x02" in said:
            said += bytes.fromhex("0f 00 0010 0000 0000 00000000 0107 0000".replace(" ", ""))
        return said


class Tolerant(OurClient):
    """Hears no start and no tune once it is open, so that it cannot mind."""

    def exchange(self, octets: bytes) -> bytes | None:
        minded = self.client.is_open and octets[12:14] in (b"\x01\x01", b"\x01\x05", b"\x01\x08")
        return super().exchange(b"" if minded else octets)


def test_our_client_passes() -> None:
    run_state_machine_as_test(OurClient, settings=QUICK)


@pytest.mark.parametrize(("kind", "text"), [(Hasty, "connection"), (Tolerant, "the client lets it pass")])
def test_a_broken_client_is_found_and_told(kind: type[OurClient], text: str) -> None:
    with pytest.raises(AssertionError) as found:
        run_state_machine_as_test(kind, settings=FINDING)
    told = str(found.value)
    assert text in told
    assert len(told.splitlines()) <= 16, told


def test_a_machine_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError, match="override `connect`"):
        ClientMachine().connect()
    with pytest.raises(NotImplementedError, match="octets"):
        ClientMachine().exchange(b"")
