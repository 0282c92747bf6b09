"""How `amqp-sansio send` and `receive` connect to a broker, and report failures."""

from __future__ import annotations

import os
import re
import ssl
import sys
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from amqp_sansio.adapters.settings import reason
from amqp_sansio.adapters.sync import Connection, Session, channels, connect
from amqp_sansio.cli.output import complain
from amqp_sansio.conversation.address import Address, without_password
from amqp_sansio.conversation.channels.address import ChannelAddress, is_of_channels
from amqp_sansio.dialects import CHANNEL_PROTOCOLS, DEFAULT
from amqp_sansio.errors import AddressError, AmqpError, ChannelClosed, ConnectFailed, MessageReturned
from amqp_sansio.spec.reply_codes import ReplyCode

URL: Final = "amqp://127.0.0.1"
VARIABLE: Final = "AMQP_URL"
"""The environment variable with the default URL, so that its password is on no command line."""
_SCHEME: Final = re.compile("[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BARE: Final = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+|\[[0-9a-f:.]+\]):\d{1,5}(/\S*)?", re.IGNORECASE)
"""An address without its scheme."""


class NothingDone(AmqpError):
    """The command was not carried out; the text is one sentence."""


def split_url(words: Sequence[str], behind: Sequence[str] = ()) -> tuple[str, list[str]]:
    """Returns the URL, if the first word is one, else the default; and the other words, with those after `--`, which are never
    URLs.

    A word with another scheme counts as a URL, and is rejected later: a typing error in it must not send a password as a
    message.  Raises AddressError for an address without a scheme, which would be sent as a message to another broker.
    """
    if words and _BARE.fullmatch(words[0]):
        raise AddressError(
            words[0], f"an address begins with amqp:// or amqps://: amqp://{words[0]} (after -- it is not an address)"
        )
    if words and _SCHEME.match(words[0]):
        return words[0], [*words[1:], *behind]
    return os.environ.get(VARIABLE) or URL, [*words, *behind]


def trusting(authorities: str | None) -> ssl.SSLContext | None:
    """Returns a context that trusts the certificates in a file; None without one.  Raises ConnectFailed."""
    try:
        return None if authorities is None else ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise ConnectFailed(str(authorities), f"no certificates can be read from it: {reason(error)}") from None


def dial(url: str, authorities: str | None) -> Connection | channels.Connection:
    """Opens a connection, with sessions or with channels; `authorities` is a file of certificates to trust.

    `protocol` in the URL selects which, as does an option that only brokers with channels have; otherwise the protocol header
    that the server answers with: to 0-10, brokers with channels answer with their own.  Raises AddressError or ConnectFailed.
    """
    tls = trusting(authorities)
    shown, named = _without_protocol(url)
    if named not in ("", DEFAULT.name):
        return _of_channels(url, named, tls)
    try:
        address = Address.parse(shown)
    except AddressError:
        if named or not is_of_channels(url):
            raise
        return _of_channels(url, next(iter(CHANNEL_PROTOCOLS)), tls)
    try:
        return connect(address, tls=tls)
    except ConnectFailed as failed:
        if named or failed.offered not in CHANNEL_PROTOCOLS:
            raise
        other = attrs.evolve(ChannelAddress.parse(url), dialect=CHANNEL_PROTOCOLS[failed.offered])
        connection = channels.connect(other, tls=tls)
        complain(
            f"{failed.endpoint} speaks AMQP {failed.offered}, not 0-10 (protocol={failed.offered} in the URL saves asking)"
        )
        return connection


def _of_channels(url: str, named: str, tls: ssl.SSLContext | None) -> channels.Connection:
    """Opens a connection in the version that the URL names."""
    if named not in CHANNEL_PROTOCOLS:
        known = ", ".join([DEFAULT.name, *CHANNEL_PROTOCOLS])
        raise AddressError(without_password(url), f"protocol is {known}, not {named!r}")
    try:
        return channels.connect(url, tls=tls)
    except ConnectFailed as failed:
        if not failed.offered:
            raise
        rule = f"it speaks AMQP {failed.offered}, not {named}: protocol={failed.offered} in the URL asks for that"
        if failed.offered == DEFAULT.name and is_of_channels(_without_protocol(url)[0]):
            rule += ", without options of channels (--ca F trusts certificates)"
        raise ConnectFailed(failed.endpoint, rule, failed.offered) from None


def _without_protocol(url: str) -> tuple[str, str]:
    """Returns the URL without its option `protocol`, and the value of that; "" where it is absent."""
    head, _, query = url.partition("?")
    kept = [each for each in query.split("&") if each.partition("=")[0] != "protocol"]
    said = [each.partition("=")[2] for each in query.split("&") if each.partition("=")[0] == "protocol"]
    return (f"{head}?{'&'.join(kept)}" if kept and query else head), said[-1] if said else ""


def opened(connection: Connection | channels.Connection) -> Session | channels.Channel:
    """Returns a session or a channel on it, to be used as `with`."""
    return connection.session() if isinstance(connection, Connection) else connection.channel()


def there(session: Session | channels.Channel, queue: str, create: bool) -> None:
    """Checks that the queue exists; with `create`, declares it durable.  Raises NothingDone when there is none."""
    if create:
        session.declare_queue(queue, durable=True)
        return
    if isinstance(session, Session):
        found = bool(session.query_queue(queue).queue)
    else:
        try:
            found = bool(session.declare_queue(queue, passive=True).queue)
        except ChannelClosed as closed:
            if closed.code != ReplyCode.NOT_FOUND:
                raise
            found = False
    if not found:
        raise NothingDone(f"there is no queue {queue!r} (--create makes it)")


def told(job: Callable[[], int]) -> int:
    """Returns the exit status of a job; reports its errors in one sentence: 2 without a connection, 1 after it was open."""
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
        complain("an argument has a character that UTF-8 cannot encode")
        return 2
    finally:
        sys.stdout.flush()
