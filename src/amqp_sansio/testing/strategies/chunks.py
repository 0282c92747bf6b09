"""Strategies of the chunks in which octets may arrive."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def chunkings(draw: st.DrawFn, octets: bytes, max_cuts: int = 8) -> tuple[bytes, ...]:
    """Generates the octets in pieces: whole, cut in up to `max_cuts` places, or of one size (1, 7, 4096).  Shrinks to whole.

    No piece is empty; no octets give no pieces.
    """
    if not octets:
        return ()
    # The cuts are always drawn first: hypothesis takes fewer choices for simpler.
    cuts = sorted(draw(st.sets(st.integers(1, len(octets) - 1), max_size=max_cuts))) if len(octets) > 1 else []
    size = draw(st.sampled_from([0, 0, 0, 1, 7, 4096]))
    if size:
        return tuple([octets[at : at + size] for at in range(0, len(octets), size)])
    return tuple([octets[low:high] for low, high in zip([0, *cuts], [*cuts, len(octets)], strict=True)])
