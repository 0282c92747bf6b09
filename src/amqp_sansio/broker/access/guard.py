"""Decides for the fronts of a broker whether a client may execute a command, before anything has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.broker.access.rule import Kind, Request, Verb
from amqp_sansio.broker.access.rules import CACHED, Rules
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.errors import EncodeError

Access: TypeAlias = Rules | Callable[[Request], bool]
"""Rules, or the application's function that judges each request.

When the function raises, the broker's `next_event` raises the exception, and the command is not executed.
"""


class Guard:
    """Judges by rules or by a function."""

    __slots__ = ("_judge", "_publishes", "_remembers", "_with_keys")

    def __init__(self, access: Access) -> None:
        if not callable(access) and not isinstance(access, Rules):
            raise EncodeError("access", f"takes Rules or a function, not {type(access).__name__}")
        self._judge: Final[Callable[[Request], bool]] = _by(access) if isinstance(access, Rules) else access

        self._remembers: Final = isinstance(access, Rules)
        self._with_keys: Final = isinstance(access, Rules) and Verb.PUBLISH in access.keyed
        self._publishes: Final[set[tuple[str, str, str, str]]] = set()  # allowed publishes: one lookup for each message

    def may(self, request: Request) -> bool:
        """Returns whether the request is allowed."""
        return self._judge(request)

    def demand(self, request: Request) -> None:
        """Raises Refused unless the request is allowed.

        The text names the user, the verb and the object, but does not reveal what exists.
        """
        if not self._judge(request):
            raise Refused(ACCESS_DENIED, why=str(request))

    def demand_publish(self, identity: str, host: str, exchange: str, key: str) -> None:
        """Raises Refused unless publishing there is allowed.  At the default exchange, "", the key is the name of a queue."""
        asked = (identity, host, exchange, key if self._with_keys or not exchange else "")
        if asked in self._publishes:
            return
        if exchange:
            self.demand(Request(identity, Verb.PUBLISH, Kind.EXCHANGE, exchange, key, host))
        else:
            self.demand(Request(identity, Verb.PUBLISH, Kind.QUEUE, key, None, host))
        if self._remembers:
            if len(self._publishes) >= CACHED:
                self._publishes.clear()
            self._publishes.add(asked)

    def manages(self, identity: str, host: str) -> bool:
        """Returns whether an identity may settle branches that another one began."""
        return self._judge(Request(identity, Verb.MANAGE, Kind.HOST, host, None, host))


def _by(rules: Rules) -> Callable[[Request], bool]:
    def judge(request: Request) -> bool:
        return rules.decide(request).allow

    return judge
