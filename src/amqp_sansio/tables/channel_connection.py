"""How a connection of the older dialects begins, in the third person: its states, the rules of tune, and channel-max.

The server sends no protocol header but begins with start, and a client need not wait for the server's answers: each state
describes the progress of both sides, as "client, server".
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.limits import MAX_CHANNELS
from amqp_sansio.spec.connection import Tune, TuneOk
from amqp_sansio.tables.connection import (
    BLOCKED,
    CLIENT,
    CLOSE,
    CLOSE_OK,
    HEARTBEAT,
    OPEN,
    OPEN_OK,
    OTHER_PROTOCOL_HEADER,
    PROTOCOL_HEADER,
    REDIRECT,
    SECURE,
    SECURE_OK,
    SERVER,
    SESSION,
    START,
    START_OK,
    TUNE,
    TUNE_OK,
    UNBLOCKED,
    UPDATE_SECRET,
    UPDATE_SECRET_OK,
    Broken,
    Numbering,
    Tuning,
)

_CLIENTS: Final = ("header-sent", "authenticating", "tuned", "opening")
"""The client's progress, by what it sent last: the protocol header, start-ok, tune-ok, open."""
_SERVERS: Final = ("silent", "started", "challenged", "tuning", "open")
"""The server's progress, by what it sent last: nothing, start, secure, tune, open-ok.  Secure-ok leads back to "started"."""
_BEGUN: Final = _CLIENTS[1:]
"""From start-ok on.  The server may send secure or tune to a client that is ahead with tune-ok or open; such a client can no
longer answer secure."""
_REFUSED: Final = "version-refused"


# --- the states -----------------------------------------------------------------------------------------------------------


def _refused(client: str) -> str:
    """Returns the state after the server has answered with its own version and closed; `client`: the client's progress.

    What the client still sends was in flight.
    """
    return _REFUSED if client == _CLIENTS[0] else f"{_REFUSED}, {client}"


def _rows() -> list[Row]:
    rows = [Row("not-begun", CLIENT, PROTOCOL_HEADER, "header-sent, silent")]
    # A word, the client's and the server's progress in which it is legal, and the progress of both after it (None: as before).
    moves = (
        (CLIENT, START_OK, ("header-sent",), ("silent", "started"), "authenticating", None),
        (CLIENT, TUNE_OK, ("authenticating",), ("silent", "started", "tuning"), "tuned", None),
        (CLIENT, OPEN, ("tuned",), _SERVERS[:-1], "opening", None),
        (CLIENT, SECURE_OK, ("authenticating",), ("challenged",), None, "started"),
        (CLIENT, SESSION, ("opening",), _SERVERS, None, None),
        (SERVER, START, _CLIENTS, ("silent",), None, "started"),
        (SERVER, SECURE, _BEGUN, ("started",), None, "challenged"),
        (SERVER, TUNE, _BEGUN, ("started",), None, "tuning"),
        (SERVER, OPEN_OK, ("opening",), ("tuning",), None, "open"),
        (SERVER, SESSION, ("opening",), ("open",), None, None),
        (CLIENT, UPDATE_SECRET, ("opening",), _SERVERS, None, None),
        (SERVER, UPDATE_SECRET_OK, ("opening",), ("open",), None, None),
        (SERVER, BLOCKED, ("opening",), ("open",), None, None),
        (SERVER, UNBLOCKED, ("opening",), ("open",), None, None),
    )
    for speaker, verb, clients, servers, client_next, server_next in moves:
        for client in clients:
            for server in servers:
                after = f"{client_next or client}, {server_next or server}"
                rows.append(Row(f"{client}, {server}", speaker, verb, after))
    rows.append(Row("opening, tuning", SERVER, REDIRECT, "redirected"))
    rows.append(Row("redirected", CLIENT, SESSION, "redirected"))
    states = list(dict.fromkeys([row.next_state for row in rows if ", " in row.next_state]))
    # A server that refuses the version says so instead of start.
    rows += [Row(f"{client}, silent", SERVER, OTHER_PROTOCOL_HEADER, _refused(client)) for client in _CLIENTS]
    rows.append(Row(_refused("opening"), CLIENT, UPDATE_SECRET, _refused("opening")))
    for client, verb, then in zip(_CLIENTS, (START_OK, TUNE_OK, OPEN, SESSION), (*_CLIENTS[1:], _CLIENTS[-1]), strict=True):
        rows.append(Row(_refused(client), CLIENT, verb, _refused(then)))
    rows += [Row(_refused(client), CLIENT, verb, _refused(client)) for client in _CLIENTS for verb in (HEARTBEAT, CLOSE)]
    # A heartbeat is not a method and may come at any time; the close machines judge a close and its answer.
    rows += [
        Row(state, speaker, verb, state)
        for state in [*states, "redirected"]
        for speaker in (CLIENT, SERVER)
        for verb in (HEARTBEAT, CLOSE, CLOSE_OK)
    ]
    return rows


