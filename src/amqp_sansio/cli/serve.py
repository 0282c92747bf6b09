"""`amqp-sansio serve`: runs the model broker on a socket address.

With `--log conversation` it logs each method, one line each, without payloads and secrets.
"""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from typing import Any, Final, TextIO

import attrs

from amqp_sansio.adapters.access_files import VerifierError, Verifiers, read_rules, warnings
from amqp_sansio.adapters.asyncio.broker_server import BrokerServer, OctetListener
from amqp_sansio.adapters.settings import reason
from amqp_sansio.adapters.store import Store, StoreError
from amqp_sansio.adapters.store_files import kept_tag, new_tag
from amqp_sansio.broker import Broker, BrokerConfig, Rules
from amqp_sansio.broker.access import RulesError
from amqp_sansio.cli.output import complain, escaped
from amqp_sansio.config import ErrorCodes, Profile, ServerConfig, ServerMechanism
from amqp_sansio.conversation.address import Endpoint
from amqp_sansio.engine.sasl import AnonymousServer, PlainServer
from amqp_sansio.errors import AmqpError, RestoreError
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, DEFAULT_LIMITS, DEFAULT_SERVER_LIMITS, Limits, ServerLimits
from amqp_sansio.testing.transcript import Transcript

KEPT_SECONDS: Final = 3600
"""The longest time in seconds that a session is kept without a connection, when its client asks for it."""
FILES: Final = 65536
"""The number of open files to ask the system for."""
DARWIN_FILES: Final = 10240
"""The same on macOS, whose kernel refuses more (OPEN_MAX) though it reports no hard limit."""
BESIDES: Final = 4096 + DEFAULT_LIMITS.header_octets
"""The most octets of the command message.transfer, and of the header, besides the body."""
STOPPED: Final = "the broker is stopped"
CANNOT_LISTEN: Final = {
    errno.EADDRINUSE: "the port is taken by another process",
    errno.EACCES: "the port may not be had by this user",
    errno.EADDRNOTAVAIL: "this machine has no such address",
}
"""Why it cannot listen, by the system's code."""


class ServeError(AmqpError):
    """The broker cannot start; the text is one sentence."""


@attrs.frozen(kw_only=True)
class ServeOptions:
    """The arguments."""

    host: str = "127.0.0.1"
    port: int = 5672
    auth: str = "none"
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_ca: str | None = None
    """The file of the authorities of clients' certificates; None: clients need none, and cannot log in by one."""
    data_dir: str | None = None
    log: str | None = None
    virtual_hosts: tuple[str, ...] = ()
    """The existing ones; empty: any."""
    max_message: int | None = None
    """Octets of its body; None: the default limits."""
    error_codes: ErrorCodes = "qpid"
    login_seconds: float = 30.0
    allow: str | None = None
    """The file of access rules; None: every user may do everything."""
    logins_per_address: int = DEFAULT_SERVER_LIMITS.unopened_per_address
    """Connections of one address that have not logged in."""

    @property
    def limits(self) -> Limits:
        """Returns the limits of one connection."""
        limits = attrs.evolve(DEFAULT_LIMITS, handshake_seconds=self.login_seconds)
        if self.max_message is None:
            return limits
        most = self.max_message + BESIDES
        return attrs.evolve(
            limits,
            assembly_octets=most,
            buffered_octets=max(limits.buffered_octets, most),
            replay_octets=max(limits.replay_octets, most),
            early_octets=max(limits.early_octets, most),
            discarded_octets=max(limits.discarded_octets, 2 * most),
        )

    @property
    def server_limits(self) -> ServerLimits:
        """Returns the limits of all connections together."""
        return ServerLimits(tls_seconds=self.login_seconds, unopened_per_address=self.logins_per_address)

    def rules(self) -> Rules | None:
        """Returns the access rules in the file.  Raises RulesError or VerifierError."""
        if self.allow is None:
            return None
        return read_rules(self.allow, None if self.auth == "none" else Verifiers(self.auth))

    def warn(self, rules: Rules) -> None:
        """Reports on stderr the lines of the file that match nobody."""
        for text in warnings(self.allow or "", rules):
            complain(text)

    def broker(self, *, journal: bool, epoch: float, tag: str) -> BrokerConfig:
        """Returns the broker's settings; at least one of the largest messages fits within every limit."""
        limits, most = DEFAULT_BROKER_LIMITS, self.max_message or DEFAULT_BROKER_LIMITS.body_octets
        whole = 0 if self.max_message is None else most + BESIDES
        limits = attrs.evolve(
            limits,
            body_octets=most,
            queue_octets=max(limits.queue_octets, whole),
            host_octets=max(limits.host_octets, whole),
            transaction_octets=max(limits.transaction_octets, whole),
            held_octets=max(limits.held_octets, whole),
        )
        return BrokerConfig(
            journal=journal,
            epoch=epoch,
            virtual_hosts=self.virtual_hosts or None,
            error_codes=self.error_codes,
            federation_tag=tag,
            limits=limits,
        )


