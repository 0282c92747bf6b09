"""Observers for conversations in captures."""

from __future__ import annotations

from amqp_sansio.captures.conversation import MakeWitness, Witness
from amqp_sansio.dialects import DEFAULT
from amqp_sansio.engine.observer import Observer


def observers(strict: bool = False, frames: bool = False) -> MakeWitness:
    """Makes observers; `strict` reports also what deployed peers do everywhere against the letter, `frames` every frame.

    A conversation heard from its middle is taken for AMQP 0-10; the others say in their protocol header what they are.
    """

    def make(middle: bool) -> Witness:
        return Observer(DEFAULT if middle else None, strict=strict, frames=frames)

    return make
