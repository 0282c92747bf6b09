"""What can stop a live source or sink, each said in one sentence."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.errors import BranchFailed, SessionFailed
from amqp_sansio.spark.errors import PipelineError

LASTING: Final = frozenset([403, 404, 530, 531, 540, 541, 542])
"""Codes of refusals that will be the same next time: no right, no such thing, not implemented, a wrong argument."""


class LiveError(PipelineError):
    """The broker, or the disk, does not do now what it should; nothing is lost, and trying again may help."""


class LiveSetupError(LiveError, ValueError):
    """What was asked for cannot be had: a wrong option, no such queue, no distributed transactions.  Trying again is no use."""


class LiveLossError(LiveError):
    """The broker undid by itself what it had promised to keep: somebody must look."""


def refused(where: str, error: SessionFailed | BranchFailed, hint: str = "") -> LiveError:
    """The error for a refusal of the broker."""
    lasting = isinstance(error, SessionFailed) and error.code in LASTING
    return (LiveSetupError if lasting else LiveError)(f"{where}: {error}{hint}")
