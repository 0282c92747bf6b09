"""`make compiled`: a folder with the compiled build, for PYTHONPATH.

python -m tools.compiled [--out out/compiled] [--level 2] [--jobs N] [--test | --smoke] [pytest options]

Exit code 0: it was built, and the requested tests passed. 75: a requirement is missing, named in one line. 1: it could not be
compiled, or tests failed, for the reason printed above.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Final

from tools.compiled import sources, translate
from tools.compiled.machine import BuildError, Factory, compiler
from tools.compiled.trial import FOLDERS, SMOKE, trial

NOT_RUN: Final = 75
OUT: Final = sources.ROOT / "out" / "compiled"


def missing() -> str | None:
    """Returns the missing requirements in one line; None when there are none."""
    words = [name for name in ("mypyc", "setuptools") if importlib.util.find_spec(name) is None]
    if words:
        return f"{' and '.join(words)} cannot be imported: pip install 'mypy[mypyc]'"
    program = compiler()[0]
    if shutil.which(program) is None:
        return f"there is no C compiler ({program}): install gcc, or name another one in CC"
    header = Path(sysconfig.get_path("include"), "Python.h")
    return None if header.exists() else f"the headers of Python are missing ({header}): install python3-dev"


def _show(done: int, of: int) -> None:
    if sys.stdout.isatty():
        print(f"\r\033[Kcompiled: C to machine code, {done} of {of} files", end="\n" if done == of else "", flush=True)
    elif done == of or done % 50 == 0:
        print(f"compiled: C to machine code, {done} of {of} files", flush=True)


def build(out: Path, level: str, jobs: int) -> None:
    """Builds the folder.  Raises BuildError."""
    work = out / ".work"
    work.mkdir(parents=True, exist_ok=True)
    sources.copy(out / "amqp_sansio")
    helper = out / "mypy_extensions.py"
    helper.unlink(missing_ok=True)  # mypy must read the stubs, not this
    print("compiled: typed Python to C ...", flush=True)
    words = [sys.executable, "-m", "tools.compiled.translate", str(out), str(work), level]
    path = os.pathsep.join([str(sources.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        words, cwd=sources.ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(done.stdout + done.stderr)
    extensions = json.loads((work / translate.EXTENSIONS).read_text(encoding="utf-8"))
    factory = Factory(out, work, jobs, _show)
    made = factory.make(extensions)
    spec = importlib.util.find_spec("mypy_extensions")
    assert spec is not None
    assert spec.origin is not None
    shutil.copyfile(spec.origin, helper)  # compiled code imports it, also on machines without mypy
    print(f"compiled: {len(made) - 1} modules in {out}; {factory.compiled} C files were new", flush=True)


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make compiled", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=OUT, help="the folder (out/compiled)")
    parser.add_argument("--level", default="2", choices="0123", help="how hard the C compiler tries (2)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="C compilers at a time")
    parser.add_argument("--test", action="store_const", dest="tests", const=FOLDERS, help="then run the tests on it")
    parser.add_argument("--smoke", action="store_const", dest="tests", const=SMOKE, help="then run those of the core on it")
    given, others = parser.parse_known_args(arguments)
    if others and not given.tests:
        parser.error(f"nobody takes {' '.join(others)}")
    began = time.monotonic()
    if trouble := missing():
        print(f"compiled: NOT BUILT: {trouble}", file=sys.stderr)
        return NOT_RUN
    try:
        build(given.out.resolve(), given.level, given.jobs)
    except BuildError as error:
        print(f"{error}\ncompiled: FAILED", file=sys.stderr)
        return 1
    print(f"compiled: {time.monotonic() - began:.0f} s; use it: PYTHONPATH={given.out} python ...")
    return trial(given.out.resolve(), given.tests, others) if given.tests else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
