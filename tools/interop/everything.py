"""A conversation of our client and our server with each control and each command of AMQP 0-10 at least once.

conversation(say): for each connection, `say()` returns a function that gets (from_client, octets) for everything sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from amqp_sansio.config import ClientConfig, Profile, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.sasl import CramMd5, CramMd5Server
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import AttachRequested, CommandReceived, Event, OpenRequested, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, CloseCode, ErrorCode, FlowMode, RejectCode, XaStatus
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.spec.values import Value

Say: TypeAlias = Callable[[bool, bytes], None]
BRANCH: Final = dtx.Xid(7, b"global", b"branch")
MAP: Final[dict[str, Value]] = {"key": "value", "yes": True, "small": None}
RESULTS: Final[dict[str, Struct]] = {
    "message.message-resume-result": message.MessageResumeResult(17),
    "exchange.exchange-query-result": exchange.ExchangeQueryResult("topic", True, False, {"a": "b"}),
    "exchange.exchange-bound-result": exchange.ExchangeBoundResult(True, False, True, False, True),
    "queue.queue-query-result": queue.QueueQueryResult("q", "amq.fanout", True, False, True, {"a": "b"}, 3, 1),
    "dtx.xa-result": dtx.XaResult(XaStatus.XA_OK),
    "dtx.get-timeout-result": dtx.GetTimeoutResult(60),
    "dtx.recover-result": dtx.RecoverResult((BRANCH,)),
}
"""Our server's results."""
NOWHERE: Final = queue.Purge("nowhere")
LATER: Final = queue.Purge("later")
ITS_OWN: Final = (execution.Sync(), NOWHERE, LATER)
"""Commands that complete by themselves, are refused, or take their time."""


class Two:
    """A client and a server, with octets carried between them."""

    def __init__(
        self,
        say: Say,
        client: ClientConnection,
        server: ServerConnection,
        redirect: bool = False,
        resume: dict[str, object] | None = None,
    ) -> None:
        self.client: Final = client
        self.server: Final = server
        self.heard: Final[list[Event]] = []
        self._say: Final = say
        self._redirect: Final = redirect
        self._resume: Final = resume

    def run(self) -> None:
        """Runs until both are silent.  The server answers requests, and completes the commands."""
        busy = True
        while busy:
            busy = False
            for here, there in ((self.client, self.server), (self.server, self.client)):
                octets = here.data_to_send()
                if octets:
                    busy = True
                    self._say(here is self.client, octets)
                    there.receive_data(octets)
                for event in there.events():
                    busy = True
                    self.heard.append(event)
                    if there is self.server:
                        self._serve(event)

    def _serve(self, event: Event) -> None:
        if isinstance(event, OpenRequested) and self._redirect:
            self.server.redirect("elsewhere:5672", ("elsewhere:5672", "nowhere:5672"))
        elif isinstance(event, AttachRequested) and self._resume is not None:
            kept = Session.restore(self._resume, profile=self.server.profile)
            self.server.accept(event.session, resume=kept)
        elif isinstance(event, CommandReceived | TransferReceived):
            session = self._of(event.session)
            result = event.command.RESULT if isinstance(event, CommandReceived) else ""
            if isinstance(event, CommandReceived) and isinstance(event.command, message.Acquire):
                session.result(event.id, message.Acquired(event.command.transfers))
            elif result:
                session.result(event.id, RESULTS[result])
            elif isinstance(event, TransferReceived) or event.command not in ITS_OWN:
                session.complete(RangeSet.of(event.id))

    def _of(self, name: bytes) -> Session:
        return next(each for each in self.server.sessions if each.name == name)


def conversation(say: Callable[[], Say]) -> list[Event]:
    """Runs all of it; returns the events of both sides.  `say` makes the recorder of one more connection."""
    heard = _redirected(say())
    two = Two(say(), *_machines())
    two.run()
    session = two.client.session(b"talk", timeout=60)
    two.run()
    (served,) = two.server.sessions
    _model(two, session)
    _messages(two, session, served)
    _feedback(two, session, served)
    _files_and_streams(two, session, served)
    _transactions(two)
    _failing(two)
    heard += two.heard
    heard += _resumed(say, two, session, served)
    return heard


