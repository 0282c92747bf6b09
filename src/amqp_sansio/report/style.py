"""The style of the page, and its only script, which zooms: `page.css` and `page.js`, as included in the page."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

_HERE: Final = files("amqp_sansio.report")
CSS: Final = (_HERE / "page.css").read_text(encoding="utf-8")
SCRIPT: Final = (_HERE / "page.js").read_text(encoding="utf-8")
