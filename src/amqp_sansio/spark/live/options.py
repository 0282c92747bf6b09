"""The options of the format `amqp`, parsed from texts.  Faults raise one LiveSetupError; no password is ever shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeVar

import attrs

from amqp_sansio.captures.errors import LocationError
from amqp_sansio.captures.locations import local
from amqp_sansio.conversation.address import Address, without_password
from amqp_sansio.errors import AddressError
from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.mapping import RowMapping

AUTO: Final = "auto"
EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
MODES: Final = (AUTO, EXACTLY_ONCE, AT_LEAST_ONCE)
"""The modes; `auto` is exactly once where the broker has distributed transactions, else at least once."""
MECHANISMS: Final = ("ANONYMOUS", "PLAIN", "EXTERNAL", "CRAM-MD5", "SCRAM-SHA-1", "SCRAM-SHA-256")

ROWS: Final = 10_000
"""Default messages of a segment."""
OCTETS: Final = 64 * 1024 * 1024
"""Default octets of a segment: the message that exceeds them is its last one."""
SECONDS: Final = 1.0
"""Default seconds after its first message for which a segment waits for more."""
WAIT: Final = 0.5
"""Seconds to wait for the first message of a segment before the source reports that there is nothing."""
RETRY: Final = 30.0
"""Seconds for which to reconnect to a lost broker before the query fails."""
BRANCH_TIMEOUT: Final = 3600
"""Timeout of a branch in seconds where the broker has a default one: until it is prepared, and with some brokers until it is
decided, so it must exceed a restart."""

_COMMON: Final = (
    "url", "username", "password", "passwordFile", "mechanism", "tlsCa", "tlsCert", "tlsKey", "mode", "retrySeconds",
    "branchTimeout",
)  # fmt: skip
SOURCE: Final = (*_COMMON, "queue", "spool", "maxRows", "maxOctets", "maxSeconds", "waitSeconds", "prefetch", "prefetchOctets")
"""The options of the source."""
SINK: Final = (
    *_COMMON, "journal", "checkpointLocation", "exchange", "routingKey", "persistent", "mandatory", "job",
)  # fmt: skip
"""The options of the sink."""
NAME_OCTETS: Final = 255
"""The most octets of a queue or exchange name, and of a routing key."""
_SPARK: Final = ("path", "queryname", "checkpointlocation", "mergeschema")
"""Options that Spark adds."""

Number = TypeVar("Number", int, float)


@attrs.frozen(kw_only=True)
class BrokerAccess:
    """The broker's address, the credentials, how to connect, and how to use it."""

    address: Address
    shown: str
    """The URL without its password."""
    mechanism: str | None = None
    password_file: str | None = None
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    retry: float = RETRY
    mode: str = AUTO
    branch_timeout: int | None = None
    """Timeout of a branch in seconds, 0: the broker's; None: none if the broker has no default, else BRANCH_TIMEOUT."""

    def password(self) -> str:
        """The password, read from its file if it is in one.  Raises LiveSetupError when it cannot be read."""
        if self.password_file is None:
            return self.address.password
        try:
            return Path(self.password_file).read_text(encoding="utf-8").rstrip("\n")
        except (OSError, UnicodeError) as error:
            raise LiveSetupError(f"passwordFile {self.password_file}: {getattr(error, 'strerror', None) or error}") from None


@attrs.frozen(kw_only=True)
class SourceOptions:
    """The parsed options of a source."""

    access: BrokerAccess
    queues: tuple[str, ...]
    spool: Path
    rows: int = ROWS
    octets: int = OCTETS
    seconds: float = SECONDS
    wait: float = WAIT
    prefetch: int = ROWS
    prefetch_octets: int | None = None


@attrs.frozen(kw_only=True)
class SinkOptions:
    """The parsed options of a sink."""

    access: BrokerAccess
    journal: Path
    rows: RowMapping
    job: str | None = None


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """Parses the options of a source.  Raises LiveSetupError, which says what is wrong."""
    given = _Given(options, SOURCE)
    access = given.access()
    queues = tuple([each.strip() for each in given.need("queue", "the queues to take from, with commas between").split(",")])
    if not all(queues) or len(set(queues)) != len(queues):
        raise LiveSetupError(f"option queue names queues, each once, with commas between, not {given.text('queue')!r}")
    for each in queues:
        _short("queue", each)
    rows = given.number("maxRows", ROWS, 1)
    prefetch = given.number("prefetch", rows, 1)
    if prefetch < rows and "prefetch" in given and "maxRows" in given:
        raise LiveSetupError(f"option prefetch is maxRows ({rows}) or more, not {prefetch}: a segment is accepted as a whole")
    octets = given.number("prefetchOctets", 0, 0)
    spool = given.text("spool")
    return SourceOptions(
        access=access,
        queues=queues,
        spool=_local("spool", spool) if spool else default_place(access, "source", *queues),
        rows=min(rows, prefetch),
        octets=given.number("maxOctets", OCTETS, 1),
        seconds=given.number("maxSeconds", SECONDS, 0.0),
        wait=given.number("waitSeconds", WAIT, 0.0),
        prefetch=prefetch,
        prefetch_octets=octets or None,
    )


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Parses the options of a sink.  Raises LiveSetupError, which says what is wrong."""
    given = _Given(options, SINK)
    access = given.access()
    exchange, key = _short("exchange", given.text("exchange")), _short("routingKey", given.text("routingKey"))
    journal, checkpoint = given.text("journal"), given.text("checkpointLocation")
    if journal:
        place = _local("journal", journal)
    elif checkpoint:
        place = _local("checkpointLocation", checkpoint, "journal") / "amqp"
    else:
        place = default_place(access, "sink", exchange or "", key or "")
    return SinkOptions(
        access=access,
        journal=place,
        rows=RowMapping(
            exchange=exchange,
            routing_key=key,
            persistent=given.word("persistent", ("true", "false")) == "true",
            mandatory=given.word("mandatory", ("true", "false")) == "true",
        ),
        job=given.text("job"),
    )


def default_place(access: BrokerAccess, *words: str) -> Path:
    """Returns the default folder of a spool or a journal: in the user's state, one for each broker and queue."""
    from hashlib import sha256

    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    host = access.address
    told = "\0".join([*[str(each) for each in host.endpoints], host.virtual_host, *words])
    return Path(state) / "amqp-sansio" / f"{words[0]}-{sha256(told.encode()).hexdigest()[:16]}"