def serve(wishes: ServeOptions) -> int:
    """Serves until SIGTERM or SIGINT.  Returns 0, 1 when it stopped because of a failure, or 2 when it could not start.

    Raises ServeError.
    """
    if wishes.data_dir == "":  # probably an unset variable, and hardly the current directory
        raise ServeError("--data-dir names a directory, and is empty")
    address = resolve(wishes.host)
    configure = configuration(wishes, address)
    rules = wishes.rules()
    tls = context(wishes.tls_cert, wishes.tls_key, wishes.tls_ca)
    raise_file_limit()
    store = None if wishes.data_dir is None else Store(wishes.data_dir)
    try:
        return asyncio.run(_serve(wishes, address, configure, rules, tls, store))
    finally:
        if store is not None:
            store.close()


async def _serve(
    wishes: ServeOptions,
    address: str,
    configure: Callable[[], ServerConfig],
    rules: Rules | None,
    tls: ssl.SSLContext | None,
    store: Store | None,
) -> int:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[str | None] = loop.create_future()

    def end(why: str | None = None) -> None:
        if not ended.done():
            ended.set_result(why)

    def unhandled(_: asyncio.AbstractEventLoop, what: dict[str, Any]) -> None:
        error = what.get("exception")
        if isinstance(error, OSError):  # of one socket: the others go on
            complain(f"{what.get('message', 'a socket failed')}: {error.strerror or error}")
        elif error is not None:
            end(f"it is broken ({type(error).__name__}: {error}); please report this")

    loop.set_exception_handler(unhandled)
    broker = restore(store, loop.time(), wishes)
    broker.set_access(rules)
    log = Conversations(sys.stdout, loop.time) if wishes.log == "conversation" else None
    listen: Callable[[], OctetListener] | None = None if log is None else log.connection
    server = BrokerServer(
        broker,
        configure,
        address,
        wishes.port,
        tls=tls,
        store=store,
        failed=lambda why: end(f"it stops: {why}"),
        listen=listen,
        hinted=lambda hint: complain(f"{hint}; said once"),
        limits=wishes.server_limits,
    )

    def reread() -> None:
        try:
            again = wishes.rules()
        except (RulesError, VerifierError) as error:
            complain(f"{error}; the server keeps the previous rules")
            return
        broker.set_access(again)
        complain(f"{wishes.allow}: the rules were read again")
        if again is not None:
            wishes.warn(again)
        server.wake()

    with _signals(end, None if rules is None else reread):
        try:
            await server.__aenter__()
        except OSError as error:
            raise ServeError(
                f"{Endpoint(address, wishes.port)}: {CANNOT_LISTEN.get(error.errno or 0) or error.strerror or error}"
            ) from None
        if tls is None and not Endpoint(address).confidential:
            complain(f"warning: passwords and messages cross the network to {address} in the clear (see --tls-cert)")
        if rules is not None:
            wishes.warn(rules)
        if rules is not None and wishes.auth == "none":
            complain("warning: with --auth none the rules of --allow hold for whatever name a client gives itself")
        scheme = "amqps" if tls is not None else "amqp"
        said = f"amqp-sansio: listening on {scheme}://{Endpoint(*server.address)}\n"
        if rules is None:
            said += "amqp-sansio: every user may do everything (see --allow)\n"
        sys.stdout.write(said)  # in one write: a script that starts us may read one line and close the pipe
        sys.stdout.flush()
        why = await ended
        if why is not None:
            complain(why)
        try:
            await server.stop(STOPPED if why is None else "the broker has failed")
        except StoreError as error:
            complain(f"the last snapshot could not be written: {error}")
            return 1
    return 0 if why is None else 1


