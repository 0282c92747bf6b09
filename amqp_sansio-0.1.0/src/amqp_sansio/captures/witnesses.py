"""Observers for conversations in captures."""

from __future__ import annotations

from collections.abc import Sequence

from amqp_sansio.captures.conversation import MakeWitness, Witness
from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.engine.observer import Observer
from amqp_sansio.wire.codec import Codec


def observers(strict: bool = False, frames: bool = False, dialects: Sequence[Dialect[Codec]] = DIALECTS) -> MakeWitness:
    """Makes observers; `strict` reports also what deployed peers do everywhere against the letter, `frames` every frame.

    A conversation says in its protocol header which of the `dialects` it is in; in one whose beginning is missing the frames
    tell, where these are not the same in all of them.
    """

    def make(middle: bool) -> Witness:
        return Observer(strict=strict, frames=frames, dialects=dialects, middle=middle)

    return make
