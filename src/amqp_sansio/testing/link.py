"""The choices of a simulation; they always come from the caller, so that a run can be repeated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle
from random import Random
from typing import Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from amqp_sansio.dialects import DEFAULT, READABLE, Dialect
from amqp_sansio.engine.observer import Observer
from amqp_sansio.events import Event, Violation
from amqp_sansio.testing.transcript import Transcript
from amqp_sansio.wire.codec import Codec


class _Choices:
    """Chooses by a list of numbers, which repeats when it ends, or by a `random.Random` that the caller has seeded."""

    def __init__(self, source: Sequence[int] | Random = ()) -> None:
        self._source: Final = source if isinstance(source, Random) else cycle(source or (0,))

    def between(self, low: int, high: int) -> int:
        """Returns a number from `low` to `high`, both included, or `low` when there is no choice or no source."""
        if high <= low:
            return low
        if isinstance(self._source, Random):
            return self._source.randint(low, high)
        return low + next(self._source) % (high - low + 1)


class End(Protocol):
    """One end of a link: a connection of any family, or an object that behaves like one."""

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
"""The side that had the event, and the event."""

SPEAKERS: Final[tuple[Speaker, Speaker]] = ("client", "server")


class _Pipe:
    """Octets that one side has sent and the other has not yet received."""

    def __init__(self) -> None:
        self.said = bytearray()
        """All octets, on this connection."""
        self.flying: deque[tuple[int, bytes]] = deque()
        """Octets with the step at which they are due.  They never overtake others: they wait for those sent earlier."""
        self.ends_at: int | None = None  # the first step at which the other side may see the end, after all octets in flight
        self.ended = False
        self.cut_in: int | None = None  # octets left until the link breaks


class Link(Generic[C, S]):
    """A client and a server with a wire between them.

    `delay` is the number of steps that octets are in flight: a number, or a pair of bounds between which one is chosen each
    time.  `chunk` is the number of octets that arrive at once: None for chunks as written, a number, or a pair of bounds.
    `choices`, a list of numbers or a `random.Random`, makes these choices.  `seconds` is the length of a step on the machines'
    clock; with None, the link does not call `tick`.

    An `Observer` of these `dialects` receives everything in the order in which it was sent; `violations` holds what it found.
    `strict` makes it judge by the letter of the specification; with None, there is no observer.

    The link calls `on_client` and `on_server` with the connection and each of its events as soon as it takes the event.
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
        """The number of steps taken so far."""
        self.connections = 0
        """The number of connections so far, including this one."""
        self.broken = False
        self.violations: list[Violation] = []
        """The violations by either side that the observer found, over all connections."""
        self._choices: Final = _Choices(choices)
        self._pipes: dict[Speaker, _Pipe] = {}
        self._observer: Observer | None = None
        self._begin()

    def _begin(self) -> None:
        self.connections += 1
        self._pipes = {speaker: _Pipe() for speaker in SPEAKERS}
        self.broken = False
        self.transcript.begin(self.moment, self.connections)
        self._observer = None if self.strict is None else Observer(strict=self.strict, dialects=self.dialects)

    @property
    def said(self) -> dict[Speaker, bytes]:
        """All octets that each side has sent on this connection."""
        return {speaker: bytes(pipe.said) for speaker, pipe in self._pipes.items()}

    def reconnect(self, client: C, server: S) -> None:
        """Joins two new connections by a new wire; the transcript and the violations continue."""
        self.client = client
        self.server = server
        self._begin()

    # --- faults ---------------------------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Breaks the link: octets in flight are lost, and both sides see the end of the stream."""
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
        """Breaks the link when `octets` more octets of `speaker` have arrived; 0 breaks it before the next one."""
        self._pipes[speaker].cut_in = octets

    def half_close(self, speaker: Speaker) -> None:
        """Ends the stream of `speaker`: the other side sees the end after the octets in flight."""
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
        """Whether no octets are in flight and neither side has any to send."""
        return not (
            self.client.bytes_to_send
            or self.server.bytes_to_send
            or any(pipe.flying or (pipe.ends_at is not None and not pipe.ended) for pipe in self._pipes.values())
        )

    def step(self) -> list[Heard]:
        """Takes one step: octets that are due arrive, both machines tick, events are taken, and output is put on the wire."""
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
        """Takes steps until the link is quiet, at most `steps`, and returns all events in order."""
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
        pipe = self._pipes[speaker]
        pipe.said += octets  # in place, so that earlier octets are not copied
        self.transcript.hear(self.moment, speaker, octets)
        if self._observer is not None:
            self._observer.receive_data("C" if speaker == "client" else "S", octets)
            for observed in self._observer.events():
                if isinstance(observed.event, Violation):
                    self.violations.append(observed.event)
        if self.broken or pipe.ends_at is not None:
            self.transcript.note(self.moment, f"lost: {len(octets)} octets of the {speaker}, written after the end")
            return
        at = 0
        while at < len(octets):
            size = len(octets) - at if self.chunk is None else max(1, self._choices.between(*self.chunk))
            pipe.flying.append((self.moment + self._choices.between(*self.delay), octets[at : at + size]))
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
