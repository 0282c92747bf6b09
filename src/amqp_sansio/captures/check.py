"""The public call that checks a capture: `for verdict in check_capture("traffic.pcapng"): ...`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from amqp_sansio.captures.conversation import Finding, observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.verdicts import Verdict, verdicts
from amqp_sansio.captures.walk import Warn
from amqp_sansio.dialects import readable
from amqp_sansio.errors import AmqpError

__all__ = ["CaptureError", "Finding", "Verdict", "check_capture"]


def check_capture(
    path: str | PathLike[str],
    *,
    ports: Iterable[int] = (),
    strict: bool = False,
    dialects: Sequence[str] = (),
    warn: Warn | None = None,
) -> Iterator[Verdict]:
    """Checks the capture file at `path`: pcap or pcapng, perhaps compressed.

    Yields one verdict per connection, in the order of their ends.  It is "clean", "violations" or "not judged", and lists its
    findings: which side broke which rule, in which packet.

    `ports` are server ports whose connections are taken for AMQP even if they were open before the capture began; `strict` also
    reports deviations that deployed brokers accept; `dialects` names dialects to use instead of those with the same header,
    such as "0-10 final"; `warn` is called with one sentence about each oddity of the file that does not stop the reading.

    Raises AmqpError at once for an unknown dialect.  Raises CaptureError when the file cannot be read, or not to its end, after
    the verdicts on the part before.
    """
    try:
        chosen = readable(dialects)
    except KeyError as error:
        raise AmqpError(f"no dialect is called {error.args[0]!r}") from None
    return verdicts(os.fspath(path), observers(strict, dialects=chosen), ports, warn or (lambda text: None), ReplayOptions())
