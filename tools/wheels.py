"""`make wheels`: builds and tests the source package, the pure wheel, and a compiled wheel for each Python that it finds.

python -m tools.wheels [--out out/wheels] [--level 2] [--only 3.11 3.12] [--no-compiled]

Each package is installed into an empty environment and used there; the source package runs its own tests of the core, and those
on the manual's page about a broker in your tests.

Exit code 0: everything was built and works. 1: something could not be built, or does not work, for the reason printed above.
75: not run, because a requirement is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.compiled.__main__ import NOT_RUN, missing
from tools.compiled.sources import ROOT

OUT: Final = ROOT / "out" / "wheels"
OLDEST: Final = (3, 11)
NEEDED: Final = ("mypy[mypyc]", "attrs", "typing-extensions", "build", "wheel", "setuptools>=77")
"""The requirements of an environment in which packages are built."""
SAMPLE: Final = next(iter((ROOT / "src" / "amqp_sansio" / "cli" / "samples").glob("*.pcap")))
TRIAL: Final = """
import sys
from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, ServerConnection, __version__
from amqp_sansio.events import SessionAttached
from amqp_sansio.kernel.build import COMPILED

assert COMPILED is (sys.argv[1] == "compiled"), f"COMPILED is {COMPILED}"
client, server = ClientConnection(ClientConfig()), ServerConnection(ServerConfig(attach="accept"))
seen = []
for _ in range(12):
    for one, other in ((client, server), (server, client)):
        one.tick(0.0)
        seen += [type(event) for event in one.events()]
        if one is client and client.is_open and not client.sessions:
            client.session(b"wheel").attach()
        other.receive_data(one.data_to_send())
