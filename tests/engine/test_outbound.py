"""Our own half: what is in doubt, what is kept, and what is said again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.engine.outbound import Outbound
from amqp_sansio.engine.replaying import Replaying
from amqp_sansio.errors import LimitError
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, RangeSet
from amqp_sansio.limits import Limits

BASES = [0, TOP - 6, 0x7FFFFFFA]


def sent(n: int, base: int = 0, retain: bool = True) -> Outbound:
    outbound = Outbound(retain)
    outbound.next_id = base
    for at in range(n):
        outbound.say(b"c%d" % at, None, b"body")
    return outbound


small = st.integers(0, 14)


words = st.tuples(st.sampled_from(["completed", "completed", "confirmed", "known"]), small, st.integers(0, 5))


@settings(max_examples=settings().max_examples * 5)
@given(st.sampled_from(BASES), st.integers(0, 12), st.booleans(), st.lists(words, max_size=12))
def test_a_run_is_completed_as_any_set_is(base: int, n: int, retain: bool, said: list[tuple[str, int, int]]) -> None:
    """Where a run of ids is completed without algebra, the same is news and the same is remembered; else nothing changes."""
    quick, slow = sent(n, base, retain), sent(n, base, retain)
    for word, low, more in said:
        first, last = (base + low) & TOP, (base + low + more) & TOP
        ids = RangeSet.span(first, last)
        if word == "confirmed":
            assert quick.confirm(ids) == slow.confirm(ids)
        elif word == "known":
            assert quick.take_known() == slow.take_known()
        else:
            assert run_or_set(quick, first, last) == slow.completed(ids, False)
        assert state(quick) == state(slow)


@pytest.mark.parametrize("low", [0, 2, 3, 4, 5])
def test_a_run_may_reach_beyond_half_of_all_ids(low: int) -> None:
    """Its lowest ids then lie ahead of the next command rather than behind it: nobody knows anything of those."""
    quick, slow = sent(1, HALF + 2, retain=False), sent(1, HALF + 2, retain=False)
    assert run_or_set(quick, low, HALF + 2) == slow.completed(RangeSet.span(low, HALF + 2), False)
    assert state(quick) == state(slow)


def run_or_set(outbound: Outbound, first: int, last: int) -> RangeSet:
    """What is news, on the quick way where that can be gone."""
    before = state(outbound)
    news = outbound.completed_run(first, last)
    if news is None:
        assert state(outbound) == before
        news = outbound.completed(RangeSet.span(first, last), False)
    return news


def state(outbound: Outbound) -> tuple[str, str, str, list[int], int]:
    """All that completion can change."""
    sets = str(outbound.outstanding), str(outbound.known), str(outbound.confirmed)
    return *sets, list(outbound.kept), outbound.kept_octets


def test_one_message_after_the_other_takes_no_algebra() -> None:
    """As who waits for each one is answered, by a set of all so far; what is known is told, and grows again."""
    outbound = sent(0, retain=False)
    for id in range(4):
        outbound.say(b"c", None, None)
        assert outbound.completed_run(0, id) == RangeSet.of(id)
    assert outbound.take_known() == RangeSet.span(0, 3)
    outbound.say(b"c", None, None)
    assert outbound.completed_run(4, 4) == RangeSet.of(4)
    assert outbound.known.freeze() == RangeSet.of(4)


@given(
    st.sampled_from(BASES),
    st.integers(0, 12),
    st.lists(st.tuples(st.booleans(), st.booleans(), st.frozensets(small)), max_size=8),
    st.frozensets(small, min_size=1),
)
def test_what_is_in_doubt_and_what_is_replayed_is_that_of_plain_sets(
    base: int, n: int, said: list[tuple[bool, bool, frozenset[int]]], expects: frozenset[int]
) -> None:
    """Every id is news once; kept are those neither confirmed nor completed; expected means "and all after the greatest"."""
    outbound = sent(n, base)
    completed, confirmed = set[int](), set[int]()

    def ids_of(ids: frozenset[int] | set[int]) -> RangeSet:
        return RangeSet.of(*[(base + id) & TOP for id in ids])

    for is_completed, timely, some in said:
        real = {id for id in some if id < n}
        if is_completed:
            assert outbound.completed(ids_of(some), timely) == ids_of(real - completed)
            completed |= real
        else:
            assert outbound.confirm(ids_of(some)) == ids_of(real - completed - confirmed)
            confirmed |= real - completed
        kept = set(range(n)) - completed - confirmed
        assert outbound.outstanding.freeze() == ids_of(set(range(n)) - completed)
        assert list(outbound.kept) == [(base + id) & TOP for id in sorted(kept)]
        assert outbound.known.freeze() == ids_of(completed)
        assert outbound.kept_octets == sum(len(a) + len(c or b"") for a, _, c in outbound.kept.values())
    kept = set(range(n)) - completed - confirmed
    last = max(expects)
    wanted = {id for id in expects if id < n} | set(range(last, n))
    assert outbound.kept.ids.freeze() == ids_of(kept)
    assert outbound.wanted(ids_of(expects)) == ids_of(wanted)
    assert outbound.missing(ids_of(wanted)) == EMPTY
    replaying = Replaying(outbound.kept.ids, outbound.ever(ids_of(wanted)))
    gaps = EMPTY
    while gap := replaying.gap(2):
        gaps |= gap
    assert gaps == ids_of(wanted - kept)
    assert list(iter(replaying.next, None)) == [(base + id) & TOP for id in sorted(kept & wanted)]


def test_nothing_is_kept_without_a_detached_lifetime_but_ids_are() -> None:
    outbound = sent(3, retain=False)
    assert outbound.kept == {}
    assert outbound.outstanding.freeze() == RangeSet([(0, 2)])
    assert outbound.missing(outbound.wanted(RangeSet.of(1))) == RangeSet([(1, 2)])
    assert outbound.missing(outbound.wanted(RangeSet.of(3))) == EMPTY


@given(st.lists(st.sampled_from(["say", "say", "keep", "keep not", "complete", "confirm", "look"]), max_size=30), st.data())
def test_what_is_missing_is_what_is_in_doubt_and_was_sent_while_nothing_was_kept(words: list[str], data: st.DataObject) -> None:
    """However often the lifetime comes and goes: what was kept is kept no more when it ends."""
    outbound = Outbound(data.draw(st.booleans()))
    doubt, kept = set[int](), set[int]()
    for word in words:
        if word == "say":
            id = outbound.say(b"p", None, None)
            doubt.add(id)
            kept |= {id} if outbound.retain else set()
        elif word == "keep":
            outbound.begin_retaining()
        elif word == "keep not":
            outbound.stop_retaining()
            kept.clear()
        elif word == "look":
            outbound.missing(RangeSet([(0, 99)]))
        else:
            some = data.draw(st.frozensets(st.integers(0, 20))) & doubt
            (outbound.completed(RangeSet.of(*some), False) if word == "complete" else outbound.confirm(RangeSet.of(*some)))
            doubt -= some
            kept -= some
        assert set(outbound.kept) == kept
    assert outbound.missing(RangeSet([(0, 99)])) == RangeSet.of(*(doubt - kept))


def test_limits_of_what_is_kept() -> None:
    limits = Limits(replay_commands=3, replay_octets=20)
    outbound = sent(2)
    assert outbound.kept_octets == 12
    outbound.check_room(8, limits)
    with pytest.raises(LimitError) as error:
        outbound.check_room(9, limits)
    assert (error.value.limit, error.value.asked) == ("replay_octets", 21)
    outbound.say(b"", None, None)
    with pytest.raises(LimitError) as error:
        outbound.check_room(0, limits)
    assert error.value.limit == "replay_commands"
    outbound.completed(RangeSet.of(0), False)
    outbound.check_room(8, limits)


def test_ids_that_were_never_sent_are_nobodys_business() -> None:
    outbound = sent(2)
    assert outbound.beyond(RangeSet([(0, 5)])) == RangeSet([(2, 5)])
    assert outbound.completed(RangeSet([(0, 0xFFFFFFFF)]), True) == RangeSet([(0, 1)])
    assert sent(0).beyond(RangeSet.of(0)) == RangeSet.of(0)


def test_known_completed_is_owed_until_it_is_taken() -> None:
    outbound = sent(5)
    outbound.completed(RangeSet.of(0, 2), False)
    due = [outbound.known_due]
    outbound.completed(RangeSet.of(1), True)
    due.append(outbound.known_due)
    assert outbound.take_known() == RangeSet([(0, 2)])
    due.append(outbound.known_due)
    assert due == [False, True, False]
    assert not outbound.known


def test_stop_retaining_forgets() -> None:
    outbound = sent(5)
    outbound.stop_retaining()
    outbound.say(b"x", None, None)
    assert outbound.kept == {}
    assert outbound.kept_octets == 0
    assert len(outbound.outstanding) == 6


def test_sets_of_billions_cost_nothing() -> None:
    outbound = sent(10)
    everything = RangeSet([(0, TOP)])
    assert outbound.confirm(everything) == RangeSet([(0, 9)])
    assert outbound.completed(everything, False) == RangeSet([(0, 9)])
    assert outbound.known.range_count <= 2
