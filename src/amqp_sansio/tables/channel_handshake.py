"""The opening of a connection in the older dialects, in the third person.

The server sends no protocol header but begins with start, and a client need not wait for the server's answers: each state
describes the progress of both sides.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.machine import Row, Table
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
)

_CLIENTS: Final = ("header-sent", "authenticating", "tuned", "opening")
"""The client's progress: what it sent last."""
_SERVERS: Final = ("silent", "started", "challenged", "tuning", "open")
"""The server's progress: what it sent last."""
_AHEAD: Final = _CLIENTS[1:]
"""Where the server may send a challenge or tune; after tune-ok the client cannot answer a challenge any more."""
_REFUSED: Final = "version-refused"


def _refused(client: str) -> str:
    """Returns the state in which the server has sent its own version and closed; what the client sends was in flight."""
    return _REFUSED if client == _CLIENTS[0] else f"{_REFUSED}, {client}"


def _rows() -> list[Row]:
    rows = [Row("not-begun", CLIENT, PROTOCOL_HEADER, "header-sent, silent")]
    moves = (
        (CLIENT, START_OK, ("header-sent",), ("silent", "started"), "authenticating", None),
        (CLIENT, TUNE_OK, ("authenticating",), ("silent", "started", "tuning"), "tuned", None),
        (CLIENT, OPEN, ("tuned",), _SERVERS[:-1], "opening", None),
        (CLIENT, SECURE_OK, ("authenticating",), ("challenged",), None, "started"),
        (CLIENT, SESSION, ("opening",), _SERVERS, None, None),
        (SERVER, START, _CLIENTS, ("silent",), None, "started"),
        (SERVER, SECURE, _AHEAD, ("started",), None, "challenged"),
        (SERVER, TUNE, _AHEAD, ("started",), None, "tuning"),
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
    rows += [Row(f"{client}, silent", SERVER, OTHER_PROTOCOL_HEADER, _refused(client)) for client in _CLIENTS]
    rows.append(Row(_refused("opening"), CLIENT, UPDATE_SECRET, _refused("opening")))
    for client, verb, then in zip(_CLIENTS, (START_OK, TUNE_OK, OPEN, SESSION), (*_CLIENTS[1:], _CLIENTS[-1]), strict=True):
        rows.append(Row(_refused(client), CLIENT, verb, _refused(then)))
    rows += [Row(_refused(client), CLIENT, verb, _refused(client)) for client in _CLIENTS for verb in (HEARTBEAT, CLOSE)]
    # A heartbeat is not a method, and the close machines judge a close and its answer.
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
