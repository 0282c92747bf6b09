"""Our own half: what is in doubt, what is kept, and what is said again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session

from amqp_sansio.engine.halves import Outbound
from amqp_sansio.engine.replaying import Replaying
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import LimitError
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    Origin,
    SessionDetached,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec import dtx, execution, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import XaStatus

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


def test_a_result_is_for_what_waits_for_one() -> None:
    """A commit waits for its outcome, which is no result."""
    outbound = Outbound(False)
    outbound.expect_answer(4, queue.Query("q"))
    outbound.expect_answer(5, tx.Commit())
    assert outbound.asked_for(4) == queue.Query("q")
    assert outbound.asked_for(5) is None
    del outbound.asked[4]
    assert outbound.asked_for(4) is None
    assert outbound.stray == 2


X = dtx.Xid(0, b"x", b"")
COMMITTED, ROLLED_BACK, UNKNOWN = TransactionOutcome


def told(events: list[Event]) -> list[Event]:
    return [e for e in events if isinstance(e, TransactionEnded | BranchAnswered | BranchesRecovered | BranchTimeout)]


def cut(session: Session) -> None:
    assert session._channel is not None
    session._channel.lost(Origin.EOF, "cut")


def exception(code: int, id: int | None) -> execution.Exception_:
    return execution.Exception_(code, id, 5, 2)


def test_a_loss_with_a_commit_under_way_leaves_it_unknown() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    session.publish(body=b"1")
    first = local.commit()
    second = local.rollback()
    third = local.commit()
    session.publish(body=b"2")
    carrier.happened()
    cut(session)
    happened = carrier.happened()
    assert told(happened) == [
        TransactionEnded(b"s", first, UNKNOWN),
        TransactionEnded(b"s", second, ROLLED_BACK),
        TransactionEnded(b"s", third, UNKNOWN),
        TransactionEnded(b"s", None, ROLLED_BACK),
    ]
    assert isinstance(happened[-1], SessionDetached)  # the last word about a session
    assert local.under_way == ()


def test_a_loss_without_one_rolls_back_what_is_open() -> None:
    carrier, session = attached_session("client")
    session.select_tx()
    session.publish(body=b"1")
    cut(session)
    assert told(carrier.happened()) == [TransactionEnded(b"s", None, ROLLED_BACK)]


def test_where_nothing_is_open_nothing_is_rolled_back() -> None:
    carrier, session = attached_session("client")
    id = session.select_tx().commit()
    carrier.hear(c.Completed(RangeSet([(0, id)])))
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
    carrier, session = attached_session("client")
    session.publish(body=b"1")
    cut(session)
    assert told(carrier.happened()) == []


@pytest.mark.parametrize(
    ("at", "code", "outcomes"),
    [
        ("commit", 409, [ROLLED_BACK, ROLLED_BACK, ROLLED_BACK]),  # refused
        ("before", 404, [ROLLED_BACK, ROLLED_BACK, ROLLED_BACK]),  # what comes behind the failing command is not executed
        ("commit", 541, [UNKNOWN, ROLLED_BACK, ROLLED_BACK]),  # broken down inside: it may have had its effect
        ("behind", 404, [UNKNOWN, ROLLED_BACK, ROLLED_BACK]),  # executed before it, and its completion was not heard
        ("none", 408, [UNKNOWN, UNKNOWN, ROLLED_BACK]),  # not about a command of ours
    ],
)
def test_an_exception(at: str, code: int, outcomes: list[TransactionOutcome]) -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    before = session.publish(body=b"1")
    commit = local.commit()
    behind = session.publish(body=b"2")
    last = local.commit()
    session.publish(body=b"3")
    carrier.happened()
    carrier.hear(exception(code, {"before": before, "commit": commit, "behind": behind}.get(at)), c.Detach(b"s"))
    assert told(carrier.happened()) == [
        TransactionEnded(b"s", id, outcome) for id, outcome in zip((commit, last, None), outcomes, strict=True)
    ]  # fmt: skip


def test_a_local_detach_rolls_back_too() -> None:
    carrier, session = attached_session("client")
    local = session.select_tx()
    id = local.commit()
    session.publish(body=b"1")
    session.detach()
    carrier.happened()
    carrier.hear(c.Completed(RangeSet([(0, id)])), c.Detached(b"s", 0))
    assert told(carrier.happened())[-1] == TransactionEnded(b"s", None, ROLLED_BACK)


def test_branches_that_are_not_answered_are_unknown() -> None:
    carrier, session = attached_session("client")
    handle = session.select_dtx()
    prepare, forget, recover, ask = handle.prepare(X), handle.forget(X), handle.recover(), handle.get_timeout(X)
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == [
        BranchAnswered(b"s", prepare, "dtx.prepare", X, None),
        BranchAnswered(b"s", forget, "dtx.forget", X, None),
        BranchesRecovered(b"s", recover, None),
        BranchTimeout(b"s", ask, X, None),
    ]


def test_a_result_of_another_type_is_no_answer() -> None:
    """It ends the session, and what it was to answer stays unknown: the caller is told that too."""
    carrier, session = attached_session("client")
    id = session.dtx.prepare(X)
    carrier.hear(execution.Result(id, dtx.GetTimeoutResult(9)))
    assert told(carrier.happened()) == [BranchAnswered(b"s", id, "dtx.prepare", X, None)]
    assert session.state == "ended"


def test_a_branch_whose_command_is_refused_says_so() -> None:
    carrier, session = attached_session("client")
    handle = session.dtx
    prepare, commit = handle.prepare(X), handle.commit(X)
    carrier.happened()
    carrier.hear(exception(404, prepare), c.Detach(b"s"))
    assert told(carrier.happened()) == [
        BranchAnswered(b"s", prepare, "dtx.prepare", X, None, 404), BranchAnswered(b"s", commit, "dtx.commit", X, None),
    ]  # fmt: skip


def resumed(session: Session, expected: int) -> BareCarrier:
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Expected(RangeSet.of(expected)), c.CommandPoint(0, 0))
    assert session.state == "attached"
    return carrier


@pytest.mark.parametrize("stored", [False, True])
def test_a_session_that_is_resumed_learns_the_outcome_later_and_hears_of_no_unknown_one_before(stored: bool) -> None:
    carrier, session = attached_session("client", timeout=60)
    local = session.select_tx()
    session.publish(body=b"1")
    commit = local.commit()
    prepare = session.dtx.prepare(X)
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
    assert session.tx.under_way == (commit,)
    if stored:
        session = Session.restore(session.snapshot())
    carrier = resumed(session, commit)  # the server has not seen the commit: it is said again
    assert [each.VERB for each in carrier.said() if each.VERB.startswith(("tx.", "dtx."))] == ["tx.commit", "dtx.prepare"]
    assert told(carrier.happened()) == []
    carrier.hear(c.Completed(RangeSet([(0, commit)])), execution.Result(prepare, dtx.XaResult(0)))
    assert told(carrier.happened()) == [
        TransactionEnded(b"s", commit, COMMITTED), BranchAnswered(b"s", prepare, "dtx.prepare", X, XaStatus.XA_OK),
    ]  # fmt: skip
    session.tx.commit()  # still transactional


def test_a_resumption_that_fails_makes_it_unknown() -> None:
    carrier, session = attached_session("client", timeout=60)
    commit = session.select_tx().commit()
    cut(session)
    carrier = BareCarrier("client")
    carrier.channel(0).bind(session)
    session.attach()
    carrier.hear(c.Attached(b"s"), c.Expected(RangeSet()))
    assert told(carrier.happened()) == [TransactionEnded(b"s", commit, UNKNOWN)]


def test_a_session_that_expires_detached_hands_out_nothing_but_still_knows() -> None:
    carrier, session = attached_session("client", timeout=60)
    commit = session.select_tx().commit()
    cut(session)
    session.tick(0.0)
    session.tick(10.0**6)
    assert session.state == "ended"
    assert told(carrier.happened()) == []
    assert session.tx.under_way == (commit,)


def test_a_server_tells_nothing_about_transactions() -> None:
    carrier, session = attached_session("server")
    carrier.hear(dtx.Select(), dtx.Start(X))
    carrier.happened()
    cut(session)
    assert told(carrier.happened()) == []
