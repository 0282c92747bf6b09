"""The compiled build on executors that are processes of their own, which have nothing of it but what came with the job."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.interop.test_spark_cluster import CONF, HERE, SUBMIT, environment

from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.session import archive_of_build


@pytest.mark.skipif(not COMPILED, reason="this is the pure build")
def test_it_travels_as_an_archive(tmp_path: Path) -> None:
    archive = archive_of_build(tmp_path)
    words = [SUBMIT, "--master", "local-cluster[2,1,512]", "--archives", f"{archive}#core"]
    conf = {**CONF, "spark.executorEnv.PYTHONPATH": "core"}
    words += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [*words, str(HERE / "build_job.py")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = [line for line in done.stdout.splitlines() if line.startswith("compiled: ")]
    assert said
    assert all(line.startswith("compiled: True, from /") and "/core/amqp_sansio/" in line for line in said), said


@pytest.mark.skipif(COMPILED, reason="this is the compiled build")
def test_the_pure_build_is_not_taken_for_it(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="not the compiled build"):
        archive_of_build(tmp_path)