def _short(name: str, text: str | None) -> str | None:
    """Returns a name after checking that AMQP can carry it."""
    try:
        octets = len((text or "").encode())
    except UnicodeError:
        raise LiveSetupError(f"option {name} has a character that UTF-8 cannot encode: {text!a}") from None
    if octets > NAME_OCTETS:
        raise LiveSetupError(f"option {name} has names of at most {NAME_OCTETS} octets, not of {octets}: {text!r:.40}")
    return text


def _local(name: str, text: str, instead: str | None = None) -> Path:
    try:
        here = None if text.lower().startswith("dbfs:") else local(text)  # it has no locks, and its renames are copies
    except LocationError:
        here = None
    if here is None:
        told = f"; give option {instead}" if instead else ""
        raise LiveSetupError(f"option {name} is a folder of a file system, not {without_password(text)!r}{told}")
    try:
        return Path(here).expanduser().absolute()
    except RuntimeError as error:
        raise LiveSetupError(f"option {name}: {text}: {error}") from None


class _Given:
    """Options by name, case-insensitively."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...]) -> None:
        self._texts: Final = {name.lower(): text for name, text in options.items()}
        allowed = {each.lower() for each in known}
        for name in self._texts:
            if name not in allowed and name not in _SPARK and not name.startswith(("__", "spark.")):
                raise LiveSetupError(f"there is no option {name}; there are {', '.join(known)}")

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._texts

    def text(self, name: str) -> str | None:
        """Returns a text, None when it was not given."""
        return self._texts.get(name.lower())

    def need(self, name: str, what: str) -> str:
        """Returns a required text."""
        text = self.text(name)
        if not text:
            raise LiveSetupError(f"option {name} is missing: {what}")
        return text

    def word(self, name: str, words: tuple[str, ...]) -> str:
        """Returns one of some words; the first by default."""
        text = (self.text(name) or words[0]).lower()
        if text not in words:
            raise LiveSetupError(f"option {name} is {' or '.join(words)}, not {text!r}")
        return text

    def number(self, name: str, otherwise: Number, least: Number) -> Number:
        """Returns a number, of the type of its default."""
        text = self.text(name)
        if text is None:
            return otherwise
        try:
            found = type(otherwise)(text)
        except ValueError:
            found = least - 1
        if not least <= found < 2**32:
            raise LiveSetupError(f"option {name} is a number from {least} on, not {text!r}")
        return found

    def access(self) -> BrokerAccess:
        """Parses the options about the broker."""
        url = self.need("url", "amqp://user:password@host:port/vhost")
        try:
            address = Address.parse(url)
        except AddressError as error:
            raise LiveSetupError(f"option url: {error}") from None
        except UnicodeError:
            raise LiveSetupError("option url has a character that UTF-8 cannot encode") from None
        if not any(each.tls for each in address.endpoints):
            for name in ("tlsCa", "tlsCert", "tlsKey"):
                if name in self:
                    raise LiveSetupError(f"option {name} is for TLS, and the URL begins with amqp://, not amqps://")
        changes = {name: text for name in ("username", "password") if (text := self.text(name)) is not None}
        for name in ("password", "passwordFile"):
            if name in self and not changes.get("username", address.username):
                raise LiveSetupError(f"option {name} is of no use without a name: option username, or one in the URL")
        if "password" in self and "passwordFile" in self:
            raise LiveSetupError("options password and passwordFile: give only one of them")
        mechanism = self.text("mechanism")
        if mechanism is not None and mechanism.upper() not in MECHANISMS:
            raise LiveSetupError(f"option mechanism is {' or '.join(MECHANISMS)}, not {mechanism!r}")
        if (self.text("tlsKey") is None) != (self.text("tlsCert") is None):
            raise LiveSetupError("options tlsCert and tlsKey are given both or not at all")
        return BrokerAccess(
            address=attrs.evolve(address, **changes),  # type: ignore[arg-type]
            shown=without_password(url),
            mechanism=mechanism.upper() if mechanism else None,
            password_file=self.text("passwordFile"),
            tls_ca=self.text("tlsCa"),
            tls_cert=self.text("tlsCert"),
            tls_key=self.text("tlsKey"),
            retry=self.number("retrySeconds", RETRY, 0.0),
            mode=self.word("mode", MODES),
            branch_timeout=self.number("branchTimeout", 0, 0) if "branchTimeout" in self else None,
        )
