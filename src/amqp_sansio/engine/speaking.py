"""What a session checks before it says a command, and what saying it changes.

Each check looks at one verb, raises when the command is illegal now, changes nothing, and returns the effect: what is
to happen once the command was written under its id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.engine import demarcation
from amqp_sansio.engine.content_talk import say_content
from amqp_sansio.engine.contents import CONTENT_VERBS
from amqp_sansio.engine.demarcation import Effect
from amqp_sansio.engine.subscription import Subscription
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.ledger.credit import INFINITE, MESSAGE, OCTET, CreditBook
from amqp_sansio.ledger.transfers import Transfers
from amqp_sansio.spec import dtx, execution, message
from amqp_sansio.spec.base import Command
from amqp_sansio.tables import transfer as rows
from amqp_sansio.tables.demarcation import COORDINATION, SUBSCRIBE_NONE, TX
from amqp_sansio.tables.session import COMMAND_SPEAKERS

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


def check_command(session: Session, command: Command, header: bool = False, octets: int = 0) -> Effect | None:
    """Whether `command` (not a transfer) is legal now, with a header and so many octets of body, and its effect."""
    verb = command.VERB
    speaker = COMMAND_SPEAKERS.get(verb)
    if speaker is not None and speaker != session.role:
        raise LocalProtocolError(verb, f"{session.role} role", (f"{speaker}:{verb}",), f"only the {speaker} says it")
    if verb in CONTENT_VERBS:
        return say_content(session, command, header, octets)
    check = _CHECKS.get(type(command))
    effect = check(session, command) if check is not None else None
    if not command.RESULT:
        return effect

    def asked(id: int) -> None:
        session._results.ask(id, command)
        if effect is not None:
            effect(id)

    return asked


def _throttles(session: Session, destination: str) -> bool:
    """Whether a flow command is about all transfers of the session rather than about one subscription."""
    return destination == "" and "" not in session._subscriptions.current


def _subscribe(session: Session, command: message.Subscribe) -> Effect | None:
    destination = command.destination or ""  # without one its name is the empty one
    held = session._subscriptions.current.get(destination)
    if held is not None and not held.cancelled:
        raise LocalProtocolError(
            f"message.subscribe {destination!r}",
            "subscribed",
            (f"message.cancel {destination!r}", "another destination"),
            "message.subscribe.destination.unique-subscriber-destination",
        )
    if held is None and len(session._subscriptions.current) >= session.limits.subscriptions:
        raise LimitError("subscriptions", session.limits.subscriptions, len(session._subscriptions.current) + 1)
    accept_mode, acquire_mode = command.accept_mode or 0, command.acquire_mode or 0
    check_modes(accept_mode, acquire_mode)
    if accept_mode:
        demarcation.check_verb(session, SUBSCRIBE_NONE)
    book = CreditBook() if held is None else CreditBook.behind(held._book)
    subscription = Subscription(session, command.queue or "", destination, accept_mode, acquire_mode, book)

    def effect(_: int) -> None:
        session._subscriptions.add(subscription)
        if session._channel is not None:
            session._channel.channels.unlearn()

    return effect


def check_modes(accept_mode: int, acquire_mode: int) -> None:
    """EncodeError for a number that is no accept-mode or acquire-mode."""
    if accept_mode not in (0, 1):
        raise EncodeError("message.accept-mode", f"0 explicit or 1 none, not {accept_mode}")
    if acquire_mode not in (0, 1):
        raise EncodeError("message.acquire-mode", f"0 pre-acquired or 1 not-acquired, not {acquire_mode}")


def _take_back(session: Session, command: message.Stop | message.Flush | message.Cancel) -> Effect:
    destination = command.destination or ""
    if isinstance(command, message.Stop) and _throttles(session, destination):
        return lambda _: session._inbound.stop_publisher()
    rule = f"{command.VERB}.destination{'.subscription-not-found' if isinstance(command, message.Cancel) else ''}"
    subscription = session._subscriptions.usable(command.VERB, destination, rule)

    return lambda id: session._subscriptions.take_back(subscription, id, command)


def _flow(session: Session, command: message.Flow) -> Effect | None:
    destination = command.destination or ""
    unit = command.unit or 0
    value = INFINITE if command.value is None else command.value
    if unit not in (MESSAGE, OCTET):
        raise EncodeError("message.flow.unit", f"0 message or 1 byte, not {unit}")
    if not 0 <= value <= INFINITE:
        raise EncodeError("message.flow.value", f"0 to {INFINITE}, not {value}")
    if _throttles(session, destination):

        def throttle(_: int) -> None:
            if unit == MESSAGE and session._inbound.throttle is not None:
                session._inbound.throttle.grant(value)

        return throttle
    subscription = session._subscriptions.usable("message.flow", destination, "message.flow.destination")
    return lambda _: subscription._book.grant(unit, value)


def _set_flow_mode(session: Session, command: message.SetFlowMode) -> Effect | None:
    destination = command.destination or ""
    mode = command.flow_mode or 0
    if _throttles(session, destination):
        return None
    subscription = session._subscriptions.usable("message.set-flow-mode", destination, "message.set-flow-mode.destination")
    subscription._check_mode(mode)

    return lambda _: subscription._book.set_mode(mode)


def _settle(session: Session, command: message.Accept | message.Reject | message.Release | message.Acquire) -> Effect | None:
    ids: RangeSet = EMPTY if command.transfers is None else command.transfers
    planned, bad = session._transfers.plan(command.VERB, ids)
    if len(planned) != len(ids) or not ids:
        raise _unsettleable(session._transfers, command.VERB, ids, bad)
    completes = session.profile.completion != "manual"

    provisional = isinstance(command, message.Accept) and session._demarcation.state == TX

    def effect(_: int) -> None:
        if provisional:
            session._transfers.accepted_provisionally(planned)
        done, given = session._transfers.apply(planned, ids, completes)
        session._subscriptions.give_back(given)
        if done:
            session._inbound.complete(done)
            session._touch()

    return effect


def _unsettleable(transfers: Transfers[Subscription], verb: str, ids: RangeSet, bad: list[int]) -> LocalProtocolError:
    able: list[int] = []
    for id, delivery in transfers.deliveries.items():
        if (delivery.state, rows.RECIPIENT, verb) in rows.TRANSFER[delivery.accept_mode].moves:
            able.append(id)
    legal = [f"{verb} {RangeSet.of(*able)}"] if able else []
    if bad:
        delivery = transfers.deliveries[bad[0]]
        words = rows.TRANSFER[delivery.accept_mode].legal([delivery.state])
        legal += [f"{word.removeprefix('recipient:')} {bad[0]}" for word in words if word.startswith("recipient:")]
        state = f"{bad[0]} is {delivery.state}"
    else:
        state = "no such unsettled transfer" if ids else "no ids"
    rule = f"{verb}.acquisition" if verb in (rows.ACCEPT, rows.REJECT) else "message"
    return LocalProtocolError(f"{verb} {ids}", state, tuple(legal), rule)


def _result(session: Session, command: execution.Result) -> Effect | None:
    id = command.command_id
    if id is None:
        raise EncodeError("execution.result.command-id", "names the command that it answers")
    session._results.check_result(id, command.value)

    def effect(_: int) -> None:
        session._results.given(id)
        if isinstance(command.value, dtx.XaResult):
            session._demarcation.answered(id, command.value.status or 0, heard=False)
        if session.completes_on_hand_out:
            session._complete_now(RangeSet.of(id))

    return effect


def check_fragments(session: Session, said: str) -> None:
    """LocalProtocolError unless the profile allows fragments and message.resume: qpidd drops the connection on them."""
    if not session.profile.fragments:
        raise LocalProtocolError(said, "profile without fragments", (f"{said} with Profile(fragments=True)",))


_CHECKS: Final[dict[type[Command], Callable[[Session, Any], Effect | None]]] = {  # Any: each row takes its own command
    message.Subscribe: _subscribe,
    **dict.fromkeys((message.Cancel, message.Flush, message.Stop), _take_back),
    message.Flow: _flow,
    message.SetFlowMode: _set_flow_mode,
    **dict.fromkeys((message.Accept, message.Reject, message.Release, message.Acquire), _settle),
    message.Resume: lambda session, command: check_fragments(session, command.VERB),
    execution.Result: _result,
    **dict.fromkeys(demarcation.COMMANDS, demarcation.check),
}

_CARRYING: Final = CONTENT_VERBS | {"message.transfer", "execution.exception"}
ALONE: Final = frozenset([each.VERB for each in _CHECKS]) - {"message.flow", *COORDINATION} | _CARRYING
"""Commands that change what is legal next, or that carry content."""
