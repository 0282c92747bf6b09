"""A session as a plain value, and back again.

The value holds builtins (dict, tuple, str, bytes, int, bool, None) and commands of spec, and can be stored, pickled and
compared.  What belongs to one attachment (the channel, its command-points) is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqp_sansio.config import Profile
from amqp_sansio.engine.contents import Contents
from amqp_sansio.engine.demarcation import COMMANDS
from amqp_sansio.engine.inbound import Owed
from amqp_sansio.engine.standing import check_seconds
from amqp_sansio.engine.subscription import Subscriber, Subscription
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.ledger.credit import Credit, CreditBook
from amqp_sansio.ledger.demarcation import Demarcation
from amqp_sansio.ledger.ids import OwnIds
from amqp_sansio.ledger.transfers import Delivery
from amqp_sansio.limits import Limits
from amqp_sansio.tables.endpoint import OVER, TRANSPORT

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session

_Session = TypeVar("_Session", bound="Session")

VERSION: Final = 3
"""Of the shape of a snapshot."""

_FIELDS: Final = ("timeout", "timeout_known", "max_timeout", "wanted", "attachments", "established")
"""Attributes of a session that are plain values."""
_SENT: Final = {"outstanding": "outstanding", "confirmed": "confirmed", "known": "known"}
_HEARD: Final = {
    "holes": "holes", "gapped": "gapped", "incomplete": "outstanding", "skipped": "skipped", "completed": "known",
    "confirmed": "confirmed",
}  # fmt: skip
"""Sets of ids of the half that is sent and of the one that is received, by their names in a snapshot."""


def take(session: Session) -> dict[str, object]:
    """The session as a plain value."""
    # Subscriptions that were cancelled and replaced live on in deliveries and commands under way: number all of them.
    subscriptions: dict[int, tuple[int, Subscription]] = {}
    subscribers: dict[int, tuple[int, Subscriber]] = {}

    def ours(subscription: Subscription | None) -> int | None:
        if subscription is None:
            return None
        return subscriptions.setdefault(id(subscription), (len(subscriptions), subscription))[0]

    def theirs(subscriber: Subscriber) -> int:
        return subscribers.setdefault(id(subscriber), (len(subscribers), subscriber))[0]

    outbound, inbound = session._outbound, session._inbound
    state: dict[str, object] = {
        "version": VERSION,
        "name": session.name,
        "role": session.role,
        **{name: getattr(session, f"_{name}") for name in _FIELDS},
        "ended": session.state == "ended",
        "cause": session._cause,
        "outbound": {
            "next_id": outbound.next_id,
            "sent": outbound.begun,
            **_sets(outbound, _SENT),
            "retain": outbound.retain,
            "kept": tuple(outbound.kept.items()),
        },
        "inbound": {
            "cursor": inbound.cursor,
            "received": inbound.next_id if inbound.begun else None,
            **_sets(inbound, _HEARD),
            "syncs": tuple([
                id for low, high in zip(inbound.syncs.lows, inbound.syncs.highs, strict=True) for id in range(low, high + 1)
            ]),
        },
        "asked": tuple([each for each in session._outbound.asked.items() if each[1].RESULT]),
        "owed": tuple([(id, tuple(owed)) for id, owed in session._inbound.owed.items()]),
        "stray": session._outbound.stray,
        "demarcation": session._demarcation.snapshot(),
        "unanswered": {
            "commands": tuple([each for each in session._outbound.asked.items() if isinstance(each[1], COMMANDS)]),
            "boundary": session._outbound.boundary,
            "refused": session._outbound.refused,
        },
        "current": {name: ours(subscription) for name, subscription in session._subscriptions.current.items()},
        **{
            name: tuple([(id, *d._replace(subscription=ours(d.subscription))) for id, d in kept.items()])  # type: ignore[arg-type]
            for name, kept in _deliveries(session).items()
        },
        "withdrawn": tuple(session._subscriptions.completed),
        "withdrawals": tuple([(id, ours(subscription)) for id, subscription in session._subscriptions.withdrawals.items()]),
        "current_subscribers": {name: theirs(subscriber) for name, subscriber in session._subscribers.current.items()},
        "subscriber_flushes": tuple([(id, theirs(whose)) for id, whose in session._subscribers.flushes.items()]),
        "windows": tuple([
            (id, theirs(whose), octets)
            for id, (whose, octets, switches) in session._subscribers.windows.items()
            if switches == whose._book.switches
        ]),
        "producer": None if outbound.producer is None else (outbound.producer.limit, outbound.producer.used),
        "throttle": None if inbound.throttle is None else (inbound.throttle.limit, inbound.throttle.used),
        "contents": None if session._contents is None else session._contents.snapshot(),
    }  # fmt: skip
    state["subscriptions"] = tuple([
        (s.queue, s.destination, s.accept_mode, s.acquire_mode, s._cancel_id, s._book.snapshot())
        for _, s in subscriptions.values()
    ])  # fmt: skip
    state["subscribers"] = tuple([
        (s.queue, s.destination, s.accept_mode, s.acquire_mode, s._book.granted()) for _, s in subscribers.values()
    ])  # fmt: skip
    return state


def _deliveries(session: Session) -> dict[str, dict[int, Delivery[Subscription]]]:
    """Both tables of deliveries, by their names in a snapshot."""
    return {"deliveries": session._transfers.deliveries, "provisional": session._transfers.provisional}


def restore(made: type[_Session], snapshot: Mapping[str, object], profile: Profile, limits: Limits) -> _Session:
    """A detached session in the state of a snapshot.  DecodeError for what `take` has not made."""
    try:
        return _restore(made, snapshot, profile, limits)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as why:
        raise DecodeError("snapshot", 0, f"not a snapshot of a session: {type(why).__name__} {why}") from None


def _sets(half: OwnIds, names: Mapping[str, str]) -> dict[str, object]:
    return {name: getattr(half, attribute).freeze().ranges for name, attribute in names.items()}


def _set_up(half: OwnIds, names: Mapping[str, str], given: Mapping[str, Any]) -> None:
    for name, attribute in names.items():
        setattr(half, attribute, MutableRangeSet(RangeSet(given[name])))


def _typed(value: object, *kinds: type) -> None:
    if type(value) not in kinds:
        raise TypeError(f"{type(value).__name__} where {' or '.join([kind.__name__ for kind in kinds])} belongs")


def _check(snapshot: Mapping[str, Any]) -> None:
    """The plain parts: what is wrong with the others shows when they are put together."""
    if snapshot.get("version") != VERSION:
        raise ValueError(f"version {snapshot.get('version')!r}: this library reads version {VERSION}")
    if snapshot["role"] not in ("client", "server"):
        raise ValueError(f"role {snapshot['role']!r}")
    _typed(snapshot["name"], bytes)
    for name in ("timeout_known", "ended", "established"):
        _typed(snapshot[name], bool)
    for name in ("attachments", "stray"):
        _typed(snapshot[name], int)
    _typed(snapshot["cause"], str)
    _typed(snapshot["unanswered"]["boundary"], int)
    _typed(snapshot["unanswered"]["refused"], tuple, type(None))
    check_seconds(snapshot["wanted"])
    outbound, inbound = snapshot["outbound"], snapshot["inbound"]
    RangeSet.of(outbound["next_id"], inbound["cursor"], 0 if inbound["received"] is None else inbound["received"])
    RangeSet.of(*inbound["syncs"])
    for name in ("sent", "retain"):
        _typed(outbound[name], bool)


def _restore(made: type[_Session], snapshot: Mapping[str, Any], profile: Profile, limits: Limits) -> _Session:
    _check(snapshot)
    session = made(
        snapshot["name"],
        snapshot["role"],
        timeout=snapshot["timeout"],
        max_timeout=snapshot["max_timeout"],
        profile=profile,
        limits=limits,
    )
    for name in _FIELDS:
        setattr(session, f"_{name}", snapshot[name])
    if snapshot["ended"]:
        session._step(TRANSPORT, OVER)
    session._cause = snapshot["cause"] if snapshot["ended"] else "restored, and not attached yet"

    half = snapshot["outbound"]
    outbound = session._outbound
    outbound.next_id, outbound.begun, outbound.retain = half["next_id"], half["sent"], half["retain"]
    _set_up(outbound, _SENT, half)
    outbound.kept.add_all(dict(half["kept"]))
    outbound.bare.update(outbound.outstanding.freeze() - outbound.confirmed.freeze() - outbound.kept.ids.freeze())
    outbound.bare_from = outbound.next_id
    outbound.kept_octets = sum([
        len(payload) + len(header or b"") + len(body or b"") for payload, header, body in outbound.kept.values()
    ])  # fmt: skip

    half = snapshot["inbound"]
    inbound = session._inbound
    inbound.cursor, inbound.next_id, inbound.begun = half["cursor"], half["received"] or 0, half["received"] is not None
    inbound.syncs, inbound.sync_count = MutableRangeSet(RangeSet.of(*half["syncs"])), len(half["syncs"])
    _set_up(inbound, _HEARD, half)

    subscriptions: list[Subscription] = []
    for queue, destination, accept_mode, acquire_mode, cancel_id, book in snapshot["subscriptions"]:
        subscription = Subscription(session, queue, destination, accept_mode, acquire_mode, CreditBook.restore(*book))
        _typed(cancel_id, int, type(None))
        subscription._cancel_id = cancel_id
        subscriptions.append(subscription)
        if subscription._book.owes_report:
            session._subscriptions.unreported[subscription._book] = None
    subscribers: list[Subscriber] = [
        Subscriber(queue, destination, accept_mode, acquire_mode, CreditBook.restore(flow))
        for queue, destination, accept_mode, acquire_mode, flow in snapshot["subscribers"]
    ]

    half = snapshot["unanswered"]
    session._outbound.asked.add_all(dict(half["commands"]) | dict(snapshot["asked"]))
    session._outbound.boundary, session._outbound.refused = half["boundary"], half["refused"]
    session._inbound.owed.update({id: Owed(*owed) for id, owed in snapshot["owed"]})
    session._outbound.stray = snapshot["stray"]
    session._demarcation = Demarcation.restore(snapshot["demarcation"])
    session._subscriptions.current.update({name: subscriptions[at] for name, at in snapshot["current"].items()})
    for name, kept in _deliveries(session).items():
        for id, *fields in snapshot[name]:
            delivery: Delivery[Any] = Delivery(*fields)
            at = delivery.subscription
            kept[id] = delivery._replace(subscription=None if at is None else subscriptions[at])
    session._subscriptions.completed.extend([id for id in snapshot["withdrawn"] if type(id) is int])
    session._subscriptions.withdrawals.update({id: subscriptions[at] for id, at in snapshot["withdrawals"]})
    session._subscribers.current.update({name: subscribers[at] for name, at in snapshot["current_subscribers"].items()})
    session._subscribers.flushes.update({id: subscribers[at] for id, at in snapshot["subscriber_flushes"]})
    session._subscribers.windows.update({id: (subscribers[at], octets, 0) for id, at, octets in snapshot["windows"]})
    outbound.producer = None if snapshot["producer"] is None else Credit(*snapshot["producer"])
    inbound.throttle = None if snapshot["throttle"] is None else Credit(*snapshot["throttle"])
    if snapshot["contents"] is not None:
        session._contents = Contents(limits, session.role)
        session._contents.restore(snapshot["contents"])
    return session
