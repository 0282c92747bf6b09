"""One rule: who may, or may not, do what to which exchanges, queues, routing keys and virtual hosts."""

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
"""What the name of a group begins with, where a rule says whom it is about."""
USER: Final = "{user}"
"""In a pattern: the name of the user."""


class Verb(StrEnum):
    """What somebody wants to do."""

    CREATE = "create"
    DELETE = "delete"
    PURGE = "purge"
    BIND = "bind"
    UNBIND = "unbind"
    PUBLISH = "publish"
    CONSUME = "consume"
    """Take messages off a queue: a subscription that acquires them, one that keeps others out, message.acquire."""
    BROWSE = "browse"
    """Look at the messages of a queue and leave them there."""
    QUERY = "query"
    """Ask whether something exists and how it stands: the queries, exchange.bound, declare with `passive`."""
    OPEN = "open"
    """Open a virtual host with a connection."""
    MANAGE = "manage"
    """Settle, and list, the branches of distributed transactions that somebody else began."""


class Kind(StrEnum):
    """What it is done to."""

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
"""What can be done to what.  To publish to a queue is to publish to the default exchange with its name as the key."""


@attrs.frozen
class Request:
    """What a client wants to do, as rules and the function of an application judge it."""

    identity: str
    """Who the client proved to be; "" when it is anonymous."""
    verb: Verb
    kind: Kind
    """EXCHANGE, QUEUE or HOST: a key comes with its exchange."""
    name: str
    """Of an exchange that has two, the one that everybody uses: what is about it cannot be passed by under the other."""
    key: str | None = None
    """The routing or binding key, where the verb has one; None also for the alternate exchange of something that is created:
    to it go messages with any key."""
    host: str = ""
    """The virtual host in which that is."""

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
    """One rule.  EncodeError when it could never decide anything: a verb that its kind does not have, an empty name.

    In patterns `*` is any sequence of characters, `{user}` the name of the user, and all else is itself.
    """

    allow: bool
    who: str = attrs.field(default=EVERYBODY, validator=_text)
    """A name, "@" and the name of a group, "*" for everybody, "" for anonymous clients."""
    verbs: frozenset[Verb] | None = attrs.field(default=None, converter=_verbs)
    """What it is about; None: whatever can be done to its kind."""
    kind: Kind
    pattern: str = attrs.field(default="*", validator=_text)
    """Which of them."""
    exchange: str = attrs.field(default="*", validator=_text)
    """With kind KEY: at which exchanges, as a pattern."""
    host: str = attrs.field(default="*", validator=_text)
    """In which virtual hosts, as a pattern; with kind HOST `pattern` says that."""
    line: int | None = attrs.field(default=None, eq=False)
    """Where it stands in its file, from 1; None: in none."""

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
        """Whether the whole text is as the pattern says."""
        return self.everything or self._like.matches(text)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
