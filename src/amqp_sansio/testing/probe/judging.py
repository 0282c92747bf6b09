"""The legal answers of a server, to legal steps and to a step that breaks a rule."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS
from amqp_sansio.spec import connection as c
from amqp_sansio.spec import session as s
from amqp_sansio.spec.execution import Exception_
from amqp_sansio.testing.speech.expected_rule import Blame
from amqp_sansio.testing.speech.step import Step

MAY: Final = ("dtx", "file", "stream")
"""Classes that a server need not implement."""
NOT_IMPLEMENTED: Final = 540
FRAMING: Final = 501
COMMAND_INVALID: Final = 503


class Answer(NamedTuple):
    """A server's reaction to a step: "taken", "exception", "detached", "closed", "ended" or "silent", with its code."""

    kind: str
    code: int = 0
    text: str = ""

    def __str__(self) -> str:
        said = {
            "taken": "it was let pass",
            "exception": f"execution.exception {self.code}",
            "detached": f"session.detached with code {self.code}",
            "closed": f"connection.close {self.code}",
            "ended": "the server hung up",
            "silent": "no answer",
        }[self.kind]
        return f"{said}: {self.text}" if self.text else said


class Finding(NamedTuple):
    """One rule, kept or broken in one conversation."""

    rule: str
    kept: bool
    text: str = ""


def answer_of(steps: list[Step], ended: bool, answered: bool) -> Answer:
    """Returns the server's reaction, judged by the steps that it sent."""
    for step in steps:
        said = step.said
        if isinstance(said, c.Close):
            return Answer("closed", said.reply_code or 0, said.reply_text or "")
        if isinstance(said, Exception_):
            return Answer("exception", said.error_code or 0, said.description or "")
        if isinstance(said, s.Detached):
            return Answer("detached", said.code or 0)
    if ended:
        return Answer("ended")
    return Answer("taken" if answered else "silent")


def judge(blame: Blame, word: str, answer: Answer) -> tuple[bool, str]:
    """Returns whether the rule permits this answer to a step that breaks it, and why not."""
    if answer.kind == "taken" and not blame.must:
        return True, "let pass, as deployed brokers do"
    allowed, expected = _allowed(blame, word, answer)
    if answer.kind == "silent":
        return False, f"no answer, not even to what the probe asked after it; expected: {expected}"
    if allowed or not blame.must:
        return True, str(answer)
    return False, f"{answer}; expected: {expected}"


def _allowed(blame: Blame, word: str, answer: Answer) -> tuple[bool, str]:
    """Returns whether the specification permits the answer, and what it permits."""
    if blame.rule.startswith("connection.") or FRAMING in blame.codes:
        frames = answer.kind == "exception" and answer.code == COMMAND_INVALID
        allowed = answer.kind in ("closed", "ended") or (frames and blame.rule.startswith("assembly."))
        return allowed, "connection.close, or the end of the connection"
    if blame.rule.startswith("session.att") and not word.endswith(":other"):
        return True, "any"  # many peers ignore attached, detach and detached that answer nothing
    if blame.rule.startswith("session."):
        return answer.kind in ("detached", "exception", "closed"), "session.detached, or execution.exception"
    wanted = codes(blame)
    allowed = answer.kind == "exception" and (not blame.codes or answer.code in wanted)
    return allowed, f"execution.exception {' or '.join(map(str, sorted(wanted)))}".rstrip()


def codes(blame: Blame) -> frozenset[int]:
    """Returns the codes that may answer it.

    For class dtx these are all that refuse the command, since several reasons may apply at once.
    """
    if not blame.rule.startswith("dtx."):
        return blame.codes
    verb = ".".join(blame.rule.split(".")[:2])
    rows = [each for each in COLUMNS.values() if each.command is not None and verb == each.command.VERB]
    return blame.codes.union(*[each.codes for each in rows])
