"""The handshake of each side: header, authentication, tune, open; and how a header tells a server the dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from amqp_sansio.config import (
    Accepted,
    Challenge,
    ClientConfig,
    ClientExchange,
    Deferred,
    Rejected,
    SaslError,
    ServerConfig,
    ServerExchange,
)
from amqp_sansio.engine.connection import Capabilities, Connection, Endpoints, capabilities_of, clip
from amqp_sansio.engine.sasl import IN_CLEAR, client_mechanisms, server_mechanisms
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import (
    Authenticated,
    ConnectionOpened,
    ConnectionRedirected,
    LoginRefused,
    OpenRequested,
    Origin,
    StartReceived,
    VersionRefused,
    Violation,
)
from amqp_sansio.kernel.value import octets_of
from amqp_sansio.protocol import SIZE, ProtocolHeader, started
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Open, OpenOk, Redirect, Secure, SecureOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.values import Map
from amqp_sansio.tables import connection as words
from amqp_sansio.tables.connection import SAYS_REFUSED
from amqp_sansio.wire.framing import Assembly


class ClientHandshake(Connection):
    """A client connection, independent of what its channels carry."""

    def __init__(self, config: ClientConfig, endpoints: Endpoints, confidential: bool) -> None:
        super().__init__("client", config, endpoints)
        self._settings: Final = config
        self._barred: Final = frozenset() if confidential or config.insecure_plain else IN_CLEAR
        # Creates every mechanism now, so that the caller learns of a missing library before the conversation begins.
        self._exchanges: Final[dict[str, ClientExchange]] = {each.name: each.start() for each in client_mechanisms(config)}
        self._exchange: ClientExchange | None = None
        self._properties: Final = self._told(config.properties)
        for name in self._exchanges:
            self._fits(StartOk(self._properties, name, b"", config.locale))
        self._fits(self._open_control())
        self._dialogue.said("client", words.PROTOCOL_HEADER)
        self._write(self._our_header)

    def _open_control(self) -> Open:
        settings = self._settings
        return Open(settings.virtual_host or settings.dialect.virtual_host, settings.capabilities or None, settings.insist)

    def _hear_header(self, header: ProtocolHeader) -> None:
        if self._handshake.greets and header.octets == self._our_header:
            self._dialogue.said("server", words.PROTOCOL_HEADER)
            return
        if header.amqp:
            self._emit(VersionRefused(ProtocolHeader(self._our_header).name, header.name))
        self._refuse_header("connection.start.client-support", header)

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        _AT_CLIENT[type(control)](self, control, assembly)  # the handshake's table lets no other control pass

    # --- authentication ----------------------------------------------------------------------------------------------------

    def _hear_start(self, start: Start, assembly: Assembly) -> None:
        version = (start.version_major or 0, start.version_minor or 0)
        if self._handshake.version not in (None, version):
            ours, theirs = ProtocolHeader(self._our_header).name, started(*version)
            self._emit(VersionRefused(ours, theirs))
            said, text = f"{words.START} of {theirs}", f"this side speaks {ours}, the other one {theirs}"
            self._drop(assembly, "connection.start.client-support", said, (ours,), text)
            return
        self._capabilities = Capabilities(capabilities_of(self._properties), capabilities_of(start.server_properties))
        offered = start.mechanisms or ()
        self._emit(StartReceived(start.server_properties or Map(), offered, start.locales or ()))
        common = [name for name in self._exchanges if name in offered]
        chosen = next((name for name in common if name not in self._barred), None)
        if chosen is None and common:
            self._give_up(
                f"{common[0]} would say the password where others can read it: use TLS (amqps://), or allow it with"
                " ?insecure_plain=1 in the URL or ClientConfig(insecure_plain=True)"
            )
            return
        if chosen is None:
            self._give_up(f"no mechanism in common: the server offers {', '.join(offered)[:500] or 'none'}")
            return
        exchange = self._exchange = self._exchanges[chosen]
        try:
            ours, locales = self._settings.locale, start.locales or ()  # every server must offer en_US
            locale = ours if ours in locales or not locales else "en_US" if "en_US" in locales else locales[0]
            self._say(StartOk(self._properties, chosen, exchange.initial(), locale))
            self._mechanism = chosen
        except Exception as error:
            self._give_up(f"authentication by {chosen} failed: {_reason(error)}")

    def _hear_secure(self, secure: Secure, assembly: Assembly) -> None:
        challenge = secure.challenge or b""
        self._rounds += 1
        if self._over_limit(assembly, "sasl_rounds", self.limits.sasl_rounds, self._rounds, "rounds"):
            return
        if self._over_limit(assembly, "sasl_octets", self.limits.sasl_octets, len(challenge), "octets in a challenge"):
            return
        exchange = self._exchange
        assert exchange is not None  # start chose it
        try:
            self._say(SecureOk(exchange.step(challenge)))
        except Exception as error:
            self._give_up(f"authentication failed: {_reason(error)}")

    def _give_up(self, text: str) -> None:
        """Closes the socket: no side broke the protocol, but this client cannot continue."""
        self._closed_cause = text
        self._end(Origin.LOCAL, None, text)

    def _end(
        self, origin: Origin, code: int | None, text: str, violation: Violation | None = None, method: str | None = None
    ) -> None:
        """Ends the connection; EOF during authentication counts as refused credentials, as some servers do not send a close."""
        mechanism, self._mechanism = self._mechanism, ""
        if mechanism and self._handshake.silent_refusal and not self._ended:
            if origin is Origin.EOF:
                text = f"the server ended the connection instead of answering start-ok: it refused the login by {mechanism}"
                self._emit(LoginRefused(mechanism, None, text))
            elif origin is Origin.PEER and code == self._codes.login:
                self._emit(LoginRefused(mechanism, code, text))
        super()._end(origin, code, text, violation, method)

    # --- tune, open -----------------------------------------------------------------------------------------------------------

    def _hear_tune(self, tune: Tune, assembly: Assembly) -> None:
        exchange, self._mechanism = self._exchange, ""
        if exchange is None or not exchange.done:
            text = "tune before the SASL exchange was complete: who the server is was not proved"
            self._drop(assembly, "connection.tune", words.TUNE, (words.SECURE, words.CLOSE), text)
            return
        tuning = self._handshake.tuning
        offer = tuning.heard_offer(tune)
        for broken in tuning.broken_by_offer(offer, self._framing.smallest):
            said, text = f"{words.TUNE} {broken.field}={broken.said}", f"legal is {broken.legal}"
            self._blame(assembly, f"connection.tune.{broken.rule}", said, (broken.legal,), text)
            return
        self._channel_max = min(self._channel_max, offer.channel_max or self._channel_max)
        self._max_frame_size = min(self._largest_frame, offer.max_frame_size or self._framing.largest)
        interval = tuning.interval_agreed(self._settings.heartbeat, offer)
        # A server that offers no heartbeats must not get any (tune-ok.heartbeat.no-heartbeat-min); we send 0 where that is
        # within the range.
        heartbeat = interval if interval or offer.heartbeat_min == 0 else None
        self._say(TuneOk(self._channel_max, self._max_frame_size, heartbeat))
        self._tuned(interval)
        try:
            self._say(self._open_control())
        except EncodeError as error:
            self._give_up(str(error))
            return
        self._start_layer(exchange, "outbound", self._written)

    def _hear_open_ok(self, open_ok: OpenOk, assembly: Assembly) -> None:
        self._opens()
        self._emit(
            ConnectionOpened(
                self._open_control().virtual_host or "", self._channel_max, self._max_frame_size, self._heartbeat.interval,
                open_ok.known_hosts or (),
            )
        )  # fmt: skip
        self._start_layer(self._exchange, "inbound", assembly.end)

    def _hear_redirect(self, redirect: Redirect, assembly: Assembly) -> None:
        if self._settings.insist:
            legal, text = (words.OPEN_OK, words.CLOSE), "the client insists: the server may not redirect it"
            self._drop(assembly, "connection.open.insist.behavior", words.REDIRECT, legal, text)
            return
        host = redirect.host or ""
        self._emit(ConnectionRedirected(host, redirect.known_hosts or ()))
        self._closed_cause = f"redirected to {host}"
        self._end(Origin.PEER, None, self._closed_cause)


_AT_CLIENT: Final[dict[type[Control], Callable[[ClientHandshake, Any, Assembly], None]]] = {  # Any: as each row has it
    Start: ClientHandshake._hear_start,
    Secure: ClientHandshake._hear_secure,
    Tune: ClientHandshake._hear_tune,
    OpenOk: ClientHandshake._hear_open_ok,
    Redirect: ClientHandshake._hear_redirect,
}


def _reason(error: Exception) -> str:
    """Returns why a mechanism failed.  Only the text of a SaslError is known to contain no secret."""
    return str(error) if isinstance(error, SaslError) else type(error).__name__


class ServerHandshake(Connection):
    """A server connection, independent of what its channels carry.

    Raises EncodeError for a config with several dialects.
    """

    def __init__(self, config: ServerConfig, endpoints: Endpoints) -> None:
        if len(config.dialects) > 1:
            raise EncodeError("ServerConfig.dialects", "takes one for a connection; several are for a Doorstep")
        super().__init__("server", config, endpoints)
        self._settings: Final = config
        # Creates every mechanism now, so that the caller learns of a missing library before the conversation begins.
        self._exchanges: Final[dict[str, ServerExchange]] = {each.name: each.start() for each in server_mechanisms(config)}
        self._exchange: ServerExchange | None = None
        self._client_properties = Map()
        self._deferred: Callable[[], Accepted | Rejected] | None = None
        self._deciding = False  # awaits a deferred verdict, and reads nothing before it
        self._asked: Open | None = None  # an unanswered open
        self._fits(self._start_control())
        self._fits(OpenOk(config.known_hosts))

    def _start_control(self) -> Start:
        major, minor = self._handshake.version or (None, None)
        return Start(self._told(self._settings.properties), tuple(self._exchanges), self._settings.locales, major, minor)

    def _hear_header(self, header: ProtocolHeader) -> None:
        self._dialogue.said("client", words.PROTOCOL_HEADER)
        known = header.octets in self._settings.dialect.spellings
        if self._handshake.greets or not known:
            self._write(self._our_header)
        if known:
            self._dialogue.said("server", words.PROTOCOL_HEADER)
            self._say(self._start_control())
            return
        self._refuse_header("connection.start.protocol-name", header)

    def _negotiate(self, control: Control, assembly: Assembly) -> None:
        _AT_SERVER[type(control)](self, control, assembly)  # the handshake's table lets no other control pass

    # --- authentication ----------------------------------------------------------------------------------------------------

    def _hear_start_ok(self, start_ok: StartOk, assembly: Assembly) -> None:
        self._client_properties = start_ok.client_properties or Map()
        ours = capabilities_of(self._start_control().server_properties)
        self._capabilities = Capabilities(capabilities_of(self._client_properties), ours)
        self._mechanism = start_ok.mechanism or ""
        exchange = self._exchanges.get(self._mechanism)
        if exchange is None:
            rule, said = "connection.start-ok.mechanism.validity", f"mechanism {self._mechanism!r}"
            self._drop(assembly, rule, said, tuple(self._exchanges), "a mechanism that was not offered")
            return
        self._exchange = exchange
        self._hear_response(start_ok.response, assembly)

    def _hear_response(self, response: bytes | None, assembly: Assembly) -> None:
        if self._over_limit(assembly, "sasl_octets", self.limits.sasl_octets, len(response or b""), "octets in a response"):
            return
        exchange = self._exchange
        assert exchange is not None  # start-ok chose it
        verdict: Challenge | Accepted | Rejected | Deferred
        try:
            verdict = exchange.step(response)
        except SaslError as error:
            verdict = Rejected(str(error))
        except Exception as error:
            verdict = Rejected(type(error).__name__)  # its text may quote the password
        if isinstance(verdict, Challenge):
            self._rounds += 1
            if not self._over_limit(assembly, "sasl_rounds", self.limits.sasl_rounds, self._rounds, "rounds"):
                try:
                    self._say(Secure(verdict.octets))
                except EncodeError:
                    self._reject("the mechanism's challenge fits into no frame")
        elif isinstance(verdict, Deferred):
            self._deferred = verdict.decide
            self._deciding = self._unanswered = True
        else:
            self._judge(verdict)

    def _judge(self, verdict: object) -> None:
        if not isinstance(verdict, Accepted):
            self._reject(verdict.reason if isinstance(verdict, Rejected) else f"no verdict: a {type(verdict).__name__}")
        else:
            self._emit(Authenticated(self._mechanism, verdict.identity, self._client_properties))
            self._say(self._offer)

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """Returns the check of the client's credentials when it is slow (`config.Deferred`), once; else None.

        The caller runs it, perhaps in a thread, and passes the verdict to `decided`.
        """
        deferred, self._deferred = self._deferred, None
        return deferred

    def decided(self, verdict: Accepted | Rejected) -> None:
        """Takes the verdict of the check from `take_deferred`; ignored when the connection has ended meanwhile.

        Raises LocalProtocolError when no verdict is awaited.
        """
        if not self._deciding:
            raise LocalProtocolError("decided", self.state, (), "only after take_deferred, and once")
        if not isinstance(verdict, (Accepted, Rejected)):
            raise EncodeError("decided", f"takes Accepted or Rejected, not {type(verdict).__name__}")
        self._deciding = False
        self._deferred = None
        if self._closed_cause is None:
            self._judge(verdict)

    @property
    def wants_data(self) -> bool:
        """As for every connection, and also False while a deferred verdict is awaited."""
        return not self._deciding and super().wants_data

    def _reject(self, reason: str) -> None:
        """Refuses a login.  That breaks no rule, and the answer holds nothing that an attacker could use."""
        text, code = "authentication failed", self._codes.login
        self._closed_cause = f"{text}: {reason}"
        if self._handshake.silent_refusal and not self.capable(SAYS_REFUSED):
            self._end(Origin.LOCAL, None, self._closed_cause)
            return
        self._say(Close(code, text))
        self._begin_close(Close(code, f"{text}: {reason}"))

    # --- tune ----------------------------------------------------------------------------------------------------------------

    @property
    def _offer(self) -> Tune:
        settings = self._settings
        offer = Tune(self._channel_max, self._largest_frame, settings.heartbeat_min, settings.heartbeat_max)
        return self._handshake.tuning.said_offer(offer)

    def _hear_tune_ok(self, tune_ok: TuneOk, assembly: Assembly) -> None:
        tuning = self._handshake.tuning
        offer, answer = self._offer, tuning.heard_answer(tune_ok)
        for broken in tuning.broken_by_answer(offer, answer, self._framing.smallest):
            said, text = f"{words.TUNE_OK} {broken.field}={broken.said}", f"legal is {broken.legal}"
            self._drop(assembly, f"connection.tune-ok.{broken.rule}", said, (broken.legal,), text)
            return
        self._channel_max = answer.channel_max or self._channel_max
        self._max_frame_size = answer.max_frame_size or self._largest_frame
        self._tuned(answer.heartbeat or 0)

    # --- open ----------------------------------------------------------------------------------------------------------------

    def _hear_open(self, control: Open, assembly: Assembly) -> None:
        self._asked = control
        self._unanswered = True
        self._emit(OpenRequested(control.virtual_host or "", control.capabilities or (), control.insist))
        self._start_layer(self._exchange, "inbound", assembly.end)

    def open_ok(self, known_hosts: Iterable[str] | None = None) -> None:
        """Accepts the client's open; `known_hosts` defaults to the config's.

        Raises LocalProtocolError when no OpenRequested awaits an answer.
        """
        asked = self._must_be_asked(words.OPEN_OK)
        self._say(OpenOk(self._settings.known_hosts if known_hosts is None else _hosts(known_hosts)))
        self._asked = None
        self._opens()
        self._emit(
            ConnectionOpened(asked.virtual_host or "", self._channel_max, self._max_frame_size, self._heartbeat.interval)
        )
        self._start_layer(self._exchange, "outbound", self._written)

    def redirect(self, host: str, known_hosts: Iterable[str] = ()) -> None:
        """Redirects the client to another host and ends the connection.

        Raises LocalProtocolError when no OpenRequested awaits an answer, or the client insists.
        """
        if self._must_be_asked(words.REDIRECT).insist:
            raise LocalProtocolError(
                words.REDIRECT, self.state, (words.OPEN_OK, words.CLOSE), "connection.open.insist.behavior"
            )
        self._say(Redirect(host, _hosts(known_hosts)))
        self._asked = None
        self._closed_cause = f"redirected to {host}"
        self._end(Origin.LOCAL, None, self._closed_cause)

    def _must_be_asked(self, said: str) -> Open:
        self._must_be_alive(said)
        if self._asked is None:
            raise LocalProtocolError(said, self.state, self._may_say(), "no OpenRequested waits for an answer")
        return self._asked

    def _answer_by_policy(self) -> bool:
        if self._deciding and self._closed_cause is None:
            return False
        self._unanswered = False
        if self._closed_cause is not None:
            return True
        asked = self._asked
        if asked is not None:
            hosts = self._settings.virtual_hosts
            host = asked.virtual_host or ""
            if hosts is None or host in hosts:
                try:
                    self.open_ok()
                except EncodeError:  # the known hosts exceed a frame of the negotiated size: they are only hints
                    self.open_ok(())
            else:
                self._asked = None
                self._close_for(self._codes.host, clip(f"no virtual host {host!r}"), "")
        return True


_AT_SERVER: Final[dict[type[Control], Callable[[ServerHandshake, Any, Assembly], None]]] = {  # Any: as each row has it
    StartOk: ServerHandshake._hear_start_ok,
    SecureOk: lambda self, control, assembly: self._hear_response(control.response or b"", assembly),
    TuneOk: ServerHandshake._hear_tune_ok,
    Open: ServerHandshake._hear_open,
}


def _hosts(known: Iterable[str]) -> tuple[str, ...]:
    try:
        return tuple(known)
    except TypeError:
        raise EncodeError("known_hosts", f"takes texts, not {type(known).__name__}") from None


PATIENCE: Final = 256
"""How many controls and commands without an event (such as heartbeats) one connection may process before others get a turn."""


class Doorstep:
    """Buffers a client's first octets until they identify its dialect.

    Until then `connection` speaks the preferred dialect and has received no octets.  It keeps the handshake timeout, and
    answers a header of an unsupported dialect.
    """

    def __init__(self, config: ServerConfig, wake: Callable[[], object] | None = None) -> None:
        self._config: Final = config
        self._wake: Final = wake  # called when the connection has output or has ended, and before was neither
        self._early = bytearray()
        self.connection = self._speaking(0)
        """The connection; replaced once the dialect is known."""
        self.passed = len(config.dialects) == 1
        """Whether the dialect is known: from then on, octets may go to `connection` directly."""

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets from the client, like `Connection.receive_data`."""
        if self.passed:
            self.connection.receive_data(data)
            return
        self._early += octets_of(data, "receive_data")
        if len(self._early) >= SIZE:
            self._pass()

    def receive_eof(self) -> None:
        """Records that the client sends nothing more."""
        self._pass()
        self.connection.receive_eof()

    def _speaking(self, dialect: int) -> ServerHandshake:
        """Returns a connection in one of the config's dialects: the preferred one, or the one at this index."""
        config = self._config
        chosen = config.dialects[dialect]
        if len(config.dialects) > 1:
            size = min(config.max_frame_size, chosen.framing.largest)
            config = attrs.evolve(config, dialects=(chosen,), max_frame_size=size)
        connection = chosen.server(config)
        connection._patience = PATIENCE
        connection._wake = self._wake
        return connection

    def _pass(self) -> None:
        if self.passed:
            return
        self.passed = True
        header, waited, dialects = bytes(self._early[:SIZE]), self.connection, self._config.dialects
        chosen = next((at for at, dialect in enumerate(dialects) if header in dialect.spellings), 0)
        if chosen and waited.closed_cause is None:  # otherwise the connection is over, and no new one begins
            self.connection = self._speaking(chosen)
            if waited.now is not None:
                self.connection.tick(waited.now)
                self.connection._handshake_until = waited._handshake_until
        self.connection.receive_data(self._early)
        self._early.clear()
