"""The server's side of the handshake: header, authentication, tune, open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from amqp_sansio.config import Accepted, Challenge, Deferred, Rejected, SaslError, ServerConfig, ServerExchange
from amqp_sansio.engine.connection import Capabilities, Connection, Endpoints, capabilities_of, clip
from amqp_sansio.engine.sasl import server_mechanisms
from amqp_sansio.errors import EncodeError, LocalProtocolError
from amqp_sansio.events import Authenticated, ConnectionOpened, OpenRequested, Origin
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Open, OpenOk, Redirect, Secure, SecureOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.values import Map
from amqp_sansio.tables import connection as words
from amqp_sansio.tables.connection import SAYS_REFUSED
from amqp_sansio.wire.framing import Assembly


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
        _SERVER_HEARS[type(control)](self, control, assembly)  # the handshake's table lets no other control pass

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


_SERVER_HEARS: Final[dict[type[Control], Callable[[ServerHandshake, Any, Assembly], None]]] = {  # Any: each row takes its own control
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
