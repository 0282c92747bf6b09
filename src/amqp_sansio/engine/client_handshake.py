"""The client's side of the handshake: header, authentication, tune, open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from amqp_sansio.config import ClientConfig, ClientExchange, SaslError
from amqp_sansio.engine.connection import Capabilities, Connection, Endpoints, capabilities_of
from amqp_sansio.engine.sasl import IN_CLEAR, client_mechanisms
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import (
    ConnectionOpened,
    ConnectionRedirected,
    LoginRefused,
    Origin,
    StartReceived,
    VersionRefused,
    Violation,
)
from amqp_sansio.protocol import ProtocolHeader, started
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Open, OpenOk, Redirect, Secure, SecureOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.values import Map
from amqp_sansio.tables import connection as words
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
        _CLIENT_HEARS[type(control)](self, control, assembly)  # the handshake's table lets no other control pass

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


_CLIENT_HEARS: Final[dict[type[Control], Callable[[ClientHandshake, Any, Assembly], None]]] = {  # Any: each row takes its own control
    Start: ClientHandshake._hear_start,
    Secure: ClientHandshake._hear_secure,
    Tune: ClientHandshake._hear_tune,
    OpenOk: ClientHandshake._hear_open_ok,
    Redirect: ClientHandshake._hear_redirect,
}


def _reason(error: Exception) -> str:
    """Returns why a mechanism failed.  Only the text of a SaslError is known to contain no secret."""
    return str(error) if isinstance(error, SaslError) else type(error).__name__
