"""The machine that talks to a server: our broker passes, and a broken one is found quickly and told readably."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.testing.probe.inmemory import InMemory
from tests.testing.probe.test_prober import Forgetful, Refusing, Twice

from amqp_sansio.broker import Broker
from amqp_sansio.testing.machines import ServerMachine

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


def test_a_machine_says_what_it_needs() -> None:
    with pytest.raises(NotImplementedError, match="override `connect`"):
        ServerMachine().connect()
    with pytest.raises(NotImplementedError, match="octets"):
        ServerMachine().exchange(b"")
