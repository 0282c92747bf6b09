"""The version and the build: Python sources, or compiled (see docs/how-to/compiled.md)."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The version of the library, as in pyproject.toml."""

COMPILED: Final[bool] = not __file__.endswith(".py")
"""Whether this module, and with it the core, is compiled.  In the compiled build a constructor costs less than avoiding it."""
