"""How `amqp-sansio send` and `receive` come to a broker, and what they say when something is wrong."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Callable, Sequence
from typing import Final

from amqp_sansio.adapters.sync import Connection, Session, connect
from amqp_sansio.cli.output import complain
from amqp_sansio.conversation.errors import ConnectFailed, MessageReturned
from amqp_sansio.errors import AmqpError

URL: Final = "amqp://127.0.0.1"
VARIABLE: Final = "AMQP_URL"
"""The environment variable whose URL counts where none is given: its password is on no command line."""
_SCHEME: Final = re.compile("[a-z][a-z0-9+.-]*://", re.IGNORECASE)


class NothingDone(AmqpError):
    """What was wanted was not done, in one sentence."""


def split_url(words: Sequence[str], behind: Sequence[str] = ()) -> tuple[str, list[str]]:
    """The URL, if the first word is one, else the default; and the other words, with those behind `--`, which are none.

    One with another scheme counts, too, and is refused later: a slip of the pen in it must not make a message of a password.
    """
    if words and _SCHEME.match(words[0]):
        return words[0], [*words[1:], *behind]
    return os.environ.get(VARIABLE) or URL, [*words, *behind]


def dial(url: str, authorities: str | None) -> Connection:
    """A connection, not open yet.  `authorities` is a file of certificates to trust.  AddressError, ConnectFailed."""
    tls = None
    if authorities is not None:
        try:
            tls = ssl.create_default_context(cafile=authorities)
        except OSError as error:
            reason = getattr(error, "reason", None) or error.strerror
            raise ConnectFailed(authorities, f"no certificates can be read from it: {reason}") from None
    return connect(url, tls=tls)


def there(session: Session, queue: str, create: bool) -> None:
    """Sees to it that there is such a queue: made durable with `create`.  NothingDone when there is none."""
    if create:
        session.declare_queue(queue, durable=True)
        return
    if not session.query_queue(queue).queue:
        raise NothingDone(f"there is no queue {queue!r} (--create makes it)")


def told(job: Callable[[], int]) -> int:
    """The exit status of a job; what it raises for becomes one sentence: 2 without a connection, 1 behind one."""
    try:
        return job()
    except ConnectFailed as error:
        complain(str(error))
        return 2
    except MessageReturned as error:
        complain(f"the other side returned the message: {error}")
        return 1
    except (AmqpError, TimeoutError) as error:
        complain(str(error))
        return 2 if isinstance(error, ValueError) else 1
    except UnicodeError:
        complain("an argument is no text that UTF-8 can carry")
        return 2
    finally:
        sys.stdout.flush()
