"""The command line, one module per verb."""

from __future__ import annotations

from typing import Final

INTERRUPTED: Final = 130
"""Exit status of a command that an interrupt has ended."""
