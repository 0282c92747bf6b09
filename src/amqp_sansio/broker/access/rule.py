"""One access rule: which users may, or may not, do what with which exchanges, queues, routing keys and virtual hosts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import attrs

from amqp_sansio.broker.routing.exchange import ALIASES
from amqp_sansio.broker.selectors.like import Pattern
from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import PATTERN_OCTETS

EVERYBODY: Final = "*"
GROUP: Final = "@"
"""The prefix of a group's name in a rule."""
USER: Final = "{user}"
"""In a pattern: the name of the user."""


class Verb(StrEnum):
    """The action of a request."""

    CREATE = "create"
    DELETE = "delete"
    PURGE = "purge"
    BIND = "bind"
    UNBIND = "unbind"
    PUBLISH = "publish"
    CONSUME = "consume"
    """Remove messages from a queue: an acquiring or exclusive subscription, message.acquire."""
    BROWSE = "browse"
    """See messages of a queue without taking them."""
    QUERY = "query"
    """Query the existence and state of something: the queries, exchange.bound, declare with `passive`."""
    OPEN = "open"
    """Open a virtual host with a connection."""
    MANAGE = "manage"
    """Settle and list branches of distributed transactions that another identity began."""


class Kind(StrEnum):
    """The kind of object of a request."""

    EXCHANGE = "exchange"
    QUEUE = "queue"
    KEY = "key"
    """A routing key (publish) or binding key (bind, unbind) at some exchange."""
    HOST = "host"
    """A virtual host."""


_KEYED: Final = (Verb.BIND, Verb.UNBIND, Verb.PUBLISH)
LEGAL: Final[dict[Kind, tuple[Verb, ...]]] = {
    Kind.EXCHANGE: (Verb.CREATE, Verb.DELETE, *_KEYED, Verb.QUERY),
    Kind.QUEUE: (Verb.CREATE, Verb.DELETE, Verb.PURGE, *_KEYED, Verb.CONSUME, Verb.BROWSE, Verb.QUERY),
    Kind.KEY: _KEYED,
    Kind.HOST: (Verb.OPEN, Verb.MANAGE),
}
"""The verbs for each kind.  Publishing to a queue is publishing to the default exchange with its name as the key."""


@attrs.frozen
class Request:
    """A client's request, as rules and the application's function judge it."""

    identity: str
    """The client's authenticated identity; "" when it is anonymous."""
    verb: Verb
    kind: Kind
    """EXCHANGE, QUEUE or HOST; a key comes with its exchange."""
    name: str
    """The name of the object; an alias of an exchange counts as its common name, so that rules about it cannot be bypassed."""
    key: str | None = None
    """The routing or binding key, where the verb has one.

    None also for the alternate exchange of a new object, which gets messages with any key.
    """
    host: str = ""
    """The virtual host of the object."""

    def __attrs_post_init__(self) -> None:
        if self.kind is Kind.EXCHANGE and self.name in ALIASES:
            object.__setattr__(self, "name", ALIASES[self.name])

    def __str__(self) -> str:
        who = repr(self.identity) if self.identity else "anonymous"
        key = "" if self.key is None or self.kind is not Kind.EXCHANGE else f" with key {self.key!r}"
        return f"{who} may not {self.verb} {self.kind} {self.name!r}{key}"


def _text(instance: object, attribute: attrs.Attribute[str], value: object) -> None:
    if type(value) is not str or len(value.encode("utf-8", "surrogatepass")) > PATTERN_OCTETS:
        raise EncodeError(f"Rule.{attribute.name}", f"text of at most {PATTERN_OCTETS} octets (PATTERN_OCTETS), not {value!r}")


def _verbs(given: Iterable[Verb] | None) -> frozenset[Verb] | None:
    return None if given is None else frozenset(given)


@attrs.frozen(kw_only=True)
class Rule:
    """One rule.  Raises EncodeError for one that could never apply: a verb that its kind does not have, an empty name.

    In patterns `*` matches any sequence of characters and `{user}` the user's name; all else matches itself.
    """

    allow: bool
    who: str = attrs.field(default=EVERYBODY, validator=_text)
    """A name, "@" and the name of a group, "*" for everybody, "" for anonymous clients."""
    verbs: frozenset[Verb] | None = attrs.field(default=None, converter=_verbs)
    """The verbs that it covers; None: all of its kind."""
    kind: Kind
    pattern: str = attrs.field(default="*", validator=_text)
    """The pattern of names."""
    exchange: str = attrs.field(default="*", validator=_text)
    """With kind KEY: a pattern of exchanges."""
    host: str = attrs.field(default="*", validator=_text)
    """A pattern of virtual hosts; with kind HOST, `pattern` is used instead."""
    line: int | None = attrs.field(default=None, eq=False)
    """Its line in its file, from 1; None: it is not from a file."""

    def __attrs_post_init__(self) -> None:
        if type(self.allow) is not bool:
            raise EncodeError("Rule.allow", f"True or False, not {self.allow!r}")
        if not isinstance(self.kind, Kind):
            raise EncodeError("Rule.kind", f"one of {', '.join(Kind)}, not {self.kind!r}")
        legal = LEGAL[self.kind]
        for verb in self.verbs or ():
            if verb not in legal:
                raise EncodeError("Rule.verbs", f"{self.kind}: one of {', '.join(legal)}, not {verb}")
        if self.verbs is not None and not self.verbs:
            raise EncodeError("Rule.verbs", "at least one, or None for all")
        if self.exchange != "*" and self.kind is not Kind.KEY:
            raise EncodeError("Rule.exchange", "belongs to a rule of kind key; of kind exchange `pattern` names them")
        if not self.pattern and self.kind in (Kind.EXCHANGE, Kind.QUEUE):
            default = "; what is published to the default exchange is judged as published to the queue: kind queue"
            more = default if self.kind is Kind.EXCHANGE else ""
            raise EncodeError("Rule.pattern", f"is empty, and every {self.kind} has a name{more}")
        if self.host != "*" and self.kind is Kind.HOST:
            raise EncodeError("Rule.host", "of kind host `pattern` names them")

    def __str__(self) -> str:
        verbs = "anything" if self.verbs is None else ", ".join([each for each in Verb if each in self.verbs])
        at = f" at exchange {self.exchange!r}" if self.exchange != "*" else ""
        within = f" in host {self.host!r}" if self.host != "*" else ""
        who = self.who or "anonymous"
        return f"{'allow' if self.allow else 'deny'} {who}: {verbs}, {self.kind} {self.pattern!r}{at}{within}"


class Glob:
    """A pattern of a rule, for one identity.  Matching costs at most the length of the text for each `*` in it."""

    __slots__ = ("_like", "everything")

    def __init__(self, pattern: str, identity: str) -> None:
        self.everything: Final = pattern == "*"
        parts = [_literal(part.replace(USER, identity)) for part in pattern.split("*")]
        self._like: Final = Pattern("%".join(parts), "\\")

    def matches(self, text: str) -> bool:
        """Whether the pattern matches the whole text."""
        return self.everything or self._like.matches(text)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
