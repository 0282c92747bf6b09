"""The actions of clients, one function per verb of a plan.  An action without anything to act on does nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import key_of, xid
from amqp_sansio.testing.simulation.ledger import Item, MessageGroup
from amqp_sansio.testing.simulation.plan import Step
from amqp_sansio.testing.simulation.session_model import ENDLESS, Branch, Tenure
from amqp_sansio.testing.simulation.simulated_client import BRITTLE, ClientLink

Doing: TypeAlias = Callable[[ClientLink, Tenure, Step], None]

DURABLE: Final = ("red", "blue")
QUEUES: Final = (*DURABLE, "grey", BRITTLE)
"""Two durable queues, a transient one, and one that is deleted and declared again."""
_TARGETS: Final = (*DURABLE, *DURABLE, *DURABLE, "grey", BRITTLE)
_PRIORITIES: Final = (4, 4, 4, 0, 9)
_SIZES: Final = (0, 0, 0, 100, 3000, 70_000)
FORMAT_ID: Final = 1


def _some(numbers: list[int], step: Step) -> list[int]:
    """Returns one to five neighbours among these; none among none."""
    start = step.a % max(1, len(numbers))
    return numbers[start : start + 1 + step.b % 5]


def _held(tenure: Tenure) -> list[int]:
    """Returns the ids of messages that the session holds and is not accepting."""
    return [id for id, item in tenure.held.items() if item.holder is tenure and item.accept is None]


def _unasked(tenure: Tenure) -> list[int]:
    """Returns the ids of messages that were delivered not acquired, and that the session has not asked for."""
    asked = {id for ids in tenure.acquiring.values() for id in ids}
    return [id for id in tenure.shown if id not in asked]


def publish(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Publishes one to four messages to one queue."""
    name = _TARGETS[step.a % len(_TARGETS)] if tenure.branch is None else DURABLE[step.a % len(DURABLE)]
    priority = _PRIORITIES[step.b % len(_PRIORITIES)]
    lasts = name in DURABLE and step.c % 8 != 0
    size = _SIZES[step.c // 8 % len(_SIZES)]
    said: list[str] = []
    for _ in range(1 + step.c // 64 % 4):
        group = tenure.work
        brittle = name == BRITTLE or (name not in DURABLE and line.site.crashes > 0)
        item = line.world.ledger.publish(line.site.name, name, priority, tenure.name, lasts, group, brittle, size)
        id = tenure.session.publish(
            "", body=item.body, routing_key=name, priority=priority,
            delivery_mode=DeliveryMode.PERSISTENT if lasts else DeliveryMode.NON_PERSISTENT
        )  # fmt: skip
        tenure.publishing[id] = item
        said.append(item.words)
        line.world.count["published"] += 1
    where = f" in {tenure.work.name}" if tenure.work is not None else ""
    kind = "persistent" if lasts else "transient"
    line.tell(f"{line.name} publishes {', '.join(said)} to {name} of {line.site.name} ({kind}, priority {priority}){where}")


def subscribe(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Subscribes to a queue, with window or credit flow, to consume or to browse."""
    name = _TARGETS[step.a % len(_TARGETS)]
    looks = line.persona.kind == "looker" and step.c % 3 != 0
    destination = f"see {name}" if looks else name
    session = tenure.session
    if destination in session.subscriptions or destination in tenure.queues:
        return
    mode = step.b % 4 == 1 and not tenure.transactional and name == "grey"
    tenure.brittle = tenure.brittle or name == BRITTLE
    tenure.fleeting = tenure.fleeting or name not in DURABLE
    if name not in DURABLE:
        session.send(queue.Declare(name))  # it may have been lost in a crash
    if mode and not looks:
        line.world.ledger.leak(line.site.name, name)
    window = step.b % 2 == 0
    tenure.subscribe(name, destination, window, looks, not mode)
    how = f"{'browse' if looks else 'take'}, {'window' if window else 'credit'} mode{', no accept' if mode else ''}"
    line.tell(f"{line.name} subscribes to {name} of {line.site.name} ({how})")
    _grant(line, tenure, destination, step)


def _grant(line: ClientLink, tenure: Tenure, destination: str, step: Step) -> None:
    messages = 1 + step.c % 5
    octets = 2000 * messages if step.c // 5 % 5 == 0 else ENDLESS
    tenure.grant(destination, messages, octets)
    line.tell(
        f"{line.name} grants {messages} messages{'' if octets == ENDLESS else f' and {octets} octets'} to {destination!r}"
    )


def grant(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Grants a subscription more credit."""
    name = _subscription(tenure, step)
    if name is not None:
        _grant(line, tenure, name, step)


def accept(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Accepts some of the held messages."""
    ids = _some(_held(tenure), step)
    if not ids:
        return
    tenure.settle(*ids)
    said = tenure.session.accept(ids)
    items = [tenure.held[id] for id in ids]
    group = tenure.work
    take(tenure, said, items, group)
    if not tenure.transactional:  # after a rollback of a local transaction it stays with the session
        for id in ids:
            del tenure.held[id]
    where = f" in {group.name}" if group is not None else ""
    line.tell(f"{line.name} accepts {', '.join([item.words for item in items])}{where}")


def take(tenure: Tenure, said: int, items: list[Item], group: MessageGroup | None) -> None:
    """Records that command `said` accepts these messages."""
    if group is None:
        tenure.accepting[said] = items
    for item in items:
        if group is None:
            item.gone = "maybe"
        else:
            item.accept, group.owner = group, tenure
            group.accepts.append(item)
            if not tenure.transactional:
                item.holder = None


def release(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Releases some of the held messages, or of those that were delivered not acquired."""
    ids = _held(tenure)
    if tenure.shown and (not ids or step.c % 4 == 0):
        ids = _some(_unasked(tenure), step)
        if not ids:
            return
        tenure.settle(*ids)
        for id in ids:
            del tenure.shown[id]
        tenure.session.release(ids)
        line.tell(f"{line.name} has seen enough of transfers {ids}")
    elif ids:
        give_back(line, tenure, _some(ids, step), step.c % 2 == 0)


def give_back(line: ClientLink, tenure: Tenure, ids: list[int], mark: bool) -> None:
    """Releases held messages."""
    tenure.settle(*ids)
    tenure.session.release(ids, mark)
    items = [tenure.held.pop(id) for id in ids]
    for item in items:
        line.world.ledger.released(item, mark)
    line.tell(f"{line.name} releases {', '.join([item.words for item in items])}{' and marks them' if mark else ''}")


def reject(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Rejects messages for good: the queues have no alternate exchange."""
    ids = _some(_held(tenure), step)
    if not ids:
        return
    tenure.settle(*ids)
    items = [tenure.held.pop(id) for id in ids]
    take(tenure, tenure.session.reject(ids), items, None)
    line.tell(f"{line.name} rejects {', '.join([item.words for item in items])}")


def _subscription(tenure: Tenure, step: Step) -> str | None:
    names = [name for name, subscription in tenure.session.subscriptions.items() if not subscription.cancelled]
    return names[step.a % len(names)] if names else None


def _ends_credit(end: Callable[[Subscription], int], told: str) -> Doing:
    """Returns what withdraws all credit of a subscription: stop, or flush, which first requests the messages available now."""

    def doing(line: ClientLink, tenure: Tenure, step: Step) -> None:
        name = _subscription(tenure, step)
        if name is not None:
            tenure.allowances[name].end(end(tenure.session.subscriptions[name]))
            line.tell(f"{line.name} {told} {name!r}")

    return doing


def cancel(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Cancels a subscription; messages already received can still be settled."""
    name = _subscription(tenure, step)
    if name is not None:
        tenure.session.subscriptions[name].cancel()
        line.tell(f"{line.name} cancels {name!r}")


def acquire(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Asks to acquire some of the messages delivered not acquired."""
    ids = _some(_unasked(tenure), step)
    if ids:
        tenure.acquiring[tenure.session.acquire(ids)] = ids
        line.tell(f"{line.name} asks for {', '.join([tenure.shown[id].words for id in ids])}")


def sync(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Sends a barrier."""
    tenure.syncs[tenure.session.sync()] = None
    line.tell(f"{line.name} says sync")


def decide(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Commits or rolls back the local transaction."""
    group = tenure.group
    if not tenure.transactional or group is None:
        return
    mine = [id for id, item in tenure.held.items() if item.accept is group]
    number = len([each for each in line.world.ledger.groups if each.name.endswith(f" of {tenure.name}")]) + 1
    tenure.group = line.world.ledger.group(f"transaction {number} of {tenure.name}")
    if step.a % 5 < 3:
        group.outcome = "asked"
        for id in mine:
            del tenure.held[id]
        tenure.deciding[tenure.session.tx.commit()] = group
        line.tell(f"{line.name} commits {group.name}")
    else:
        tenure.session.tx.rollback()
        group.rolled_back(tenure)
        line.tell(f"{line.name} rolls {group.name} back")
        if mine and step.b % 2 == 0:
            give_back(line, tenure, mine, False)


def branch(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Takes one step of a distributed transaction with one branch, without waiting for the previous answer."""
    if not tenure.branching:
        return
    known = tenure.branch
    if known is None:
        begin(line, tenure, xid(FORMAT_ID, b"%d" % (len(line.world.ledger.groups) + 1)))
    elif known.stage == "active":
        tenure.asked[tenure.session.dtx.end(known.xid)] = "end", known
        known.stage = "ended"
        line.tell(f"{line.name} ends its work on {known.group.name}")
    elif known.stage == "ended" and (known.group.publishes or known.group.accepts) and step.a % 5 < 3:
        tenure.asked[tenure.session.dtx.prepare(known.xid)] = "prepare", known
        known.stage = "prepared"
        line.tell(f"{line.name} prepares {known.group.name}")
    elif step.a % 5 < 3:
        tenure.asked[tenure.session.dtx.commit(known.xid, one_phase=known.stage == "ended")] = "commit", known
        known.stage, known.group.outcome = "committing", "asked"
        tenure.branch = None
        line.tell(f"{line.name} commits {known.group.name}")
    else:
        id = tenure.session.dtx.rollback(known.xid)
        if known.stage == "prepared":
            tenure.asked[id] = "rollback", known
        known.group.rolled_back()
        tenure.branch = None
        line.tell(f"{line.name} rolls {known.group.name} back")


def begin(line: ClientLink, tenure: Tenure, name: Xid, group: MessageGroup | None = None) -> Branch:
    """Starts a branch, of a new transaction unless `group` is given."""
    if group is None:
        group = line.world.ledger.group(f"transaction {len(line.world.ledger.groups) + 1}")
        group.due = line.due()
        line.world.branches[key_of(name)] = group
    made = tenure.branch = Branch(name, group)
    tenure.asked[tenure.session.dtx.start(name)] = "start", made
    line.world.count["branches"] += 1
    line.tell(f"{line.name} starts {group.name} at {line.site.name}")
    return made


def detach(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Detaches the session; the client resumes it later."""
    line.harm()
    tenure.session.detach()
    line.tell(f"{line.name} detaches its session")


def delete(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Deletes the queue that comes and goes."""
    session = tenure.session
    session.send(queue.Declare(BRITTLE))  # so that it exists
    session.send(queue.Delete(BRITTLE))
    tenure.brittle = True  # when the command is replayed after a loss, another client may have deleted the queue
    line.tell(f"{line.name} deletes {BRITTLE} of {line.site.name}")


def declare(line: ClientLink, tenure: Tenure, step: Step) -> None:
    """Declares the queue that comes and goes."""
    tenure.session.send(queue.Declare(BRITTLE))
    line.tell(f"{line.name} declares {BRITTLE} of {line.site.name}")


DOINGS: Final[dict[str, Doing]] = {
    "publish": publish, "subscribe": subscribe, "grant": grant, "accept": accept, "release": release, "reject": reject,
    "stop": _ends_credit(Subscription.stop, "stops"), "flush": _ends_credit(Subscription.flush, "flushes"),
    "cancel": cancel, "acquire": acquire, "sync": sync, "decide": decide, "branch": branch, "detach": detach,
    "delete": delete, "declare": declare,
}  # fmt: skip
"""The actions that need a session ready for commands, by verb."""

ABLE: Final[dict[str, Callable[[Tenure], object]]] = {
    "accept": _held,
    "release": lambda tenure: tenure.shown or _held(tenure),
    "reject": _held,
    "grant": lambda tenure: tenure.allowances,
    "acquire": lambda tenure: tenure.shown,
    "decide": lambda tenure: tenure.group is not None and (tenure.group.publishes or tenure.group.accepts),
    "branch": lambda tenure: tenure.branching,
}
"""Predicates by verb that tell which sessions have something to act on."""
