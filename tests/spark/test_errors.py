"""The errors of the pipeline are errors of the library, so that the command line says them in one line."""

from __future__ import annotations

from subprocess import TimeoutExpired
from unittest.mock import Mock

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext

from amqp_sansio.captures.errors import CHANGED
from amqp_sansio.captures.pcap import PcapWalk
from amqp_sansio.captures.splits import INDEX, SplitError
from amqp_sansio.errors import AmqpError, BranchFailed, SessionFailed
from amqp_sansio.spark.errors import (
    LASTING,
    LiveError,
    LiveLossError,
    LiveSetupError,
    MissingExtra,
    MissingJava,
    OutOfDisk,
    OutOfMemory,
    PipelineError,
    reason_of,
    refused,
    remedied,
    told,
)


@pytest.mark.parametrize("kind", [PipelineError, MissingJava, MissingExtra])
def test_an_error_of_the_pipeline_is_one_of_the_library(kind: type[PipelineError]) -> None:
    assert issubclass(kind, AmqpError)
    assert str(kind("one sentence")) == "one sentence"


IN_A_WORKER = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
OSError: [Errno 28] No space left on device
"""
OURS = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure: Lost task 0.3
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "x.py", line 1
amqp_sansio.captures.errors.CaptureError: some.pcap: packet 3, octet 99: a record claims too much

\tat org.apache.spark.Something(Something.scala:1)
"""
LOST = """Job aborted due to stage failure: Task 2 in stage 0.0 failed 4 times, most recent failure: Lost task 2.3
(TID 9): ExecutorLostFailure (executor 1 exited caused by one of the running tasks)"""
REMOTE = """<_InactiveRpcError of RPC that terminated with:
\tstatus = StatusCode.UNAVAILABLE
\tdetails = "failed to connect to all addresses"
\tdebug_error_string = "UNKNOWN:..."
>"""
CALLED = """An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.
: java.lang.IllegalStateException: {}
This stopped SparkContext was created at:
"""


@pytest.mark.parametrize(("said", "reason"), [
    (IN_A_WORKER, "OSError: [Errno 28] No space left on device"),
    (OURS, "some.pcap: packet 3, octet 99: a record claims too much"),
    (LOST, "an executor or its Python worker was killed, 4 times: out of memory?"),
    (CALLED.format("Cannot call methods on a stopped SparkContext."),
     "Spark gave up: no master answers there, or it wants no session"),
    (REMOTE, "failed to connect to all addresses"),
    (CALLED.format("The size is no size"), "The size is no size"),
    ("Something else\nmore", "Something else"),
    ("", "ValueError"),
])  # fmt: skip
def test_the_reason_is_found(said: str, reason: str) -> None:
    assert reason_of(ValueError(said)) == reason


def test_what_spark_raises_is_reported_in_one_sentence() -> None:
    from pyspark.errors import PySparkRuntimeError

    with (
        pytest.raises(PipelineError, match=r"^the work failed: OSError: \[Errno 28\] No space left on device$"),
        told("the work failed"),
    ):
        raise PySparkRuntimeError(IN_A_WORKER)
    with pytest.raises(ZeroDivisionError), told("our own mistake is no failure of Spark"):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("OSError: [Errno 28] No space left on device", OutOfDisk),
        ("java.lang.OutOfMemoryError: Java heap space", OutOfMemory),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 9 failed", OutOfMemory),
        ("Something else", PipelineError),
    ],
)
def test_memory_and_disk_that_run_out_have_errors_of_their_own(said: str, kind: type[PipelineError]) -> None:
    with pytest.raises(PipelineError) as raised, told("the work failed"):
        raise OSError(said)
    assert type(raised.value) is kind
    assert said.rpartition(": ")[2] in str(raised.value)


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("Answer is empty")])
def test_a_jvm_that_was_killed_is_named(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was asked of it fails by its socket; so does what has nothing to do with it, while it is there."""
    process = Mock()
    monkeypatch.setattr(SparkContext, "_gateway", Mock(proc=process))
    process.wait.return_value = -9
    with pytest.raises(PipelineError, match=r"^the work failed: the JVM was killed: out of memory\?$"), told("the work failed"):
        raise error
    process.wait.side_effect = TimeoutExpired("java", 1.0)
    with (
        pytest.raises(PipelineError, match=r"^the work failed: (Connection refused|Answer is empty)$"),
        told("the work failed"),
    ):
        raise error


def test_a_split_that_landed_wrong_differs_from_other_errors() -> None:
    error = SplitError("x.pcap", 9, f"the split from octet 0 on ends elsewhere: {INDEX}", PcapWalk("<", 1, 1, 0))
    with pytest.raises(PipelineError) as raised, told("the analysis failed"):
        raise error
    assert remedied(raised.value, {"resync": "true", "split": "9"}) == {"resync": "false", "split": "9"}
    assert remedied(PipelineError("no Spark session"), None) is None


def test_a_file_that_was_changed_is_read_with_its_payloads_unless_an_option_says_how() -> None:
    error = PipelineError(f"x.pcap: {CHANGED} (it had 1 octets, now 2)")
    assert remedied(error, None) == {"octets": "row"}
    assert remedied(error, {"octets": "file"}) is None


@pytest.mark.parametrize(("code", "lasting"), [(404, True), (540, True), (409, False), (506, False)])
def test_a_refusal_names_the_place_and_a_hint(code: int, lasting: bool) -> None:
    told = refused("amqp://b", SessionFailed(b"s", code, "no", "dtx.start"), " (a hint)")
    assert isinstance(told, LiveSetupError) is lasting is (code in LASTING)
    assert "amqp://b" in str(told)
    assert str(code) in str(told)
    assert str(told).endswith("(a hint)")


def test_a_branch_may_do_better_next_time() -> None:
    assert type(refused("x", BranchFailed("dtx.prepare", None))) is LiveError
    assert issubclass(LiveLossError, LiveError)
    assert issubclass(LiveError, PipelineError)
    assert issubclass(LiveSetupError, ValueError)