def restore(store: Store | None, now: float, wishes: ServeOptions) -> Broker:
    """Restores the broker from its store.  Raises StoreError when that is damaged."""
    epoch = time.time() - now
    if store is None:
        return Broker(wishes.broker(journal=False, epoch=epoch, tag=new_tag()))
    snapshot, entries = store.load()
    try:
        tag = kept_tag(store.directory)
    except OSError as error:
        raise StoreError(store.directory, f"cannot be written: {error.strerror}") from None
    try:
        return Broker.restore(snapshot, entries, config=wishes.broker(journal=True, epoch=epoch, tag=tag))
    except RestoreError as error:
        raise StoreError(store.directory, f"the store is damaged: {error}") from None


# --- settings -------------------------------------------------------------------------------------------------------------


def resolve(host: str) -> str:
    """Resolves a host name: returns its first address, IPv4 before IPv6.  Raises ServeError."""
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ServeError(f"--host {host}: {getattr(error, 'strerror', None) or 'is not an address'}") from None
    found.sort(key=lambda each: each[0] != socket.AF_INET)
    return str(found[0][4][0])


def configuration(wishes: ServeOptions, address: str) -> Callable[[], ServerConfig]:
    """Returns a function that makes the settings of each connection.  Raises VerifierError, and ServeError for --auth none on
    an address that others can reach."""
    profile = Profile(error_codes=wishes.error_codes)
    shared = partial(ServerConfig, session_timeout=KEPT_SECONDS, profile=profile, limits=wishes.limits)
    if wishes.auth == "none":
        if not Endpoint(address).confidential:
            raise ServeError(
                f"--auth none lets everybody in, so it listens on loopback only, not on {address}: give --auth FILE"
                " (see `amqp-sansio passwd`)"
            )
        config = shared(mechanisms=(AnonymousServer(), PlainServer(lambda username, password: True)))
        return lambda: config
    verifiers = Verifiers(wishes.auth)
    if not verifiers.users:
        raise VerifierError(f"{wishes.auth}: no user is in it (see `amqp-sansio passwd`)")
    plain = PlainServer(verifiers.verify, slow=True, known=verifiers.remembers)
    can_scram = find_spec("scramp") is not None
    complaint = ""

    def configure() -> ServerConfig:
        nonlocal complaint
        mechanisms: tuple[ServerMechanism, ...] = (plain,)
        if can_scram and verifiers.all_scram:
            mechanisms = (verifiers.scram_server(), plain)
        if verifiers.complaint != complaint:
            complaint = verifiers.complaint
            if complaint:
                complain(f"{complaint}; the server keeps the previous users")
        return shared(mechanisms=mechanisms)

    return configure