PIPELINED: Final = Table(
    "connection handshake, pipelined", "not-begun", _rows(), final=[*map(_refused, _CLIENTS), "redirected"]
)
"""connection = C:HDR S:START C:START-OK (S:SECURE C:SECURE-OK)* S:TUNE C:TUNE-OK C:OPEN (S:OPEN-OK use* | S:REDIRECT), where
the client's words, except secure-ok, may precede what they answer."""


# --- tune and tune-ok -----------------------------------------------------------------------------------------------------

MINIMUM: Final = "frame-max.minimum"
"""The rule that a frame-max below the smallest allowed one breaks."""
_UNLIMITED: Final = 1 << 32
"""More than any field of tune can say."""


class IntervalTuning(Tuning):
    """The rules of tune and tune-ok in the older dialects, where the number 0 means no limit.

    There is a single heartbeat interval, in seconds: tune has the one that the server wants, tune-ok the one that applies.
    """

    def said_offer(self, offer: Tune) -> Tune:
        """Returns the tune of a server with these settings, whose heartbeats have a range: it has the longest interval, or the
        shortest when there is no longest, or 0 when there is no range."""
        low, high = offer.heartbeat_min, offer.heartbeat_max
        return Tune(offer.channel_max, offer.max_frame_size, None, 0 if low is None else low if high is None else high)

    def heard_offer(self, tune: Tune) -> Tune:
        """Returns an offer as clients and servers interpret it: 0 counts as absent."""
        return Tune(tune.channel_max or None, tune.max_frame_size or None, None, tune.heartbeat_max or None)

    def heard_answer(self, tune_ok: TuneOk) -> TuneOk:
        """Returns an answer as clients and servers interpret it: 0 counts as absent.

        `broken_by_answer` comes first: it lets 0 pass only where the offer had no limit either.
        """
        return TuneOk(tune_ok.channel_max or None, tune_ok.max_frame_size or None, tune_ok.heartbeat)

    def broken_by_offer(self, tune: Tune, smallest: int) -> list[Broken]:
        """Returns the rules that an offer breaks."""
        return _too_small(tune.max_frame_size, smallest)

    def broken_by_answer(self, offer: Tune, answer: TuneOk, smallest: int) -> list[Broken]:
        """Returns the rules that an answer to this offer breaks; 0, no limit, exceeds any number."""
        broken = _too_small(answer.max_frame_size, smallest)
        for field, said, offered in (
            ("channel-max", answer.channel_max, offer.channel_max),
            ("frame-max", answer.max_frame_size, offer.max_frame_size),
        ):
            if offered and (said or _UNLIMITED) > offered:
                broken.append(Broken(f"{field}.upper-limit", field, said or 0, f"1 to {offered}"))
        return broken

    def interval_agreed(self, wanted: int, offer: Tune) -> int:
        """Returns the heartbeat interval in seconds: the shorter one, or the only one when the other side says 0; 0: none."""
        offered = offer.heartbeat_max or 0
        return min(wanted, offered) or max(wanted, offered)


def _too_small(size: int | None, smallest: int) -> list[Broken]:
    if not size or size >= smallest:
        return []
    return [Broken(MINIMUM, "frame-max", size, f"0 or at least {smallest}")]


INTERVAL: Final = IntervalTuning()
"""The rules of tune of every older dialect."""


# --- channel-max ----------------------------------------------------------------------------------------------------------

_RULE: Final = "connection.tune-ok.channel-max"
_HIGHEST_NUMBER: Final = MAX_CHANNELS - 1


def _highest(channel_max: int, strict: bool) -> int:
    """Returns the highest channel number that is allowed.

    Unless `strict`, that is any: aiormq opens channel 65535 whatever was agreed, and RabbitMQ counts open channels.
    """
    return channel_max if strict else _HIGHEST_NUMBER


HIGHEST: Final = Numbering(_highest, _RULE)
"""0-9-1: channels are numbered from 1 to channel-max."""
COUNT: Final = Numbering(lambda channel_max, strict: _HIGHEST_NUMBER, _RULE, counted=True)
"""0-8 and 0-9: at most channel-max channels may be open at a time, with any numbers."""
