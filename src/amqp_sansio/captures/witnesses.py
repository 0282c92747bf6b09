"""Makes observers for conversations in captures."""

from __future__ import annotations

from collections.abc import Sequence

from amqp_sansio.captures.conversation import MakeWitness, Witness
from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.engine.observer import Observer
from amqp_sansio.wire.codec import Codec


def observers(strict: bool = False, frames: bool = False, dialects: Sequence[Dialect[Codec]] = DIALECTS) -> MakeWitness:
    """Returns a factory of observers; `strict` also reports deviations that all deployed peers have, `frames` every frame.

    A conversation's protocol header selects one of the `dialects`; where the beginning is missing its frames do, as far as they
    differ between dialects.
    """

    def make(middle: bool) -> Witness:
        return Observer(strict=strict, frames=frames, dialects=dialects, middle=middle)

    return make
