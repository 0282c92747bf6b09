"""How what is said lies in octets: what a connection and an observer need of a family's frames.

These are base classes and no protocols: a message asks a reader several things.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from amqp_sansio.limits import Limits
from amqp_sansio.wire.assembly import Assembly, Cut, KnownCommand, Malformed

Carries: TypeAlias = Callable[[int, int], bool]
"""Whether a method or command, by its class and its own number, may be followed by a content."""

FrameCut: TypeAlias = tuple[int, int, int, int, int, int, bytes]
"""A frame as it was cut: start, size, flags, segment type, track, channel, begin of the payload; 0 for what it has not."""


class Reader:
    """Reads one speaker's frames: `receive` stores; `next` cuts frames until there is something to hand out.

    `max_frame_size` is octets, all of the frame included, and may be set at any time.  `tolerant` is for an observer: what is
    cut off is handed out as incomplete; otherwise what is broken is dropped and only told as `Malformed`.  `offset` is where
    the octets begin that it is given.
    """

    def __init__(self, limits: Limits, max_frame_size: int, tolerant: bool, offset: int) -> None:
        self.limits: Final = limits
        self.max_frame_size = max_frame_size
        self.tolerant: Final = tolerant
        self.dead = False
        """A frame could not be cut: nothing more is read, what comes is only counted."""
        self.wary = False
        """Stop before octets that do not look like a frame (`plausible`), however many frames before them are at hand."""
        self.received = offset
        """Octets of the speaker's stream so far, those before this reader included."""
        self.known: Final[dict[bytes, KnownCommand[Any]]] = {}
        """What comes with every message, by the octets of its frames (limits.cached_commands), for `cut_run`."""
        self.frames = 0
        """Frames cut so far."""
        self.skipped = 0
        """Octets passed over: before a frame was found, or of a frame that did not come whole."""
        self.ahead: list[Cut] = []  # of a run, the next one last
        self.trace: list[FrameCut] | None = None
        """On request, each frame cut."""

    @property
    def offset(self) -> int:
        """Where the first frame not yet read lies in the speaker's stream."""
        raise NotImplementedError

    @property
    def buffered(self) -> int:
        """Octets received and not yet read."""
        raise NotImplementedError

    @property
    def searching(self) -> bool:
        """Whether it looks for the next frame behind lost octets."""
        raise NotImplementedError

    @property
    def unfinished(self) -> int | None:
        """Where the earliest thing under way ends so far: a unit that goes on, or a frame of which a part has come."""
        raise NotImplementedError

    @property
    def waits(self) -> bool:
        """Whether more octets are needed, as far as `next` has found out: it may want more than it knew of."""
        raise NotImplementedError

    @property
    def passed(self) -> Mapping[int, int]:
        """Octets of frames that were passed over behind what was broken off, by channel, since they were taken."""
        raise NotImplementedError

    def take_passed(self) -> Mapping[int, int]:
        """What `passed` counts; it begins anew."""
        raise NotImplementedError

    def opened(self) -> None:
        """The connection is open: units of every channel may come from now on."""
        raise NotImplementedError

    def receive(self, octets: bytes) -> None:
        """Stores octets of the stream."""
        raise NotImplementedError

    def next(self) -> Assembly | Malformed | None:
        """The next whole unit, or what is wrong with the next frame; None as long as more octets are needed."""
        raise NotImplementedError

    def plausible(self) -> bool | None:
        """Whether the next octets look like a frame at all (and not like those of a security layer); None: too few to tell.

        To be asked when `next` has nothing to hand out.
        """
        raise NotImplementedError

    def cut_run(self, head: int, most: int) -> list[Cut]:
        """The fast path for content: messages like others before them, at most so many, until one is not as plain as that.

        `head` is how many octets of bodies are wanted.  Empty where more octets are needed, and where the next one is another:
        then `next` reads the same octets with every check.
        """
        raise NotImplementedError

    def cut_ahead(self) -> Cut | None:
        """The next message of a run, the others of which are `ahead`, the next one last; None as for `cut_run`.

        Whoever takes those from `ahead` itself saves the call.
        """
        raise NotImplementedError

    def unlearn(self) -> None:
        """Forgets what is known, and what was cut ahead by it."""
        raise NotImplementedError

    def forget(self, channel: int) -> None:
        """Drops what is under way on a channel.  The rest of it, if it comes, is passed over."""
        raise NotImplementedError

    def take(self) -> bytes:
        """Takes the octets that were received and not yet read out again: they are behind a security layer."""
        raise NotImplementedError

    def lost(self, octets: int) -> None:
        """So many octets of the stream are missing behind what has been received (0: unknown where a frame begins).

        Units under way are broken off; reading goes on at the next octets that look like the first frame of one with another
        frame behind it.
        """
        raise NotImplementedError

    def break_off(self) -> bool:
        """What is under way goes no further: `next` hands it out, incomplete (to an observer).  False when nothing is."""
        raise NotImplementedError

    def end(self) -> None:
        """Nothing more comes: no frame waits for those behind it."""
        raise NotImplementedError

    def finish(self) -> None:
        """The stream has ended: what is still open is handed out, incomplete, by `next` (to an observer)."""
        raise NotImplementedError


class Framing:
    """The frames of one family: `smallest` and `largest` are octets of a frame, all of it included.

    Nothing larger than `smallest` comes or goes before the sizes are agreed on, where the letter counts.  `overhead` is how
    many octets of a frame are no payload.
    """

    def __init__(self, overhead: int, smallest: int, largest: int) -> None:
        self.overhead: Final = overhead
        self.smallest: Final = smallest
        self.largest: Final = largest

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        """A reader for one of the two sides.  `strict` takes to the letter how units are put together; `opening` holds the
        peer to a few controls of the connection until `Reader.opened` is called."""
        raise NotImplementedError

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        """A reader, tolerant, for a third person."""
        raise NotImplementedError

    def is_own(self, unit: Assembly) -> bool:
        """Whether the connection itself is spoken of, and none of its channels."""
        raise NotImplementedError

    def own(self, payload: bytes, max_frame: int) -> bytes:
        """The frame of a control of the connection.  EncodeError when it is larger than `max_frame` octets."""
        raise NotImplementedError
