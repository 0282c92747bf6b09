"""A client at one broker."""

from __future__ import annotations

import pytest

from amqp_sansio.events import ExceptionReceived
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.testing.simulation import replay
from amqp_sansio.testing.simulation.ledger import Item
from amqp_sansio.testing.simulation.outcome import InvariantError
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.session_model import Branch, Tenure
from amqp_sansio.testing.simulation.simulated_client import ClientLink
from amqp_sansio.testing.simulation.world import World


def world(kind: str = "plain") -> World:
    made = World(Plan(0, (Persona(kind, 0, 0, 1.0),), (1.0,), ()))
    made.tick(0.0)
    return made


def settle(made: World) -> None:
    while made.breathe():
        for site in made.sites:
            site.sync()
            site.tell()


def arrived() -> tuple[World, ClientLink, Tenure]:
    """A world whose only client has come, its line, and the session that it holds."""
    made = world()
    (line,) = made.lines
    line.come()
    settle(made)
    assert line.tenure is not None
    return made, line, line.tenure


def test_it_comes_step_by_step_and_comes_back_after_a_loss() -> None:
    made = world("lasting")
    (line,) = made.lines
    line.come()
    settle(made)
    assert line.ready
    wire, tenure = line.wire, line.tenure
    line.come()
    assert (line.wire, line.tenure) == (wire, tenure), "there was nothing to do"
    assert tenure is not None
    assert tenure.granted == 200
    assert wire is not None
    wire.cut()
    settle(made)
    assert [line.wire is None, tenure.harmed_at, tenure.over] == [True, 1.0, False]
    line.come()
    settle(made)
    assert (line.tenure is tenure, line.ready, tenure.harmed_at) == (True, True, None)


def test_a_session_that_does_not_last_is_over_with_its_connection() -> None:
    made, line, tenure = arrived()
    line.drop()
    line.over(tenure)
    assert tenure.over
    assert tenure.loose(made.now)


@pytest.mark.parametrize(("stage", "outcome"), [("active", "rolled back"), ("ended", "rolled back"), ("prepared", "unknown")])
def test_a_branch_that_may_be_prepared_is_in_doubt_when_its_session_is_over(stage: str, outcome: str) -> None:
    made, line, tenure = arrived()
    group = made.ledger.group("transaction 1")
    tenure.branch = Branch(Xid(1, b"1", b""), group)
    tenure.branch.stage = stage  # type: ignore[assignment]  # one of those that there are
    line.drop()
    line.over(tenure)
    assert group.outcome == outcome


@pytest.mark.parametrize(("verb", "certain"), [("rollback", False), ("start", True)])
def test_what_was_accepted_in_a_branch_is_in_doubt_when_its_rollback_may_be_lost(verb: str, certain: bool) -> None:
    """A prepared branch stays until somebody decides: who was not answered does not know that it is rolled back."""
    made, line, tenure = arrived()
    group = made.ledger.group("transaction 1")
    item = Item(b"1", 1, line.site.name, "red", 4, line.name, True, born="yes")
    group.accepts.append(item)
    group.rolled_back()
    tenure.asked[5] = verb, Branch(Xid(1, b"1", b""), group, "prepared")
    line.drop()
    line.over(tenure)
    assert item.certain is certain


def test_a_refusal_is_a_fault() -> None:
    _, line, tenure = arrived()
    with pytest.raises(InvariantError, match="nobody breaks the protocol"):
        line.hear(ExceptionReceived(b"client 1-1", 404))
    tenure.fleeting = True
    with pytest.raises(InvariantError, match="nobody breaks the protocol"):
        line.hear(ExceptionReceived(b"client 1-1", 404))
    line.site.crashes = 1  # then the queue may have gone before its subscribe was heard
    line.hear(ExceptionReceived(b"client 1-1", 404))
    with pytest.raises(InvariantError, match="nobody breaks the protocol"):
        line.hear(ExceptionReceived(b"client 1-1", 409))
    line.tolerant = True
    line.hear(ExceptionReceived(b"client 1-1", 409))


def test_at_rest_nothing_is_unanswered() -> None:
    made = world()
    (line,) = made.lines
    with pytest.raises(InvariantError, match="does not come"):
        line.check_rest()
    line.come()
    settle(made)
    line.check_rest()
    assert line.tenure is not None
    line.tenure.session.sync()
    with pytest.raises(InvariantError, match="never completes"):
        line.check_rest()


def test_a_subscription_that_was_cancelled_has_no_credit_even_where_messages_of_before_may_still_come() -> None:
    """Seed 1194: the cancel is completed behind a resume, so that the session keeps the subscription until a later command."""
    kinds = (
        ("lasting", 0, 0.966),
        ("lasting", 1, 0.957),
        ("lasting", 0, 0.965),
        ("lasting branch", 1, 0.985),
        ("lasting", 0, 0.972),
    )
    steps = (
        Step("publish", 36001), Step("publish", 8681, 65093, 0, 34430), Step("subscribe", 41476, 19979), Step("cut", 13881),
        Step("grant", 58210, 0, 0, 44407), Step("cancel", 14056),
    )  # fmt: skip
    personas = tuple([Persona(kind, home, 0, rate) for kind, home, rate in kinds])
    outcome = replay(Plan(1194, personas, (0.964, 0.955), steps), tell=True)
    assert outcome.ok, outcome.failure
    assert any("message.cancel" in line for line in outcome.story)
