"""What subscribers wait for: who has passed which place, who may take something, and who has how many octets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import Sink, message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import Passed, Rank, SmallCredit


def test_browsers_that_look_again_are_notified_once() -> None:
    passed, sink = Passed(), Sink()
    passed.add(sink, [(0, 5)])
    assert passed.all() == [sink]
    assert passed.all() == []
    assert passed.before(0, 9) == []


def test_nobody_is_in_a_new_rank() -> None:
    rank = Rank(-3)
    assert (rank.priority, rank.consumers) == (-3, 0)
    assert [len(each) for each in (rank.taking, rank.selecting, rank.resting, rank.small.consumers)] == [0] * 4


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 50)), max_size=60), st.lists(st.integers(0, 50), max_size=8))
def test_the_largest_credit_is_found_if_it_is_enough(said: list[tuple[int, int]], sizes: list[int]) -> None:
    """The index names the subscriber with the most octets, if they are enough, and forgets its earlier figures."""
    sinks = [Sink() for _ in range(5)]
    small, credit = SmallCredit(), dict[Sink, int]()
    for number, octets in said:
        small.forget(sinks[number])
        credit.pop(sinks[number], None)
        if octets:
            small.add(sinks[number], octets)
            credit[sinks[number]] = octets
    queue = Queue("q")
    for size in sizes:
        found = small.largest(queue.put(message(body=bytes(size))))
        assert (found is not None) is any(octets >= size for octets in credit.values())
        if found is not None:
            assert isinstance(found, Sink)
            assert credit.pop(found) >= max([size, *credit.values()])
    assert small.consumers.keys() == credit.keys()
