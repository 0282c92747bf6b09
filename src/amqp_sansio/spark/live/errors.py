"""Errors that stop a live source or sink, each with a text of one sentence."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import BranchFailed, SessionFailed
from amqp_sansio.spark.errors import PipelineError

LASTING: Final = frozenset([403, 404, 530, 531, 540, 541, 542])
"""Codes of refusals that would be repeated: no permission, not found, not implemented, invalid argument."""


class LiveError(PipelineError):
    """The broker or the disk fails at the moment; nothing is lost, and trying again may help."""


class LiveSetupError(LiveError, ValueError):
    """The request is impossible: a wrong option, a missing queue, no distributed transactions.  Trying again does not help."""


class LiveLossError(LiveError):
    """The broker heuristically undid what it had promised to keep: a person must look."""


def refused(where: str, error: SessionFailed | BranchFailed, hint: str = "") -> LiveError:
    """Returns the error for a refusal of the broker."""
    lasting = isinstance(error, SessionFailed) and error.code in LASTING
    return (LiveSetupError if lasting else LiveError)(f"{where}: {error}{hint}")
