"""What the spooler asks of a broker, one thing at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from tests.adapters.served import Served
from tests.spark.live.stage import ORDERS, declare, send, source

from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.identity import SOURCE, branch, new_owner
from amqp_sansio.spark.live.intake import Intake
from amqp_sansio.spark.live.options import BRANCH_TIMEOUT

OWNER = new_owner()


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as served:
        declare(served.url, ORDERS, "more")
        yield served


def intake(served: Served, *queues: str, prefetch: int = 10, octets: int | None = None) -> Intake:
    from pathlib import Path

    made = Intake(source(served.url, Path("/")).access, queues, prefetch, octets)
    made.open()
    made.subscribe()
    return made


def test_messages_come_in_turn_of_their_queues(served: Served) -> None:
    send(served.url, [b"a"] * 3)
    send(served.url, [b"b"] * 3, "more")
    made = intake(served, ORDERS, "more")
    assert made.there == 6
    got = [made.receive(5.0) for _ in range(6)]
    assert sorted(each[1].queue for each in got if each is not None) == ["more"] * 3 + [ORDERS] * 3
    assert made.receive(0.0) is None
    assert made.receive(0.01) is None
    made.close()
    assert served.depth(ORDERS) == 3


def test_a_branch_from_its_start_to_its_end(served: Served) -> None:
    send(served.url, [b"a"] * 2)
    made = intake(served, ORDERS)
    for finish in (lambda name: made.link.rollback([name]), made.commit):
        got = [made.receive(5.0) for _ in range(2)]
        name = branch(OWNER, SOURCE, 1)
        made.begin(name, None)
        made.accept([each[0] for each in got if each is not None])
        made.end(name)
        asked = partial(made._session._talk.transactions.get_timeout, name)
        assert made._session._asked(asked) == BRANCH_TIMEOUT
        made.prepare(name)
        assert made.link.in_doubt() == (name,)
        finish(name)
        assert made.link.in_doubt() == ()
    made.sync()
    assert made.depth() == 0
    made.close()
    assert (served.depth(ORDERS), served.acquired(ORDERS)) == (0, 0)


def test_depth_counts_each_message_once(served: Served) -> None:
    send(served.url, [b"a"] * 9)
    made = intake(served, ORDERS, prefetch=4)
    assert made.depth() == 9
    made.close()


def test_refusals_and_losses(served: Served) -> None:
    with pytest.raises(LiveSetupError, match="there is no queue 'nowhere'"):
        intake(served, ORDERS, "nowhere")
    made = intake(served, ORDERS)
    with pytest.raises(LiveSetupError, match=r"542.*branchTimeout"):
        made.begin(branch(OWNER, SOURCE, 1), 10**6)
    made.close()
    made = intake(served, ORDERS)
    served.cut()
    with pytest.raises(LiveError):
        made.receive(5.0)
    with pytest.raises(LiveError):
        made.sync()
    made.close()
