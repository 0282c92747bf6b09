"""Selects lines of `decode`: by connection, session, channel, verb, queue, time, or errors only."""

from __future__ import annotations

import argparse
import datetime
from collections import deque
from contextlib import suppress
from difflib import get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Final

import attrs

from amqp_sansio import spec
from amqp_sansio.cli.given import argument, flag, repeated, seconds, whole
from amqp_sansio.spec.base import Command, Control, Method

if TYPE_CHECKING:
    from amqp_sansio.captures.flows import AmqpFlow
    from amqp_sansio.captures.json_values import Json
    from amqp_sansio.captures.rows import DecodedLine

TAGS: Final = 65_536
"""The most subscriptions of a connection whose queue is remembered for `--queue`."""

_ERRORS: Final = frozenset(
    ("execution.exception", "channel.close", "basic.return", "basic.nack", "basic.reject", "message.reject", "file.return",
     "file.reject", "stream.return", "connection.blocked")
)  # fmt: skip
_ENDS: Final = {"connection.close": ("reply_code", (200, None)), "session.detached": ("code", (0, None))}
"""Verbs that end something, the field with the reason, and its values when nothing went wrong."""


@attrs.frozen(kw_only=True)
class Wanted:
    """The selection; empty or None excludes nothing.  `since` and `until` are seconds after the first line of the file, or a
    time (ns since 1970 UTC)."""

    connections: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    channels: tuple[int, ...] = ()
    verbs: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    since: float | int | None = None
    until: float | int | None = None
    errors: bool = False


class Selection:
    """Takes every row of a file, in order, and decides whether it is wanted."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted: Final = wanted
        self.first = 0
        """The time of the first unit in the file, ns since 1970 UTC."""
        self._begun = False
        self._numbers: Final[dict[str, int]] = {}
        self._sessions: Final[dict[tuple[str, int], str]] = {}
        self._queues: Final[dict[str, dict[tuple[int, str], str]]] = {}
        self._asked: Final[dict[tuple[str, int], deque[str]]] = {}  # the queues of unanswered consume and get

    def number(self, flow: AmqpFlow) -> int:
        """Returns the number of a connection in this file, from 1, in the order of their beginnings."""
        return self._numbers.setdefault(flow.name, len(self._numbers) + 1)

    def takes(self, flow: AmqpFlow, row: DecodedLine) -> bool:
        """Whether the row is wanted."""
        wanted = self._wanted
        if not self._begun:
            self._begun = True
            self.first = row["time"]
        number = self.number(flow)
        session = self._session(row) if wanted.sessions else None
        queue = self._queue(row) if wanted.queues else None
        if wanted.connections and not _is_one(number, row["connection"], wanted.connections):
            return False
        if wanted.channels and row["channel"] not in wanted.channels:
            return False
        if wanted.verbs and not _like(row["verb"] or row["kind"], wanted.verbs):
            return False
        if wanted.sessions and (session is None or not _like(session, wanted.sessions)):
            return False
        if wanted.queues and (queue is None or not _like(queue, wanted.queues)):
            return False
        if not self._is_in_time(row["time"]):
            return False
        return not wanted.errors or is_error(row)

    def _is_in_time(self, time: int) -> bool:
        for bound, sign in ((self._wanted.since, 1), (self._wanted.until, -1)):
            if bound is None:
                continue
            moment = self.first + round(bound * 1e9) if isinstance(bound, float) else bound
            if (time - moment) * sign < 0:
                return False
        return True

    def _session(self, row: DecodedLine) -> str | None:
        """Returns the session attached to the row's channel, including one that it attaches or detaches."""
        if row["channel"] is None:
            return None
        where = row["connection"], row["channel"]
        name = row["fields"].get("name")
        if row["verb"] == "session.attach" and isinstance(name, str):
            self._sessions[where] = session_name(name)
        if row["verb"] == "session.detached":
            return self._sessions.pop(where, None)
        return self._sessions.get(where)

    def _queue(self, row: DecodedLine) -> str | None:
        """Returns the queue that a row names, or that its messages or subscription belong to; None if unknown."""
        channel, fields, verb = row["channel"], row["fields"], row["verb"] or ""
        if channel is None:
            return None
        said = fields.get("queue")
        queue = said if isinstance(said, str) else None
        known = self._queues.setdefault(row["connection"], {})
        if verb == "message.subscribe":
            tag = fields.get("destination")
            if queue is not None and isinstance(tag, str) and len(known) < TAGS:
                known[channel, tag] = queue
        elif verb in ("basic.consume", "basic.get"):
            self._asked.setdefault((row["connection"], channel), deque(maxlen=TAGS)).append(queue or "")
        elif verb in ("basic.consume-ok", "basic.get-ok", "basic.get-empty"):
            asked = self._asked.get((row["connection"], channel))
            queue = asked.popleft() if asked else None
            tag = fields.get("consumer_tag")
            if queue is not None and isinstance(tag, str) and len(known) < TAGS:
                known[channel, tag] = queue
        if queue is not None:
            return queue
        tag = fields.get("consumer_tag", fields.get("destination"))
        if isinstance(tag, str) and (channel, tag) in known:
            return known[channel, tag]
        return _routed_to(verb, row)