def context(certificate: str | None, key: str | None, authorities: str | None = None) -> ssl.SSLContext | None:
    """Returns a TLS context for a certificate and its key; None without them.  Raises ServeError, which says what is wrong."""
    if certificate is None or key is None:
        if certificate is not key:
            raise ServeError("--tls-cert and --tls-key belong together")
        if authorities is not None:
            raise ServeError("--tls-ca needs --tls-cert and --tls-key")
        return None
    for name in (certificate, key, *([] if authorities is None else [authorities])):
        try:
            with open(name, "rb"):
                pass
        except OSError as error:
            raise ServeError(f"{name}: cannot be read: {error.strerror}") from None

    def locked() -> str:
        raise ServeError(f"{key}: is encrypted with a password: give a key without one")

    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.minimum_version = max(made.minimum_version, ssl.TLSVersion.TLSv1_2)  # some builds leave it to the system
    try:
        made.load_cert_chain(certificate, key, locked)
    except OSError as error:  # ssl's errors are OSErrors
        raise ServeError(f"{certificate} and {key} are not a certificate and its key: {reason(error)}") from None
    if authorities is not None:
        try:
            made.load_verify_locations(authorities)
        except OSError as error:
            raise ServeError(f"{authorities}: no certificates can be read from it: {reason(error)}") from None
        made.verify_mode = ssl.CERT_OPTIONAL  # clients without one log in by password
    return made


def raise_file_limit() -> None:
    """Raises the limit of open files to the hard limit, at most FILES."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for most in (FILES, DARWIN_FILES):
            wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
            if soft == resource.RLIM_INFINITY or soft >= wanted:
                return
            with suppress(ValueError, OSError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                return


def _soon(loop: asyncio.AbstractEventLoop, does: Callable[[], None], number: int, frame: object) -> None:
    loop.call_soon_threadsafe(does)


@contextmanager
def _signals(end: Callable[[], None], reread: Callable[[], None] | None) -> Iterator[None]:
    """Within the block, SIGTERM and SIGINT end the broker; SIGHUP, where it exists, reloads the rules."""
    loop = asyncio.get_running_loop()
    both: dict[signal.Signals, Callable[[], None]] = {signal.SIGTERM: end, signal.SIGINT: end}
    if reread is not None and hasattr(signal, "SIGHUP"):
        both[signal.SIGHUP] = reread
    for each, does in both.items():
        try:
            loop.add_signal_handler(each, does)
        except NotImplementedError:  # on loops without signal support
            signal.signal(each, partial(_soon, loop, does))
    try:
        yield
    finally:
        for each in both:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(each)


LONGEST: Final = 400
"""The most characters of a line, because clients may choose long names."""


class Conversations:
    """Logs all conversations in one stream: `seconds [connection] speaker: [channel] method`."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out: Final = out
        self._clock: Final = clock
        self._start: Final = clock()
        self._count = 0
        self._broken = False

    def connection(self) -> ConversationLog:
        """Returns the log of the next connection, which gets the next number."""
        self._count += 1
        return ConversationLog(self, self._count)

    def write(self, number: int, text: str) -> None:
        """Writes one line, in ASCII, and flushes it."""
        plain = escaped(text)
        cut = plain if len(plain) <= LONGEST else plain[:LONGEST] + "..."
        if self._broken:
            return
        try:
            self._out.write(f"{self._clock() - self._start:9.3f} [{number}] {cut}\n")
            self._out.flush()
        except (OSError, ValueError):  # the reader has gone: the broker goes on
            self._broken = True
            complain("nobody reads the log any more")


class ConversationLog:
    """The log of one connection."""

    def __init__(self, log: Conversations, number: int) -> None:
        self._log: Final = log
        self._number: Final = number
        self._transcript: Final = Transcript()
        self._lost = False
        self._transcript.begin(0, number)
        self._transcript.lines.clear()

    def hear(self, speaker: str, octets: bytes) -> None:
        """Takes octets that `speaker` sent; logs what is complete."""
        if self._lost:
            return
        try:
            self._transcript.hear(0, speaker, octets)
        except Exception as error:  # a failing log must not end the connection
            self._lost = True
            self.note(f"cannot follow the conversation any more ({type(error).__name__})")
        for line in self._transcript.lines:
            self._log.write(self._number, line.lstrip(" 0"))
        self._transcript.lines.clear()

    def note(self, text: str) -> None:
        """Logs a remark that neither speaker sent."""
        self._log.write(self._number, text)
