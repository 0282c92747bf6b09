"""Which broker a store belongs to: a name that clients compare, made once and kept beside the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from amqp_sansio.adapters.mark import write_whole

FILE: Final = "broker.tag"


def new_tag() -> str:
    """A tag that no other broker has."""
    return str(uuid4())


def kept_tag(directory: str | os.PathLike[str]) -> str:
    """The tag in the directory of a store, made when there is none or what is there is none.  OSError.

    To be called by whoever has the store open: two that make one at the same time would not agree.
    """
    path = Path(directory) / FILE
    try:
        return str(UUID(path.read_text("ascii").strip()))
    except (FileNotFoundError, ValueError):  # what cannot be decoded is a ValueError, too
        made = new_tag()
        write_whole(path, made.encode() + b"\n")
        return made
