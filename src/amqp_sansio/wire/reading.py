"""How octets are read: the limits that concern types, and how strict to be."""

from __future__ import annotations

from typing import Final, final

import attrs

from amqp_sansio.limits import DEFAULT_LIMITS, Limits


@final  # so that a look at its type is as good as isinstance, and quicker
@attrs.frozen
class Reading:
    """What decoding a value may cost, and what it lets pass.  The first three are the limits of the same name."""

    nesting: int = DEFAULT_LIMITS.nesting
    zero_width_elements: int = DEFAULT_LIMITS.zero_width_elements
    ranges: int = DEFAULT_LIMITS.ranges
    text: str = "strict"
    """What happens to text that is no UTF-8: "strict" makes it an error (531); "surrogateescape" keeps each bad octet as one
    surrogate, as Python does for file names (such text cannot be encoded again)."""
    distinct_keys: bool = False
    """Whether a key that comes twice in a map is an error; otherwise the last one counts."""

    @classmethod
    def of(cls, limits: Limits, lossy: bool = False, distinct_keys: bool = False) -> Reading:
        """The reading that keeps these limits."""
        text = "surrogateescape" if lossy else "strict"
        return cls(limits.nesting, limits.zero_width_elements, limits.ranges, text, distinct_keys)


DEFAULT_READING: Final = Reading()
