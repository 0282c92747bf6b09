"""What the opening of a connection tells an observer about the octets that follow: their frames' size, or a security layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from amqp_sansio.engine.ear import Ear
from amqp_sansio.engine.witness_handshake import HandshakeWitness
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import OpenOk, StartOk, TuneOk

UNHEARD: Final = "no frame is there; a security layer may have been agreed on before, which nobody heard"
"""Why a stream that starts in its middle may not be frames at all, although something in it looked like one."""

Ears = Mapping[Literal["C", "S"], Ear]


def unheard(ears: Ears, handshake: HandshakeWitness) -> None:
    """We missed something: the mechanism may have been in it, and the other side need not begin with a header."""
    for ear in ears.values():
        ear.joined = ear.joined or not ear.received
        if not handshake.mechanism:
            ear.doubt = ear.doubt or UNHEARD


def heard(speaker: Literal["C", "S"], ears: Ears, control: Control, handshake: HandshakeWitness) -> None:
    """`speaker` says a control of class connection."""
    ear = ears[speaker]
    if ear.reader is None:
        return
    if (isinstance(control, TuneOk) and speaker == "C") or (isinstance(control, OpenOk) and speaker == "S"):
        ear.reader.max_frame_size = handshake.max_frame_size
    if isinstance(control, StartOk) and handshake.mechanism:
        # A layer begins where authentication ends, or behind open, as in qpidd: nobody says whether there is one, or from when.
        behind = f"behind the security layer of {handshake.mechanism[:40]}" if handshake.layered else ""
        for each in ears.values():
            each.doubt = behind or ("" if each.doubt == UNHEARD else each.doubt)
