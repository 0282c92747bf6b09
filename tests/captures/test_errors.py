"""An error of a capture file names file, packet and octet in one line, and travels between processes."""

from __future__ import annotations

import errno
import pickle

import pyarrow as pa
import pytest

from amqp_sansio.captures.errors import CaptureError, OutOfDisk, OutOfMemory, PipelineError, PlaceError, told


@pytest.mark.parametrize(("packet", "line"), [(3, "a.pcap: packet 3, octet 40: too short"), (0, "a.pcap: octet 40: too short")])
def test_an_error_says_where(packet: int, line: str) -> None:
    error = CaptureError("a.pcap", packet, 40, "too short")
    assert str(error) == line
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (line, vars(error))


@pytest.mark.parametrize(("error", "kind", "said"), [
    (OSError(errno.ENOSPC, "x"), OutOfDisk, "the work failed: No space left on device"),
    (OSError(errno.EDQUOT, "x"), OutOfDisk, "the work failed: Disk quota exceeded"),
    (OSError("Error writing bytes. Detail: [errno 28] No space left on device"), OutOfDisk,
     "the work failed: Error writing bytes. Detail: [errno 28] No space left on device"),
    (OSError(errno.EIO, "x"), PipelineError, "the work failed: Input/output error"),
    (MemoryError(), OutOfMemory, "the work failed: out of memory"),
    (pa.ArrowMemoryError("malloc of size 9 failed"), OutOfMemory, "the work failed: out of memory (malloc of size 9 failed)"),
    (PlaceError("/out: cannot be written: No space left on device"), OutOfDisk,
     "/out: cannot be written: No space left on device"),
    (PlaceError("/out: another run is writing there"), PipelineError, "/out: another run is writing there"),
    (CaptureError("a.pcap", 0, 0, "no such file"), PipelineError, "a.pcap: no such file"),
])  # fmt: skip
def test_each_is_one_sentence(error: BaseException, kind: type[PipelineError], said: str) -> None:
    with pytest.raises(PipelineError) as raised, told("the work failed"):
        raise error
    assert (type(raised.value), str(raised.value)) == (kind, said)


def test_our_own_mistakes_are_left_alone() -> None:
    with pytest.raises(ZeroDivisionError), told("the work failed"):
        raise ZeroDivisionError
