"""The half of a session that sends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.carriers import BareCarrier, attached_session
from tests.scripted import ScriptedPeer

from amqp_sansio import ServerConfig, ServerConnection, Session
from amqp_sansio.config import Profile
from amqp_sansio.engine.outbound import Outbound, Replaying, check_command, check_modes, transfer, violate
from amqp_sansio.engine.subscription import Subscriber
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.events import (
    AttachRequested,
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    Origin,
    SessionAttached,
    SessionDetached,
    TransactionEnded,
    TransactionOutcome,
    Violation,
)
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, MutableRangeSet, RangeSet
from amqp_sansio.ledger.ids import EXPLICIT, Delivery
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec import dtx, execution, message, queue, tx
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import AcceptMode, XaStatus
from amqp_sansio.spec.connection import Open, StartOk, TuneOk
from amqp_sansio.tables import transfer as rows


def test_the_golden_transfer() -> None:
    """The frames of model section 1.7, made by an independent codec, here on channel 0."""
    carrier, session = attached_session("client")
    properties = message.MessageProperties(
        content_length=5,
        reply_to=message.ReplyTo("amq.direct", "r"),
        content_type="text/plain",
        application_headers={"k": 1},
    )
    session.publish("", message.DeliveryProperties(delivery_mode=2, routing_key="q"), properties, body=b"hello")
    octets = carrier.take()[28:]
    golden = bytes.fromhex(
        "0b0100150001 0000 00000000 0401010007000001 00"
        "030200560001 0000 00000000 00000007 0401100202 0171"
        "0000003b 04031901 0000000000000005 000f 03000a 616d712e646972656374 0172 0a 746578742f706c61696e"
        "0000000f 00000001 016b 31 0000000000000001"
        "070300110001 0000 00000000 68656c6c6f"
    )
    assert octets == golden


def test_sync_transfers_and_modes_are_remembered_apart() -> None:
    carrier, session = attached_session("client")
    for _ in range(2):
        session.publish("a", body=b"x")
        session.publish("a", body=b"x", sync=True)
        session.publish("a", body=b"x", accept_mode=AcceptMode.EXPLICIT)
    modes = [thing.accept_mode for thing in carrier.said() if isinstance(thing, message.Transfer)]
    assert modes == [1, 1, 0] * 2
    assert len(carrier.channel(0).commands) == 3


def test_remembered_commands_are_bounded() -> None:
    carrier, session = attached_session("client")
    for n in range(1000):
        session.publish(str(n))
    assert len(carrier.channel(0).commands) <= 256


def test_fragments_with_the_profile_that_lets_them_be_sent() -> None:
    carrier, session = attached_session("client", profile=Profile(fragments=True))
    session.publish("", message.FragmentProperties(True, False), body=b"half")
    session.send(message.Resume("d", "r"))
    assert len(carrier.said()) == 3


def test_a_body_that_changes_later_does_not_change_what_is_kept() -> None:
    _, session = attached_session("client", timeout=60)
    body = bytearray(b"abc")
    session.publish(body=body)  # type: ignore[arg-type]
    body[0] = 0
    assert session._outbound.kept[0][2] == b"abc"


@pytest.mark.parametrize("empty", [False, True])
def test_a_body_of_no_octets_is_a_segment_when_asked_for(empty: bool) -> None:
    carrier, session = attached_session("client", timeout=60)
    header = carrier.layout.encode_struct32(message.DeliveryProperties(routing_key="q"))
    carrier.take()
    transfer(session, "", 1, 0, (), b"", False, header, empty_body=empty)
    octets = carrier.take()
    assert octets.endswith(bytes.fromhex("0703000c0001000000000000")) == empty
    assert octets.endswith(header) != empty
    assert session._outbound.kept[0][1:] == (header, b"" if empty else None)


def test_commands_without_content_are_one_frame() -> None:
    carrier, session = attached_session("client")
    session.send(queue.Declare("q"), sync=True)
    octets = carrier.take()[28:]
    assert (octets[0], octets[1], octets[15]) == (0x0F, 1, 1)


def test_properties_one_by_one_are_those_in_structs() -> None:
    """The same properties make the same octets whether they are given one by one or in structs, by a client or a server."""
    for role in ("client", "server"):
        said = []
        for one_by_one in (False, True):
            carrier, session = attached_session(role)
            session._subscribers.current["d"] = Subscriber("q", "d", 1, 0)
            session.subscribers["d"]._book.grant(0, 9)
            session.subscribers["d"]._book.grant(1, 999)
            if one_by_one:
                session.publish("d", body=b"x", routing_key="k", application_headers={"a": 1})
            else:
                session.publish(
                    "d",
                    message.DeliveryProperties(routing_key="k"),
                    message.MessageProperties(application_headers={"a": 1}),
                    body=b"x",
                )
            said.append(carrier.take())
        assert said[0] == said[1]


def test_properties_come_one_way_only() -> None:
    """Properties given both ways, or such as cannot be written, are refused before anything is said."""
    carrier, session = attached_session("client")
    carrier.take()
    with pytest.raises(EncodeError, match="not both"):
        session.publish("a", message.DeliveryProperties(priority=1), body=b"x", routing_key="k")
    with pytest.raises(EncodeError, match="priority"):
        session.publish("a", body=b"x", priority=256)
    with pytest.raises(EncodeError, match="frame"):
        session.publish("a", body=b"x", user_id=bytes(65535), app_id=bytes(65535))
    assert carrier.take() == b""
    assert session.publish("a", body=b"x", routing_key="k") == 0


def test_a_check_changes_nothing_and_its_effect_does() -> None:
    _, session = attached_session("client")
    before = session.snapshot()
    effect = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert session.snapshot() == before
    assert effect is not None
    effect(0)
    assert list(session.subscriptions) == ["d"]


def test_a_command_with_a_result_is_remembered() -> None:
    _, session = attached_session("client")
    effect = check_command(session, queue.Query("q"))
    assert effect is not None
    effect(17)
    assert session._outbound.asked == {17: queue.Query("q")}
    assert check_command(session, queue.Declare("q")) is None


def test_what_the_other_role_says() -> None:
    _, session = attached_session("server")
    for command in (message.Subscribe("q", "d", 0, 0), tx.Select(), queue.Declare("q"), message.Acquire(RangeSet.of(0))):
        with pytest.raises(LocalProtocolError) as raised:
            check_command(session, command)
        assert raised.value.legal == (f"client:{command.VERB}",)


@pytest.mark.parametrize(("held", "fits"), [(1, True), (2, False), (3, False)])
def test_limit_of_subscriptions(held: int, fits: bool) -> None:
    _, session = attached_session("client", limits=Limits(subscriptions=2))
    for n in range(min(held, 2)):
        session.subscribe("q", str(n))
    if fits:
        session.subscribe("q", "last")
    else:
        with pytest.raises(LimitError, match="subscriptions"):
            session.subscribe("q", "last")


def test_throttling_the_other_side() -> None:
    carrier, session = attached_session("server")
    session.send(message.SetFlowMode("", 0))
    session.send(message.Flow("", 0, 5))
    session.send(message.Stop(""))
    session.send(message.Flow("", 0, 5))
    session.send(message.Flow("", 1, 5))
    assert len(carrier.said()) == 6
    with pytest.raises(LocalProtocolError):
        session.send(message.Flow("d", 0, 5))


def test_modes() -> None:
    check_modes(0, 1)
    with pytest.raises(EncodeError):
        check_modes(2, 0)
    with pytest.raises(EncodeError):
        check_modes(0, 2)


def acquired_and_shown() -> Session:
    """A client with a transfer that it acquired, number 1, and one that it was shown, number 2."""
    _, session = attached_session("client")
    for id, state in ((1, rows.ACQUIRED), (2, rows.NOT_ACQUIRED)):
        session._transfers.deliveries[id] = Delivery(state, EXPLICIT, None, 7, False, 7)
    return session


def test_all_or_none() -> None:
    session = acquired_and_shown()
    for ids in (RangeSet([(1, 2)]), RangeSet([(0, 1)]), RangeSet([(1, TOP)]), EMPTY):
        with pytest.raises(LocalProtocolError):
            check_command(session, message.Accept(ids))


def test_settling_what_may_not_be_settled_raises_what_may() -> None:
    """The error lists for which transfers the word would be right, and what may be said of the one for which it is not."""
    session = acquired_and_shown()
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Accept(RangeSet.of(2)))
    assert caught.value.legal == ("message.accept {1}", "message.acquire 2", "message.release 2", "session.completed 2")
    assert caught.value.rule == "message.accept.acquisition"
    with pytest.raises(LocalProtocolError) as caught:
        check_command(session, message.Release(RangeSet.of(9)))
    assert (caught.value.legal, caught.value.state) == (("message.release {1-2}",), "no such unsettled transfer")
    assert caught.value.rule == "message"


def test_a_subscription_made_while_the_session_is_detached_has_no_channel_to_learn_anew() -> None:
    """The effect of a check is there whether or not a channel is."""
    _, session = attached_session("client")
    before = check_command(session, message.Subscribe("q", "d", 0, 0))
    assert before is not None
    channel, session._channel = session._channel, None
    before(0)
    session._channel = channel
    assert list(session.subscriptions) == ["d"]


def test_an_error_code_goes_out_in_an_exception_behind_what_was_gathered() -> None:
    carrier, session = attached_session("server")
    carrier.hear(execution.Sync())
    session.send(execution.Sync())
    carrier.out.clear()
    carrier.happened()
    carrier.channel(0).channels.offset = 99
    violate(session, "a.rule", "said", ("legal",), 542, "text", 7, (4, 1))
    assert carrier.said() == [
        c.Completed(RangeSet.of(0)),
        execution.Exception_(542, 7, 4, 1, None, "a.rule: text"),
        c.Detach(b"s"),
    ]
    violation = Violation("client", "a.rule", "said", ("legal",), 542, 0, 99, "text")
    assert carrier.happened() == [
        SessionDetached(b"s", 0, Origin.VIOLATION, None, "text", violation, in_doubt=RangeSet.of(0), ended=True)
    ]
    assert not carrier.channel(0).free
    carrier.hear(c.Detached(b"s", 0))
    assert carrier.channel(0).free


def test_a_detach_code_goes_out_in_detached() -> None:
    carrier, session = attached_session("client")
    violate(session, "a.rule", "said", (), 4, "text")
    assert carrier.said() == [c.Detached(b"s", 4)]
    assert carrier.channel(0).free


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


HEADER = b"AMQP\x01\x01\x00\x0a"
ROOM = 10_000
BODY = 3000


def opened(room: int = ROOM, frame: int = 0, limits: Limits = DEFAULT_LIMITS) -> ScriptedPeer:
    """A server with so much room for what can wait, and its client."""
    peer = ScriptedPeer(ServerConnection(ServerConfig(session_timeout=600, limits=limits)))
    peer.say(HEADER, StartOk({}, "ANONYMOUS", b"", "en_US"), TuneOk(0, frame, 0), Open(""))
    peer.connection._most_waiting = room
    peer.connection.data_to_send()
    return peer


def kept(messages: int, body: int = BODY, frame: int = 0, limits: Limits = DEFAULT_LIMITS) -> tuple[ScriptedPeer, Session]:
    """A session with so many deliveries in doubt, which the client has detached."""
    peer = opened(frame=frame, limits=limits)
    peer.say(c.Attach(b"s"), c.RequestTimeout(600), c.CommandPoint(0, 0), channel=1)
    (session,) = peer.server.sessions
    peer.say(message.Subscribe("q", "d", 1, 1), message.Flow("d", 0, messages), message.Flow("d", 1, 1 << 30), channel=1)
    for _ in range(messages):
        session.publish("d", body=bytes(body), accept_mode=AcceptMode.NONE)
    peer.say(c.Detach(b"s"), channel=1)
    peer.connection.data_to_send()
    assert session.state == "detached"
    return peer, session


def again(peer: ScriptedPeer, session: Session, expected: RangeSet, channel: int = 1) -> list[Event]:
    """The session is attached by the client, who says what it expects: what happens then."""
    connection = peer.connection
    assert isinstance(connection, ServerConnection)
    connection.receive_data(peer.octets_of(c.Attach(session.name), channel))
    assert isinstance(connection.next_event(), AttachRequested)
    connection.accept(session.name, resume=session)
    return peer.say(c.Expected(expected), channel=channel)


def test_it_goes_through_what_is_kept_and_what_is_not_over_the_top() -> None:
    ids = MutableRangeSet(RangeSet([(TOP - 1, 0), (3, 3), (9, 12)]))
    replaying = Replaying(ids, RangeSet([(TOP - 3, 10)]))
    assert [replaying.gap(2), replaying.gap(2), replaying.gap(2)] == [
        RangeSet([(TOP - 3, TOP - 2), (1, 2)]), RangeSet([(4, 8)]), RangeSet(),
    ]  # fmt: skip
    assert replaying.next() == TOP - 1
    ids.discard(RangeSet.of(TOP, 9))  # kept no more
    assert list(iter(replaying.next, None)) == [0, 3, 10]
    assert Replaying(ids, RangeSet()).next() is None


def test_no_more_is_written_than_there_is_room_for() -> None:
    """One command more at most; the session is attached when all was said, and says nothing else before."""
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    connection = peer.connection
    octets = b""
    while session._replaying is not None:
        assert ROOM <= connection.bytes_to_send < ROOM + BODY + 200
        assert (session.state, list(connection.events())) == ("resuming", [])
        octets += connection.data_to_send()
    assert [type(event) for event in connection.events()] == [SessionAttached]
    octets += connection.data_to_send()
    assert octets.count(bytes(BODY)) == 20
    assert connection.data_to_send() == b""
    assert session._speaks


def test_where_there_is_room_all_is_sent_at_once() -> None:
    peer, session = kept(20)
    peer.connection._most_waiting = 1 << 62
    assert [type(event) for event in again(peer, session, RangeSet.of(0))] == [SessionAttached]
    assert len(peer.connection.data_to_send()) > 20 * BODY


def test_two_sessions_have_their_turns() -> None:
    peer, session = kept(20)
    peer.say(c.Attach(b"t"), c.RequestTimeout(600), c.CommandPoint(0, 0), channel=2)
    (other,) = peer.server.sessions
    assert other is not session
    peer.say(message.Subscribe("q", "d", 1, 1), message.Flow("d", 0, 9), message.Flow("d", 1, 1 << 30), channel=2)
    for _ in range(9):
        other.publish("d", body=bytes(BODY), accept_mode=AcceptMode.NONE)
    peer.connection.data_to_send()
    peer.say(c.Detach(b"t"), channel=2)
    again(peer, session, RangeSet.of(0))
    again(peer, other, RangeSet.of(0), channel=2)
    attached: list[bytes] = []
    octets = b""
    while octets.count(bytes(BODY)) < 29:
        assert peer.connection.bytes_to_send < 2 * ROOM
        octets += peer.connection.data_to_send()
        attached += [event.session for event in peer.connection.events() if isinstance(event, SessionAttached)]
    assert attached == [b"t", b"s"]


def test_a_detach_in_the_middle_ends_it_and_it_begins_anew() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    assert [type(event) for event in peer.say(c.Detach(b"s"), channel=1)] == [SessionDetached]
    peer.connection.data_to_send()
    assert (peer.connection.data_to_send(), session._replaying, len(session._outbound.kept)) == (b"", None, 20)
    again(peer, session, RangeSet.of(18))
    assert peer.connection.data_to_send().count(bytes(BODY)) == 2
    assert session._speaks


def test_the_end_of_the_connection_in_the_middle_keeps_the_session() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    peer.end()
    assert (session.state, session._replaying, len(session._outbound.kept)) == ("detached", None, 20)


def test_a_close_in_the_middle_says_nothing_more() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    peer.connection.close()
    peer.connection.data_to_send()
    assert peer.connection.data_to_send() == b""
    assert session._replaying is not None or session.state == "detached"


def test_a_command_that_fits_into_no_frame_ends_the_session_when_its_turn_comes() -> None:
    peer, session = kept(2, body=1)
    session._outbound.kept[1] = (bytes(5000), None, None)
    peer = opened(frame=4096)
    (event,) = again(peer, session, RangeSet.of(0))
    assert isinstance(event, SessionDetached)
    assert event.ended
    assert "command 1 does not fit" in event.text


def test_gaps_are_cut_by_the_room_too() -> None:
    """Every second id is complete, and expected all the same."""
    peer, session = kept(8000, body=0, frame=4096)
    session._outbound.completed(RangeSet.of(*range(0, 8000, 2)), False)
    again(peer, session, RangeSet.of(0))
    sizes = []
    while octets := peer.connection.data_to_send():
        sizes.append(len(octets))
    assert max(sizes) < ROOM + 4096
    assert session._speaks


def test_commands_wait_until_all_was_sent_again() -> None:
    peer, session = kept(20)
    again(peer, session, RangeSet.of(0))
    assert peer.say(c.CommandPoint(3, 0), queue.Declare("q"), channel=1) == []
    while session._replaying is not None:
        peer.connection.data_to_send()
    assert [type(event).__name__ for event in peer.connection.events()] == ["SessionAttached", "CommandReceived"]


def test_a_command_beyond_the_octets_that_may_come_early_is_not_taken() -> None:
    peer, session = kept(20, limits=Limits(early_octets=20))
    again(peer, session, RangeSet.of(0))
    (event,) = peer.say(c.CommandPoint(3, 0), queue.Declare("q" * 40), channel=1)
    assert isinstance(event, SessionDetached)
    assert event.violation is not None
    assert event.violation.rule == "limits.early_octets"
