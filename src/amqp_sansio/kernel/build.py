"""Which build this is: of the sources as they are, or compiled (see docs/how-to/compiled.md)."""

from __future__ import annotations

from typing import Final

COMPILED: Final[bool] = not __file__.endswith(".py")
"""Whether this module, and with it the core, is machine code.  There a constructor costs less than what is done to avoid it."""
