"""Where the fronts of a broker ask whether a client may do what it wants, before anything has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.broker.access.rule import Kind, Request, Verb
from amqp_sansio.broker.access.rules import Rules
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.errors import EncodeError

Access: TypeAlias = Rules | Callable[[Request], bool]
"""Rules, or a function of the application that judges each request.  What the function raises comes out of the broker's
`next_event`; the command is not done then."""


class Guard:
    """Judges by rules or by a function."""

    __slots__ = ("_judge",)

    def __init__(self, access: Access) -> None:
        if not callable(access) and not isinstance(access, Rules):
            raise EncodeError("access", f"takes Rules or a function, not {type(access).__name__}")
        self._judge: Final[Callable[[Request], bool]] = _by(access) if isinstance(access, Rules) else access

    def may(self, request: Request) -> bool:
        """Whether it is allowed."""
        return self._judge(request)

    def demand(self, request: Request) -> None:
        """Refused unless it is allowed.  The text names who, the verb and what it is about, and nothing that exists."""
        if not self._judge(request):
            raise Refused(ACCESS_DENIED, why=str(request))

    def manages(self, identity: str, host: str) -> bool:
        """Whether an identity may settle branches that somebody else began."""
        return self._judge(Request(identity, Verb.MANAGE, Kind.HOST, host, None, host))


def _by(rules: Rules) -> Callable[[Request], bool]:
    def judge(request: Request) -> bool:
        return rules.decide(request).allow

    return judge
