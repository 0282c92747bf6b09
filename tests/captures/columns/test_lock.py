"""One run holds a folder; who holds it is named, and a dead run holds nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import pytest

from amqp_sansio.captures.columns import lock
from amqp_sansio.captures.columns.lock import LOCK, RunLock
from amqp_sansio.captures.errors import PlaceError
from amqp_sansio.captures.locations import located

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys
from amqp_sansio.captures.columns.lock import RunLock
from amqp_sansio.captures.locations import located
lock = RunLock(sys.argv[1], located(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["disk", "store"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "disk":
        return str(tmp_path)
    request.getfixturevalue("s3")
    return f"s3://tables/{uuid.uuid4().hex}"


def lock_of(folder: str) -> RunLock:
    return RunLock(folder, located(folder))


def held(folder: str) -> bytes:
    place = located(folder)
    with place.system.open_input_stream(f"{place.path}/{LOCK}") as stream:
        octets: bytes = stream.read()
    return octets


def test_a_second_run_is_refused_until_the_first_gives_it_back(folder: str) -> None:
    first, second = lock_of(folder), lock_of(folder)
    first.acquire()
    first.confirm()
    with pytest.raises(PlaceError, match=rf"another run \(process {os.getpid()} on .* UTC\) is writing there"):
        second.acquire()
    second.release()
    first.confirm()
    first.release()
    second.acquire()
    assert not second.taken_over
    second.release()
    with pytest.raises(FileNotFoundError):
        held(folder)


def test_the_lock_of_a_killed_process_is_taken_over(folder: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    words = [sys.executable, "-c", HOLD, folder]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(PlaceError, match=f"process {process.pid} on "):
            lock_of(folder).acquire()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert json.loads(held(folder))["process"] == process.pid
    lock = lock_of(folder)
    lock.acquire()
    assert lock.taken_over
    assert json.loads(held(folder))["process"] == os.getpid()
    lock.release()


def test_on_a_full_disk_nothing_is_left(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    lock = lock_of(str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            lock.acquire()
        with pytest.raises(OSError, match="File too large"):
            lock.release()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_on_a_store_a_run_of_another_host_or_of_no_known_kind_counts_as_alive(s3: dict[str, str]) -> None:
    """Whether it lives cannot be known; the text names the file that somebody who knows may remove."""
    folder = f"s3://tables/{uuid.uuid4().hex}"
    place = located(folder)
    for text in (json.dumps({"process": 1, "host": "elsewhere", "since": "today"}), "[]", "nonsense"):
        stream = place.system.open_output_stream(f"{place.path}/{LOCK}")
        stream.write(text.encode())
        stream.close()
        with pytest.raises(PlaceError, match=r"is writing there; remove _LOCK\.json there if that run is dead"):
            lock_of(folder).acquire()


def test_a_number_of_a_process_that_is_used_again_is_another_process(s3: dict[str, str]) -> None:
    folder = f"s3://tables/{uuid.uuid4().hex}"
    lock_of(folder).acquire()
    about = json.loads(held(folder))
    place = located(folder)
    stream = place.system.open_output_stream(f"{place.path}/{LOCK}")
    stream.write(json.dumps({**about, "born": about["born"] - 1}).encode())
    stream.close()
    lock = lock_of(folder)
    lock.acquire()
    assert lock.taken_over


def test_of_two_runs_that_begin_at_once_on_a_store_one_publishes_nothing(s3: dict[str, str]) -> None:
    """There is no conditional write: the later one wins, and the earlier one hears of it before its manifest."""
    folder = f"s3://tables/{uuid.uuid4().hex}"
    first, second = lock_of(folder), lock_of(folder)
    first.acquire()
    place = located(folder)
    place.system.delete_file(f"{place.path}/{LOCK}")  # as if `second` had looked before `first` wrote
    second.acquire()
    with pytest.raises(PlaceError, match="another run"):
        first.confirm()
    second.confirm()
    first.release()
    second.confirm()


def test_on_windows_nobody_asks_after_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """There `os.kill(process, 0)` sends a Ctrl-C: a lock that the kernel does not hold counts as held."""
    here = lock._about()

    def kill(process: int, number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", kill)
    assert not lock._alive(here)
    monkeypatch.setattr(lock, "os", SimpleNamespace(name="nt", kill=kill))
    assert lock._alive(here)