def _machines() -> tuple[ClientConnection, ServerConnection]:
    """Returns two that authenticate in more than one step, and may send parts of messages."""
    profile = Profile(fragments=True)
    client = ClientConfig(
        mechanisms=(CramMd5("guest", "secret"),), username="guest", virtual_host="shop", capabilities=("one", "two"),
        heartbeat=5, profile=profile,
    )  # fmt: skip
    server = ServerConfig(
        mechanisms=(CramMd5Server(lambda user: "secret", lambda: b"<challenge@host>"),), known_hosts=("here:5672",),
        session_timeout=600, heartbeat_min=1, profile=profile,
    )  # fmt: skip
    return ClientConnection(client), ServerConnection(server)


def _redirected(say: Say) -> list[Event]:
    two = Two(say, *_machines(), redirect=True)
    two.run()
    return two.heard


def _model(two: Two, session: Session) -> None:
    """Classes exchange and queue, with every field."""
    for command in (
        exchange.Declare("x", "topic", "amq.fanout", False, True, True, MAP),
        exchange.Query("x"),
        queue.Declare("q", "amq.fanout", False, True, True, True, MAP),
        queue.Declare("q", passive=True),
        queue.Query("q"),
        exchange.Bind("q", "x", "a.#", MAP),
        exchange.Bound("x", "q", "a.#", MAP),
        exchange.Unbind("q", "x", "a.#"),
        queue.Purge("q"),
        queue.Delete("q", True, True),
        exchange.Delete("x", True),
        execution.Sync(),
    ):
        session.send(command, sync=True)
        two.run()


def _messages(two: Two, session: Session, served: Session) -> None:
    """Class message, both ways."""
    delivery = DeliveryProperties(
        discard_unroutable=True, immediate=True, redelivered=True, priority=7, delivery_mode=2, ttl=60_000,
        timestamp=1_700_000_000, expiration=1_700_000_060, exchange="x", routing_key="a.b",
    )  # fmt: skip
    rich = MessageProperties(
        4, reply_to=message.ReplyTo("x", "back"), correlation_id=b"c", content_type="text/plain", content_encoding="utf-8",
        user_id=b"guest", app_id=b"app", application_headers=MAP,
    )  # fmt: skip
    subscription = session.subscribe(
        "q", "d", accept_mode=AcceptMode.EXPLICIT, acquire_mode=AcquireMode.NOT_ACQUIRED, exclusive=True, arguments=MAP
    )
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(10, 100_000)
    two.run()
    for _ in range(4):
        served.deliver("d", delivery, rich, body=b"body")
        two.run()
    ids = sorted({event.id for event in two.heard if isinstance(event, TransferReceived) and event.session == session.name})
    session.acquire(ids)
    two.run()
    session.accept(ids[0])
    session.release(ids[1:3], set_redelivered=True)
    session.reject(ids[3], RejectCode.IMMEDIATE, "not for me")
    session.send(message.Resume("d", "resume-id"))
    two.run()
    subscription.flush()
    subscription.stop()
    subscription.cancel()
    session.publish("x", delivery, rich, body=bytes(100_000), accept_mode=AcceptMode.EXPLICIT, sync=True)
    session.publish("x")
    two.run()


def _feedback(two: Two, session: Session, served: Session) -> None:
    """The feedback about commands; and heartbeats."""
    session.flush(expected=True, confirmed=True, completed=True)
    two.run()
    served.flush(expected=True, confirmed=True, completed=True)
    two.run()
    for machine in (two.client, two.server):
        for now in (0.0, 6.0):
            machine.tick(now)
    two.run()


