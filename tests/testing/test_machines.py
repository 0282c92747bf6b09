"""The machines that talk to a server or a client: ours pass, and a broken one is found quickly and told readably."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.testing.probe.inmemory import InMemory
from tests.testing.probe.test_prober import Forgetful, Refusing, Twice

from amqp_sansio import ClientConnection
from amqp_sansio.broker import Broker
from amqp_sansio.testing.machines import ClientMachine, ServerMachine

QUICK = settings(max_examples=8, stateful_step_count=8, suppress_health_check=list(HealthCheck), deadline=None)
FINDING = settings(
    max_examples=300, stateful_step_count=8, suppress_health_check=list(HealthCheck), deadline=None, database=None,
    phases=(Phase.generate, Phase.shrink), derandomize=True,
)  # fmt: skip


def machine(kind: type[InMemory], of: str | None = None) -> type[ServerMachine]:
    class OurBroker(ServerMachine):
        section = of

        def connect(self) -> None:
            self.link = kind(Broker())

        def exchange(self, octets: bytes) -> bytes | None:
            return self.link.exchange(octets)

    return OurBroker


@pytest.mark.parametrize("of", [None, "connection", "session", "message", "dtx"])
def test_our_broker_passes(of: str | None) -> None:
    run_state_machine_as_test(machine(InMemory, of), settings=QUICK)


@pytest.mark.parametrize(
    ("kind", "of", "text"),
    [
        (Forgetful, "tx", "tx.commit.select-required: it was let pass"),
        (Refusing, "tx", "tx.rollback"),
        (Twice, "session", "connection.sequence: the server"),
    ],
)
def test_a_broken_broker_is_found_and_told(kind: type[InMemory], of: str, text: str) -> None:
    with pytest.raises(AssertionError) as found:
        run_state_machine_as_test(machine(kind, of), settings=FINDING)
    told = str(found.value)
    assert text in told
    assert len(told.splitlines()) <= 16, told


def test_a_server_machine_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError, match="override `connect`"):
        ServerMachine().connect()
    with pytest.raises(NotImplementedError, match="octets"):
        ServerMachine().exchange(b"")


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


def test_a_client_machine_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError, match="override `connect`"):
        ClientMachine().connect()
    with pytest.raises(NotImplementedError, match="octets"):
        ClientMachine().exchange(b"")
