"""Which build runs is told by the file that a module came from."""

from __future__ import annotations

from pathlib import Path

from amqp_sansio.kernel import build

SOURCE = Path(__file__).resolve().parents[2] / "src" / "amqp_sansio" / "kernel" / "build.py"


def test_a_module_that_is_no_source_is_compiled() -> None:
    for name, compiled in [("build.py", False), ("build.cpython-311-x86_64-linux-gnu.so", True), ("build.pyd", True)]:
        names: dict[str, object] = {"__file__": name}
        exec(compile(SOURCE.read_text(encoding="utf-8"), name, "exec"), names)
        assert names["COMPILED"] is compiled
    assert build.__file__.endswith(".py") is not build.COMPILED