def _files_and_streams(two: Two, session: Session, served: Session) -> None:
    """Classes file and stream."""
    for speaker, command in (
        (session, file.Qos(1000, 10, True)),
        (served, file.QosOk()),
        (session, file.Consume("q", "t", True, False, True, False, MAP)),
        (served, file.ConsumeOk("t")),
        (session, file.Open("id", 100)),
        (served, file.OpenOk(50)),
        (session, file.Stage()),
        (session, file.Publish("x", "k", True, True, "id")),
        (served, file.Return(312, "nowhere", "x", "k")),
        (served, file.Open("other", 50)),
        (session, file.OpenOk(0)),
        (served, file.Stage()),
        (served, file.Deliver("t", 1, True, "x", "k", "other")),
        (served, file.Deliver("t", 2, False, "x", "k", "other")),
        (session, file.Ack(1, False)),
        (session, file.Reject(2, True)),
        (session, file.Cancel("t")),
        (session, stream.Qos(1000, 10, 500, True)),
        (served, stream.QosOk()),
        (session, stream.Consume("q", "u", True, True, False, MAP)),
        (served, stream.ConsumeOk("u")),
        (session, stream.Publish("x", "k", True, True)),
        (served, stream.Return(313, "nobody", "x", "k")),
        (served, stream.Deliver("u", 3, "x", "q")),
        (session, stream.Cancel("u")),
    ):
        if command.VERB in ("file.stage", "file.return"):
            speaker.send(command, FileProperties("text/plain", headers=MAP, timestamp=1_700_000_000), body=bytes(50))
        elif command.VERB in ("stream.publish", "stream.return", "stream.deliver"):
            speaker.send(command, StreamProperties("video/x", headers=MAP, priority=3), body=b"content")
        else:
            speaker.send(command)
        two.run()


def _transactions(two: Two) -> None:
    """Classes tx and dtx, each on its own session."""
    local = two.client.session(b"local")
    branches = two.client.session(b"branches")
    two.run()
    tx = local.select_tx()
    for end in (tx.commit, tx.rollback):
        local.publish("x", body=b"in it")
        end()
        two.run()
    xa = branches.select_dtx()
    two.run()
    steps: tuple[Callable[[], int], ...] = (
        lambda: xa.start(BRANCH),
        lambda: xa.set_timeout(BRANCH, 60),
        lambda: xa.get_timeout(BRANCH),
        lambda: xa.end(BRANCH, suspend=True),
        lambda: xa.start(BRANCH, resume=True),
        lambda: xa.end(BRANCH),
        lambda: xa.prepare(BRANCH),
        lambda: xa.recover(),
        lambda: xa.commit(BRANCH),
        lambda: xa.start(BRANCH, join=True),
        lambda: xa.end(BRANCH, fail=True),
        lambda: xa.rollback(BRANCH),
        lambda: xa.forget(BRANCH),
    )
    for step in steps:
        step()
        two.run()
    for session in (local, branches):
        session.detach()
        two.run()


def _failing(two: Two) -> None:
    """A session with a refused command."""
    session = two.client.session(b"failing")
    two.run()
    (served,) = [each for each in two.server.sessions if each.name == b"failing"]
    id = session.send(NOWHERE)
    two.run()
    served.fail(id, ErrorCode.NOT_FOUND, "there is no such queue", field_index=1, error_info=MAP)
    two.run()


def _resumed(say: Callable[[], Say], two: Two, session: Session, served: Session) -> list[Event]:
    """Loses the connection, and with it what the server had confirmed: it kept an older state of the session."""
    kept = served.snapshot()
    ids = [session.send(LATER) for _ in range(3)]
    two.run()
    served.confirm(ids[:2])
    session.flush(confirmed=True)
    two.run()
    two.client.receive_eof()
    two.run()
    again = Two(say(), *_machines(), resume=kept)
    again.run()
    again.client.resume(session)
    again.run()
    again.client.close(CloseCode.NORMAL, "that was all")
    again.run()
    return again.heard
