"""Two machines joined in memory: a link with delay, re-chunking and cuts at any octet, and a record of who said what.

Deterministic: every choice comes from the caller, and time is a number of steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from amqp_sansio.dialects import DEFAULT, READABLE, Dialect
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Event, Violation
from amqp_sansio.testing.choices import Choices
from amqp_sansio.testing.transcript import Transcript
from amqp_sansio.wire.codec import Codec


class End(Protocol):
    """What is joined to a link: a connection of any family, or what behaves like one."""

    def receive_data(self, data: bytes) -> None: ...
    def receive_eof(self) -> None: ...
    def next_event(self) -> Event | None: ...
    def data_to_send(self) -> bytes: ...
    def tick(self, now: float) -> float | None: ...
    @property
    def bytes_to_send(self) -> int: ...


C = TypeVar("C", bound=End)
S = TypeVar("S", bound=End)

Speaker: TypeAlias = Literal["client", "server"]
Heard: TypeAlias = tuple[Speaker, Event]
"""Whose event, and the event."""

SPEAKERS: Final[tuple[Speaker, Speaker]] = ("client", "server")


class _Pipe:
    """What one side said and the other has not yet received."""

    def __init__(self) -> None:
        self.flying: deque[tuple[int, bytes]] = deque()
        self.ends_at: int | None = None  # the step from which on its end may be heard, behind all that flies
        self.ended = False
        self.cut_in: int | None = None  # octets until the link breaks

    def add(self, due: int, octets: bytes) -> None:
        self.flying.append((due, octets))  # what is due waits for what was said before it: octets never overtake octets


class Link(Generic[C, S]):
    """A client and a server with a wire between them.

    `delay` is how many steps octets fly: a number, or the lowest and highest of which one is chosen each time.  `chunk` is how
    many octets arrive at once: None as they were written, a number, or the least and most.  `choices` decides: a list of
    numbers, or a `random.Random`.  `seconds` is how long a step takes on the machines' clock; None: nobody ticks.

    An `Observer` of these `dialects` hears everything in the order in which it was sent; `violations` holds its accusations.
    `strict`: it holds both to the letter; None: there is no observer.

    `on_client` and `on_server` are called with the connection and each of its events, as soon as it is handed out.
    """

    def __init__(
        self,
        client: C,
        server: S,
        *,
        delay: int | tuple[int, int] = 0,
        chunk: int | tuple[int, int] | None = None,
        choices: Sequence[int] | Random = (),
        seconds: float | None = None,
        strict: bool | None = False,
        dialects: Sequence[Dialect[Codec]] = READABLE,
        on_client: Callable[[C, Event], object] | None = None,
        on_server: Callable[[S, Event], object] | None = None,
    ) -> None:
        self.client = client
        self.server = server
        self.delay: Final = (delay, delay) if isinstance(delay, int) else delay
        self.chunk: Final = (chunk, chunk) if isinstance(chunk, int) else chunk
        self.seconds: Final = seconds
        self.strict: Final = strict
        self.dialects: Final = tuple(dialects)
        self.on_client: Final = on_client
        self.on_server: Final = on_server
        self.transcript: Final = Transcript(self.dialects[0] if self.dialects else DEFAULT)
        self.moment = 0
        """Steps so far."""
        self.connections = 0
        """Connections so far, this one included."""
        self.broken = False
        self.violations: list[Violation] = []
        """What the observer holds against either side, in all connections."""
        self._choices: Final = Choices(choices)
        self._pipes: dict[Speaker, _Pipe] = {}
        self._observer: Observer | None = None
        self._said: dict[Speaker, bytearray] = {}
        self._begin()

    def _begin(self) -> None:
        self.connections += 1
        self._pipes = {speaker: _Pipe() for speaker in SPEAKERS}
        self._said = {speaker: bytearray() for speaker in SPEAKERS}
        self.broken = False
        self.transcript.begin(self.moment, self.connections)
        self._observer = None if self.strict is None else Observer(strict=self.strict, dialects=self.dialects)

    @property
    def said(self) -> dict[Speaker, bytes]:
        """All octets that each side has said on this connection."""
        return {speaker: bytes(octets) for speaker, octets in self._said.items()}

    def reconnect(self, client: C, server: S) -> None:
        """Two new connections on a new wire; the record goes on."""
        self.client = client
        self.server = server
        self._begin()

    # --- what may go wrong --------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """The link breaks: what flies is lost, both sides hear the end."""
        if self.broken:
            return
        self.broken = True
        for speaker in SPEAKERS:
            pipe = self._pipes[speaker]
            lost = sum(len(octets) for _, octets in pipe.flying)
            pipe.flying.clear()
            if lost:
                self.transcript.note(self.moment, f"lost: {lost} octets of the {speaker}")
            self._end(speaker)
        self.transcript.note(self.moment, "the link is cut")

    def cut_after(self, speaker: Speaker, octets: int) -> None:
        """The link will break when `octets` more octets of `speaker` have arrived; 0 is before the next one."""
        self._pipes[speaker].cut_in = octets

    def half_close(self, speaker: Speaker) -> None:
        """`speaker` writes nothing more; the other side hears the end behind what flies."""
        pipe = self._pipes[speaker]
        if pipe.ends_at is None:
            pipe.ends_at = self.moment + self._choices.between(*self.delay)
            self.transcript.note(self.moment, f"the {speaker} closes its half")

    def _end(self, speaker: Speaker) -> None:
        pipe = self._pipes[speaker]
        if not pipe.ended:
            pipe.ended = True
            self._other(speaker).receive_eof()

    def _other(self, speaker: Speaker) -> C | S:
        return self.server if speaker == "client" else self.client

    # --- time ----------------------------------------------------------------------------------------------------------------

    @property
    def quiet(self) -> bool:
        """True when nothing flies and nobody has anything to say."""
        return not (
            self.client.bytes_to_send
            or self.server.bytes_to_send
            or any(pipe.flying or (pipe.ends_at is not None and not pipe.ended) for pipe in self._pipes.values())
        )

    def step(self) -> list[Heard]:
        """One step: what is due arrives, both machines tick, events are handed out, output begins to fly."""
        self.moment += 1
        for speaker in SPEAKERS:
            self._deliver(speaker)
        if self.seconds is not None:
            self.client.tick(self.moment * self.seconds)
            self.server.tick(self.moment * self.seconds)
        heard: list[Heard] = []
        while (event := self.client.next_event()) is not None:
            heard.append(("client", event))
            if self.on_client is not None:
                self.on_client(self.client, event)
        while (event := self.server.next_event()) is not None:
            heard.append(("server", event))
            if self.on_server is not None:
                self.on_server(self.server, event)
        self._take("client", self.client.data_to_send())
        self._take("server", self.server.data_to_send())
        return heard

    def run(self, steps: int = 10_000) -> list[Heard]:
        """Steps until it is quiet, `steps` at most; all events, in order."""
        heard: list[Heard] = []
        for _ in range(steps):
            new = self.step()
            heard.extend(new)
            if self.quiet and not new:
                break
        return heard

    def _take(self, speaker: Speaker, octets: bytes) -> None:
        if not octets:
            return
        self._said[speaker] += octets  # in place: what was said before is not copied
        self.transcript.hear(self.moment, speaker, octets)
        if self._observer is not None:
            self._observer.receive_data("C" if speaker == "client" else "S", octets)
            for observed in self._observer.events():
                if isinstance(observed.event, Violation):
                    self.violations.append(observed.event)
        pipe = self._pipes[speaker]
        if self.broken or pipe.ends_at is not None:
            self.transcript.note(self.moment, f"lost: {len(octets)} octets of the {speaker}, written behind the end")
            return
        at = 0
        while at < len(octets):
            size = len(octets) - at if self.chunk is None else max(1, self._choices.between(*self.chunk))
            pipe.add(self.moment + self._choices.between(*self.delay), octets[at : at + size])
            at += size

    def _deliver(self, speaker: Speaker) -> None:
        pipe = self._pipes[speaker]
        receiver = self._other(speaker)
        while pipe.flying and pipe.flying[0][0] <= self.moment and not self.broken:
            octets = pipe.flying.popleft()[1]
            if pipe.cut_in is not None and len(octets) >= pipe.cut_in:
                if pipe.cut_in:
                    receiver.receive_data(octets[: pipe.cut_in])
                self.cut()
                return
            if pipe.cut_in is not None:
                pipe.cut_in -= len(octets)
            receiver.receive_data(octets)
        if not pipe.flying and pipe.ends_at is not None and pipe.ends_at <= self.moment:
            self._end(speaker)
