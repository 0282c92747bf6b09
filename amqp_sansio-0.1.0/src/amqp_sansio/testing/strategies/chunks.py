"""Strategies of the ways in which octets may arrive."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def chunkings(draw: st.DrawFn, octets: bytes, max_cuts: int = 8) -> tuple[bytes, ...]:
    """The octets in pieces: whole, cut in up to `max_cuts` places, or all of one size (1, 7, 4096); shrinks to whole.

    No piece is empty; of no octets there is no piece.
    """
    if not octets:
        return ()
    # The cuts are drawn first and always: what is drawn in fewer choices counts as simpler.
    cuts = sorted(draw(st.sets(st.integers(1, len(octets) - 1), max_size=max_cuts))) if len(octets) > 1 else []
    size = draw(st.sampled_from([0, 0, 0, 1, 7, 4096]))
    if size:
        return tuple([octets[at : at + size] for at in range(0, len(octets), size)])
    return tuple([octets[low:high] for low, high in zip([0, *cuts], [*cuts, len(octets)], strict=True)])
