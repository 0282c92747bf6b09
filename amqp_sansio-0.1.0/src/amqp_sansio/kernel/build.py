"""Which version and which build this is: of the sources as they are, or compiled (see docs/how-to/compiled.md)."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The version of the library, as pyproject.toml has it."""

COMPILED: Final[bool] = not __file__.endswith(".py")
"""Whether this module, and with it the core, is machine code.  There a constructor costs less than what is done to avoid it."""