assert SessionAttached in seen, seen
print(__version__, "compiled" if COMPILED else "pure", sys.version.split()[0])
"""
"""The trial of an installed package, besides decoding a capture: a client attaches a session to a server, in memory."""


class WheelError(Exception):
    """A package that could not be built, or does not work."""


def run(*words: object, where: Path = ROOT, environment: dict[str, str] | None = None) -> str:
    """Returns the output of a command.  Raises WheelError, with all the output, when it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=where, env={**kept, **(environment or {})}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WheelError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def pythons() -> dict[str, Path]:
    """Returns this machine's interpreters that are new enough, by version ("3.12"): this one, those on PATH and of pyenv."""
    found: dict[str, Path] = {"{}.{}".format(*sys.version_info): Path(sys.executable)}
    names = [f"python3.{minor}" for minor in range(OLDEST[1], 30)]
    on_path = [Path(there) for name in names if (there := shutil.which(name)) is not None]
    for candidate in [*on_path, *sorted((Path.home() / ".pyenv" / "versions").glob("3.*/bin/python"))]:
        said = subprocess.run(
            [candidate, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False
        ).stdout.split()
        if len(said) == 2 and (version := (int(said[0]), int(said[1]))) >= OLDEST:
            found.setdefault("{}.{}".format(*version), candidate)
    return dict(sorted(found.items(), key=lambda each: int(each[0].partition(".")[2])))


def environment(python: Path, where: Path, *packages: object) -> Path:
    """Returns the interpreter of a fresh environment with these packages."""
    run(python, "-m", "venv", "--clear", where)
    inside = where / "bin" / "python"
    if packages:
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return inside


def tag(python: Path) -> str:
    """Returns the tag of a wheel with machine code for this interpreter, such as cp311-cp311-linux_x86_64."""
    says = "import sys, sysconfig; print('cp%d%d' % sys.version_info[:2], sysconfig.get_platform().translate({45: 95, 46: 95}))"
    version, platform = run(python, "-c", says).split()
    return f"{version}-{version}-{platform}"


def overlay(unpacked: Path, build: Path, name: str) -> None:
    """Turns an unpacked pure wheel into a compiled one: replaces the files and the metadata."""
    shutil.rmtree(unpacked / "amqp_sansio")
    shutil.copytree(build / "amqp_sansio", unpacked / "amqp_sansio", ignore=shutil.ignore_patterns("__pycache__"))
    for shared in build.glob("*.so"):  # the machine code of the group
        shutil.copy(shared, unpacked)
    (info,) = unpacked.glob("*.dist-info")
    about = (info / "WHEEL").read_text(encoding="utf-8")
    about = re.sub(r"^Root-Is-Purelib: .*$", "Root-Is-Purelib: false", about, flags=re.MULTILINE)
    (info / "WHEEL").write_text(re.sub(r"^Tag: .*$", f"Tag: {name}", about, flags=re.MULTILINE), encoding="utf-8")
    metadata = (info / "METADATA").read_text(encoding="utf-8")
    first = metadata.index("Requires-Dist: ")
    (info / "METADATA").write_text(
        metadata[:first] + "Requires-Dist: mypy-extensions>=1\n" + metadata[first:], encoding="utf-8"
    )


def compiled(python: Path, version: str, pure: Path, out: Path, level: str) -> Path:
    """Returns the wheel with machine code for one interpreter."""
    maker = environment(python, out / ".work" / f"make-{version}", *NEEDED)
    build = out / ".work" / f"build-{version}"
    run(maker, "-m", "tools.compiled", "--out", build, "--level", level, environment={"PYTHONPATH": str(ROOT / "src")})
    opened = out / ".work" / f"wheel-{version}"
    shutil.rmtree(opened, ignore_errors=True)
    run(maker, "-m", "wheel", "unpack", "--dest", opened, pure)
    (unpacked,) = opened.iterdir()
    overlay(unpacked, build, tag(maker))
    before = set(out.glob("*.whl"))
    run(maker, "-m", "wheel", "pack", "--dest-dir", out, unpacked)
    made = set(out.glob("*.whl")) - before
    return made.pop() if made else next(iter(out.glob(f"*-{tag(maker)}.whl")))


def used(python: Path, version: str, package: Path, out: Path, kind: str) -> str:
    """Returns the output of the trial in an empty environment with the package."""
    inside = environment(python, out / ".work" / f"use-{version}", package)
    trial = out / ".work" / "trial.py"
    trial.write_text(TRIAL, encoding="utf-8")
    run(inside, "-m", "amqp_sansio", "decode", SAMPLE, where=out)
    return run(inside, trial, kind, where=out).strip()


def manual_tests(inside: Path, unpacked: Path, where: Path) -> str:
    """Returns the output of the tests on the page about a broker in your tests, with the extra `testing` installed."""
    page = (unpacked / "docs" / "how-to" / "a-broker-in-your-tests.md").read_text(encoding="utf-8")
    found = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if found is None:
        raise WheelError(f"there are no tests on the page in {unpacked}")
    where.mkdir(exist_ok=True)
    (where / "test_of_the_manual.py").write_text(found[1], encoding="utf-8")
    return run(inside, "-m", "pytest", "-q", "-o", "addopts=", "-p", "no:cacheprovider", where=where).strip().splitlines()[-1]


def from_source(python: Path, source: Path, out: Path) -> str:
    """Builds a wheel from the unpacked source package, and runs the core's tests that it contains."""
    where = out / ".work" / "source"
    shutil.rmtree(where, ignore_errors=True)
    with tarfile.open(source) as packed:
        packed.extractall(where, filter="data")
    (unpacked,) = where.iterdir()
    inside = environment(python, out / ".work" / "use-source", f"{unpacked}[testing]", "pytest-xdist")
    words = ("-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "tests/kernel", "tests/events", "tests/tables")
    said = run(inside, *words, where=unpacked).strip().splitlines()[-1]
    return f"{said}; of the manual {manual_tests(inside, unpacked, out / '.work' / 'manual')}"


def steps(out: Path, level: str, chosen: dict[str, Path], compile_too: bool) -> Iterator[str]:
    """Builds and tests everything; yields a line after each step."""
    first = next(iter(chosen.values()))
    maker = environment(first, out / ".work" / "make", "build")
    run(maker, "-m", "build", "--outdir", out, ROOT)
    (source,), (pure,) = out.glob("*.tar.gz"), out.glob("*-py3-none-any.whl")
    yield f"{source.name}: {from_source(first, source, out)}"
    for version, python in chosen.items():
        yield f"{pure.name}: {used(python, version, pure, out, 'pure')}"
    for version, python in chosen.items() if compile_too else ():
        made = compiled(python, version, pure, out, level)
        yield f"{made.name}: {used(python, version, made, out, 'compiled')}"


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make wheels", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=OUT, help="the folder (out/wheels)")
    parser.add_argument("--level", default="2", choices="0123", help="how hard the C compiler tries (2)")
    parser.add_argument("--only", nargs="+", metavar="VERSION", help="the Pythons, such as 3.12 (all that are found)")
    parser.add_argument("--no-compiled", action="store_true", help="no machine code")
    given = parser.parse_args(arguments)
    out: Path = given.out.resolve()
    if not given.no_compiled and (trouble := missing()):
        print(f"wheels: NOT BUILT: {trouble}", file=sys.stderr)
        return NOT_RUN
    found = pythons()
    chosen = {version: python for version, python in found.items() if given.only is None or version in given.only}
    for version in given.only or (f"3.{minor}" for minor in (11, 12, 13)):
        if version not in found:
            print(f"wheels: NOT RUN: Python {version} is not on this machine")
    if not chosen:
        return NOT_RUN
    for old in [*out.glob("*.whl"), *out.glob("*.tar.gz")]:
        old.unlink()
    out.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        for line in steps(out, given.level, chosen, not given.no_compiled):
            print(f"wheels: {time.monotonic() - began:4.0f} s  {line}", flush=True)
    except WheelError as error:
        print(f"{error}\nwheels: FAILED", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
