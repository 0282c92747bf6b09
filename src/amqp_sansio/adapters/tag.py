"""The tag of a store: a name of its broker that clients compare, made once and kept beside the store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from amqp_sansio.adapters.mark import write_whole

FILE: Final = "broker.tag"


def new_tag() -> str:
    """Returns a tag that no other broker has."""
    return str(uuid4())


def kept_tag(directory: str | os.PathLike[str]) -> str:
    """Returns the tag in the directory of a store; makes a new one when there is none or it is not valid.  Raises OSError.

    Only the process that has the store open may call it: two processes that make one at the same time would not agree.
    """
    path = Path(directory) / FILE
    try:
        return str(UUID(path.read_text("ascii").strip()))
    except (FileNotFoundError, ValueError):  # a UnicodeDecodeError is a ValueError
        made = new_tag()
        write_whole(path, made.encode() + b"\n")
        return made
