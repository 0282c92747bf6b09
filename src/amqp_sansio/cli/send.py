"""`amqp-sansio send`: sends messages to a broker."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence

import attrs

from amqp_sansio.adapters.sync import Pending, Session
from amqp_sansio.cli.dialing import NothingDone, dial, opened, split_url, there, told
from amqp_sansio.cli.output import json_line
from amqp_sansio.conversation.properties import CommonProperties
from amqp_sansio.spec.values import Value


@attrs.frozen(kw_only=True)
class Sending:
    """The arguments."""

    words: Sequence[str] = ()
    behind: Sequence[str] = ()
    """Words after `--`: none of them is a URL."""
    exchange: str = ""
    key: str | None = None
    queue: str | None = None
    create: bool = False
    lines: bool = False
    persistent: bool = True
    priority: int | None = None
    ttl: int | None = None
    content_type: str | None = None
    headers: Sequence[tuple[str, str]] = ()
    authorities: str | None = None
    as_json: bool = False


def send(wishes: Sending) -> int:
    """Sends the bodies.  Returns 0 when the broker has certainly taken all of them, 1 when not, 2 without a connection."""
    return told(lambda: _send(wishes))


def _send(wishes: Sending) -> int:
    url, bodies = split_url(wishes.words, wishes.behind)
    key = wishes.key if wishes.queue is None else wishes.queue
    headers: dict[str, Value] | None = dict(wishes.headers) or None
    said: CommonProperties = {
        "mandatory": True, "persistent": wishes.persistent, "priority": wishes.priority, "ttl": wishes.ttl,
        "content_type": wishes.content_type, "headers": headers,
    }  # fmt: skip
    sent = 0
    with dial(url, wishes.authorities) as connection, opened(connection) as session:
        if wishes.queue is not None:
            there(session, wishes.queue, wishes.create)
        waiting: deque[Pending[None]] = deque()
        try:
            for body in _bodies(bodies, wishes.lines):
                if isinstance(session, Session):
                    waiting.append(session.send(wishes.exchange, key, body, **said))
                else:
                    waiting.append(session.send(wishes.exchange, key or "", body, **said))
                while waiting and waiting[0].done:
                    waiting.popleft().result()
                    sent += 1
            while waiting:
                waiting.popleft().result()
                sent += 1
        finally:
            if wishes.as_json:
                print(json_line({"sent": sent}))
    return 0


def _bodies(arguments: Sequence[str], lines: bool) -> Iterator[bytes]:
    """Yields one body per argument; without any, from stdin: each line, or all of it."""
    if arguments:
        yield from [os.fsencode(each) for each in arguments]
    elif sys.stdin is None:
        raise NothingDone("there is nothing to send: no argument and no stdin")
    elif lines:
        for line in sys.stdin.buffer:
            yield line[:-1] if line.endswith(b"\n") else line
    else:
        yield sys.stdin.buffer.read()