def _routed_to(verb: str, row: DecodedLine) -> str | None:
    """Returns the queue of a message to the default exchange: the routing key."""
    if verb == "basic.publish" and not row["fields"].get("exchange"):
        key = row["fields"].get("routing_key")
        return key if isinstance(key, str) else ""
    if verb == "message.transfer" and not row["fields"].get("destination"):
        for header in row["headers"]:
            if isinstance(header, dict) and isinstance(key := header.get("routing_key"), str):
                return key
    return None


def is_error(row: DecodedLine) -> bool:
    """Whether the row reports a failure: a refusal, a returned message, an end with a reason, an unreadable part.  Violations
    are for `check`."""
    verb = row["verb"] or ""
    if verb in _ENDS:
        field, well = _ENDS[verb]
        return row["fields"].get(field) not in well
    return verb in _ERRORS or not row["complete"] or row["kind"] == "opaque"


def session_name(name: str) -> str:
    """Returns the name of a session, which is octets, as text, which it usually is."""
    octets = bytes.fromhex(name)
    return octets.decode("ascii") if octets.isascii() and octets.decode("ascii").isprintable() else name


def _like(text: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _is_one(number: int, name: Json, asked: tuple[str, ...]) -> bool:
    return any(each == str(number) if each.isdecimal() else each in str(name) for each in asked)


def moment(text: str) -> float | int:
    """Parses seconds after the first line, or a date and time (ISO 8601, UTC by default) as ns since 1970."""
    with suppress(ValueError):
        float(text)
        return seconds(text)
    try:
        date = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither seconds nor a date such as 2024-05-01T12:30:00") from None
    date = date if date.tzinfo is not None else date.replace(tzinfo=datetime.UTC)
    since = date - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


def known_verb(text: str) -> str:
    """Returns a verb, or a pattern of some: a number may stand where captures have verbs without a name."""
    if not text.rpartition(".")[2].isdecimal():
        for each in walk_packages(spec.__path__, f"{spec.__name__}."):
            import_module(each.name)
        verbs = {each.VERB for base in (Control, Command, Method) for each in base.__subclasses__()} | {"header", "opaque"}
        if not any(fnmatchcase(each, text) for each in verbs):
            near = get_close_matches(text, verbs, 1)
            raise argparse.ArgumentTypeError(f"no verb is {text!r}{f' (did you mean {near[0]}?)' if near else ''}")
    return text


def add_arguments(verb: argparse.ArgumentParser) -> None:
    """Adds the options that exclude lines."""
    group = verb.add_argument_group("which lines", "A line has to fit all of these options; of one that is repeated, one.")

    repeated(group, "--connection", "N|TEXT", "the number in brackets, or a part of CLIENT>SERVER#N")
    repeated(group, "--session", "NAME", "units on channels to which a session of this name is attached (* and ? are wild)")
    repeated(group, "--channel", "N", "the number of a channel", type=whole(0, 65535, "is not a channel: 0 to 65535"))
    text = "a verb such as message.transfer, or message.* for all of a class; also header and opaque"
    repeated(group, "--verb", "NAME", text, type=known_verb)
    repeated(
        group,
        "--queue",
        "NAME",
        "what names the queue, goes to it by the default exchange, or comes from it (* and ? are wild); accept and release "
        "give numbers only, so they are left out",
    )
    argument(group, "--since", "TIME", "from then on: seconds after the first line, or 2024-05-01T12:30:00 (UTC)", type=moment)
    argument(group, "--until", "TIME", "up to then", type=moment)
    flag(
        group,
        "--errors",
        "refusals, returned and rejected messages, ends with a reason, what is incomplete or cannot be read; "
        "`check` reports broken rules",
    )
