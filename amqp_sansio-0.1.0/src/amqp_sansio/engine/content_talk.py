"""What a session does with commands of classes file and stream, its own and the other side's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from amqp_sansio.engine.contents import Contents, is_global
from amqp_sansio.engine.objection import Objection
from amqp_sansio.errors import LimitError, LocalProtocolError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.base import Command

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


def say_content(session: Session, command: Command, header: bool, octets: int) -> Callable[[int], None]:
    """Whether a command with such a header and so many octets of body is legal now, and its effect; changes nothing.

    LocalProtocolError, LimitError.
    """
    contents = _contents(session)
    wrong = contents.check(session.role, command, header, octets)
    if wrong is not None:
        name = wrong.rule.removeprefix("limits.")
        if name != wrong.rule:
            most: int = getattr(session.limits, name)
            raise LimitError(name, most, most + 1)
        raise LocalProtocolError(wrong.said, wrong.text, wrong.legal, wrong.rule)

    def effect(id: int) -> None:
        _step(session, contents, session.role, command, id)

    return effect


def hear_content(session: Session, id: int, command: Command, header: bytes, body: bytes) -> Objection | None:
    """The other side says a command: what is wrong with it, else it is remembered."""
    contents = _contents(session)
    wrong = contents.check(session.peer, command, bool(header), len(body))
    if wrong is not None and (wrong.sure or session.profile.strict):
        return wrong
    _step(session, contents, session.peer, command, id)
    return None


def content_completed(session: Session, ids: RangeSet) -> None:
    """The other side has completed these commands of ours."""
    if session._contents is not None:
        session._contents.completed(session.peer, ids)


def _contents(session: Session) -> Contents:
    return session._contents or Contents(session.limits, session.role)


def _step(session: Session, contents: Contents, speaker: str, command: Command, id: int) -> None:
    session._contents = contents
    contents.step(speaker, command, id)
    if is_global(command) and session._channel is not None:
        for other in session._channel.channels.sessions:
            if other is not session and other._contents is not None:
                other._contents.close_window()
