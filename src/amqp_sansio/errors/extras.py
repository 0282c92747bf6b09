"""What to install when an import fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def of_extra(extra: str) -> Iterator[None]:
    """Raises ModuleNotFoundError that names the extra, when an import in the block fails because it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = f"{error.name} is not installed: pip install 'amqp-sansio[{extra}]'"
        raise ModuleNotFoundError(missing, name=error.name) from None
