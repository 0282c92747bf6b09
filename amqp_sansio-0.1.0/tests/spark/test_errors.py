"""The errors of the pipeline are errors of the library, so that the command line says them in one line."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import AmqpError
from amqp_sansio.spark.errors import MissingExtra, MissingJava, PipelineError


@pytest.mark.parametrize("kind", [PipelineError, MissingJava, MissingExtra])
def test_an_error_of_the_pipeline_is_one_of_the_library(kind: type[PipelineError]) -> None:
    assert issubclass(kind, AmqpError)
    assert str(kind("one sentence")) == "one sentence"
