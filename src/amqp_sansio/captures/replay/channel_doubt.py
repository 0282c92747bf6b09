"""What is in doubt on the channels of a connection in an older dialect, from its methods; `doubt` does so for sessions."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.captures.replay.doubt import Doubt
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.events.observed import MethodSeen
from amqp_sansio.ledger.pending_replies import PendingReplies
from amqp_sansio.ledger.tags import Deliveries, Tags
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.connection import Close, CloseOk
from amqp_sansio.tables.channel import (
    ANSWERS,
    ANY_TIME,
    CLOSE,
    CLOSE_OK,
    COMMIT,
    OPEN,
    REPLIES,
    ROLLBACK,
    SELECT_CONFIRM,
    SELECT_TX,
)

_DELIVERS: Final = ("basic.deliver", "basic.get-ok")
_SETTLES: Final = ("basic.ack", "basic.nack", "basic.reject")
_RECOVERS: Final = ("basic.recover", "basic.recover-async", "basic.recover-sync")


class _Asked(NamedTuple):
    """A method that awaits its answer: the last publish that the server has taken when it answers, and whether what it asks for
    needs no settling."""

    taken: int
    no_ack: bool


_NOTHING: Final = _Asked(0, False)


def _bit(method: Method, name: str) -> bool:
    return bool(getattr(method, name, False))


def _tag(method: Method) -> int:
    return int(getattr(method, "delivery_tag", 0))


def _text(method: Method) -> str:
    return str(getattr(method, "consumer_tag", ""))


class _OpenChannel:
    """What is outstanding on one channel."""

    __slots__ = ("_asked", "_base", "_consumers", "_deliveries", "_limits", "_mode", "_published", "commits", "refused")

    def __init__(self, limits: Limits) -> None:
        self._limits: Final = limits
        self._asked: Final[PendingReplies[_Asked]] = PendingReplies()
        self._mode = ""
        """The select that set it; "" where there was none."""
        self._published: Final = Tags(False)
        self._base = 0
        """The last publish before confirms were selected."""
        self._deliveries: Final = Deliveries(False)
        self._consumers: Final[dict[str, bool]] = {}
        """By consumer tag: whether its messages need no settling."""
        self.commits = 0
        self.refused = False
        """The server has closed the channel, and takes nothing more."""

    def hear(self, speaker: Speaker, verb: str, method: Method) -> None:
        """Takes a method, but for those that open and close the channel."""
        if speaker == "C":
            self._of_client(verb, method)
        elif not self.refused:
            self._of_server(verb, method)

    def _of_client(self, verb: str, method: Method) -> None:
        if verb == "basic.publish":
            self._published.give_next()
            self._published.bound(self._limits.ranges)
        elif verb in _SETTLES:
            tag, tags = _tag(method), self._deliveries.tags
            tags.doubt |= tag > tags.last  # its delivery was captured later, if there was one
            self._deliveries.settle(tag, _bit(method, "multiple"), self._mode == SELECT_TX)
        elif verb in _RECOVERS:
            self._deliveries.recover(self._limits.ranges)
        elif verb == SELECT_CONFIRM:
            if not self._mode:
                self._base = self._published.last
            self._mode = verb
        elif verb == SELECT_TX:
            self._mode = verb
        elif verb == COMMIT:
            self._deliveries.commit()
            self.commits += self._mode == SELECT_TX
        elif verb == ROLLBACK:
            self._deliveries.roll_back()
        if verb in REPLIES and not _bit(method, "no_wait"):
            self._ask(verb, method)
        elif verb == "basic.consume":
            self._consumers[_text(method)] = _bit(method, "no_ack")

    def _ask(self, verb: str, method: Method) -> None:
        taken = 0
        if self._mode == SELECT_TX:
            taken = self._published.last if verb in (COMMIT, ROLLBACK) else 0
        elif verb not in ANY_TIME:
            taken = self._base if self._mode else self._published.last
        self._asked.ask(verb, _Asked(taken, _bit(method, "no_ack")))
        self._asked.bound(self._limits.replay_commands)

    def _of_server(self, verb: str, method: Method) -> None:
        answered = self._asked.answer(verb) if verb in ANSWERS else None
        asked = _NOTHING if answered is None else answered.kept
        if asked.taken:
            self._published.take(asked.taken, True)
        if verb == "basic.consume-ok":
            self._consumers[_text(method)] = asked.no_ack
        elif verb in _DELIVERS:
            settled = asked.no_ack if verb == "basic.get-ok" else self._consumers.get(_text(method), False)
            self._deliveries.deliver(_tag(method), settled)
            self._deliveries.bound(self._limits.ranges)
        elif verb in _SETTLES and self._mode == SELECT_CONFIRM:
            tag = _tag(method)
            number = tag and tag + self._base
            self._published.doubt |= number > self._published.last  # its publish was captured later, if there was one
            self._published.take(number, _bit(method, "multiple"))
        elif answered is not None and answered.verb == COMMIT and self.commits:
            self.commits -= 1
        elif answered is not None and answered.verb in _RECOVERS:
            self._deliveries.tags.settle_all()  # what came since was on its way when the server took everything back

    def closed(self) -> None:
        """Notes that the server has answered the client's close: it has taken what was published before it, unless that needs a
        confirm or a commit."""
        if not self._mode and not self.refused:
            self._published.settle_all()

    def doubt(self) -> Doubt:
        """Returns what is in doubt on it when nothing more comes; nothing where we may have missed something."""
        if self._mode == SELECT_TX:
            self._deliveries.roll_back()  # nobody has committed that
        publishes, deliveries = [0 if each.doubt else each.count for each in (self._published, self._deliveries.tags)]
        return Doubt(publishes, deliveries, self.commits)


class ChannelDoubt:
    """Follows the channels of one connection, each from its channel.open on: messages of class basic, and transactions.

    A publish is in doubt until the server has confirmed it or has answered the commit or rollback of its transaction; without
    confirms and transactions, until it has answered a later method.  A delivery is in doubt until the client has settled it, or
    has asked for all of them again.
    """

    __slots__ = ("_channels", "_closing", "_ended", "_limits")

    def __init__(self, limits: Limits) -> None:
        self._limits: Final = limits
        self._channels: Final[dict[int, _OpenChannel]] = {}
        self._closing = False
        """The client has sent connection.close."""
        self._ended = Doubt()

    def method(self, speaker: Speaker, said: MethodSeen) -> None:
        """Takes a method on a channel."""
        verb, method, number = said.verb, said.method, said.channel
        if verb == OPEN:
            self._end(number)
            self._channels[number] = _OpenChannel(self._limits)
            return
        channel = self._channels.get(number)
        if channel is None:
            return
        if method is None:  # whatever it says, the other side may have read it
            del self._channels[number]
        elif verb == CLOSE_OK:
            if speaker == "S":
                channel.closed()
            self._end(number)
        elif speaker == "S" and verb == CLOSE:
            channel.refused = True
        elif speaker == "C" or said.complete:
            channel.hear(speaker, verb, method)

    def control(self, speaker: Speaker, said: Control | None) -> None:
        """Takes a method of class connection: when the server has answered the client's close, it has taken all before it."""
        if speaker == "C":
            self._closing = self._closing or isinstance(said, Close)
        elif self._closing and isinstance(said, CloseOk):
            for number, channel in list(self._channels.items()):
                channel.closed()
                self._end(number)

    def lost(self) -> None:
        """Notes that octets are missing: what is open may be settled in them."""
        self._channels.clear()

    def doubt(self) -> Doubt:
        """Returns what is in doubt at the end of the connection."""
        for number in list(self._channels):
            self._end(number)
        return self._ended

    def _end(self, number: int) -> None:
        channel = self._channels.pop(number, None)
        if channel is not None:
            self._ended = self._ended.with_(channel.doubt())
