"""Table 6.3 of the model a second time, written from the specification and from what is known of brokers, not from the code.

One line for each state, one word for each verb: what is answered, and behind ">" the state then, if it is another one.  "409"
is an error code of both profiles, "530/503" that of the letter and that of the field.  "told": the status of the decision.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.tables import branch as b

_VERBS: Final = ["start", "join", "resume", "join+resume", "end", "suspend", "fail", "suspend+fail"]
_OUTCOMES: Final = ["prepare", "nothing", "commit", "one-phase", "rollback", "forget", "get", "set", "too-long"]

_STARTS_AND_ENDS: Final = """
unknown                  | ok>active-here 530/404               530/503               530/503 409          409                  409           530/503
idle                     | 530            ok>active-here        409/503               530/503 409          409                  409           530/503
active-elsewhere         | 530            ok>active-here        409/503               530/503 409          409                  409           530/503
active-here              | 530            409                   409/503               530/503 ok>idle      ok>active-suspended  rb>doomed     530/503
active-suspended         | 530            ok>active-here        ok>active-here        530/503 ok>idle      409                  rb>doomed     530/503
doomed                   | 530            ok>doomed-here        409/503               530/503 409          409                  409           530/503
doomed-elsewhere         | 530            ok>doomed-here        409/503               530/503 409          409                  409           530/503
doomed-here              | 530            409                   409/503               530/503 rb>doomed    rb>doomed            rb>doomed     530/503
doomed-suspended         | 530            ok>doomed-here        ok>doomed-here        530/503 rb>doomed    409                  rb>doomed     530/503
late                     | 530            rbtime                rbtime                530/503 409          409                  409           530/503
late-elsewhere           | 530            rbtime                rbtime                530/503 409          409                  409           530/503
late-here                | 530            rbtime>late           rbtime>late           530/503 rbtime>late  rbtime>late          rbtime>late   530/503
late-suspended           | 530            rbtime>late           rbtime>late           530/503 rbtime>late  rbtime>late          rbtime>late   530/503
prepared                 | 530            409/503               409/503               530/503 409          409                  409           530/503
heuristic                | 530            530                   409/503               530/503 409          409                  409           530/503
"""  # noqa: E501

_OUTCOMES_AND_TIMEOUTS: Final = """
unknown                  | 404            404            404            404            404            404     404 404 404
idle                     | ok>prepared    rdonly>unknown 409            ok>unknown     ok>unknown     409     -   -   542
active-elsewhere         | 409            409            409            409            409            409     -   -   542
active-here              | 409            409            409            409            409            409     -   -   542
active-suspended         | 409            409            409            409            409            409     -   -   542
doomed                   | rb             rb             rb>unknown     rb>unknown     ok>unknown     409     -   -   542
doomed-elsewhere         | 409            409            409            409            409            409     -   -   542
doomed-here              | 409            409            409            409            409            409     -   -   542
doomed-suspended         | 409            409            409            409            409            409     -   -   542
late                     | rbtime>unknown rbtime>unknown rbtime>unknown rbtime>unknown rbtime>unknown 409     -   -   542
late-elsewhere           | 409            409            409            409            409            409     -   -   542
late-here                | 409            409            409            409            409            409     -   -   542
late-suspended           | 409            409            409            409            409            409     -   -   542
prepared                 | 409            409            ok>unknown     409            ok>unknown     409     -   -   542
heuristic                | 409            409            told           told           told           ->unknown -  -   542
"""

_STATES: Final = {
    "unknown": b.UNKNOWN, "idle": b.IDLE, "active-elsewhere": b.ACTIVE_ELSEWHERE, "active-here": b.ACTIVE_HERE,
    "active-suspended": b.ACTIVE_SUSPENDED, "doomed": b.DOOMED, "doomed-elsewhere": b.DOOMED_ELSEWHERE,
    "doomed-here": b.DOOMED_HERE, "doomed-suspended": b.DOOMED_SUSPENDED, "late": b.TIMED_OUT,
    "late-elsewhere": b.TIMED_OUT_ELSEWHERE, "late-here": b.TIMED_OUT_HERE, "late-suspended": b.TIMED_OUT_SUSPENDED,
    "prepared": b.PREPARED, "heuristic": b.HEURISTIC,
}  # fmt: skip
_WORDS: Final = {
    "start": b.START, "join": b.START_JOIN, "resume": b.START_RESUME, "join+resume": b.START_JOIN_RESUME, "end": b.END,
    "suspend": b.END_SUSPEND, "fail": b.END_FAIL, "suspend+fail": b.END_SUSPEND_FAIL, "prepare": b.PREPARE,
    "nothing": b.PREPARE_NOTHING, "commit": b.COMMIT, "one-phase": b.COMMIT_ONE_PHASE, "rollback": b.ROLLBACK,
    "forget": b.FORGET, "get": b.GET_TIMEOUT, "set": b.SET_TIMEOUT, "too-long": b.SET_TIMEOUT_TOO_LONG,
}  # fmt: skip


class Expected(NamedTuple):
    """What a cell should say.  `status` is a word of above or "", the codes are None where the verb is not refused."""

    state: b.Standing
    verb: str
    status: str
    spec: int | None
    qpid: int | None
    next_state: b.Standing

    @property
    def id(self) -> str:
        return f"{self.state.name}/{self.verb}"


def _read(text: str, verbs: list[str]) -> list[Expected]:
    found: list[Expected] = []
    for line in text.strip().splitlines():
        name, _, words = line.partition("|")
        state = _STATES[name.strip()]
        for verb, word in zip(verbs, words.split(), strict=True):
            answer, _, then = word.partition(">")
            codes = [int(code) for code in answer.split("/")] if answer[0].isdigit() else []
            status = "" if codes or answer == "-" else answer
            next_state = _STATES[then] if then else state
            spec, qpid = (codes[0], codes[-1]) if codes else (None, None)
            found.append(Expected(state, _WORDS[verb], status, spec, qpid, next_state))
    return found


EXPECTED: Final = [*_read(_STARTS_AND_ENDS, _VERBS), *_read(_OUTCOMES_AND_TIMEOUTS, _OUTCOMES)]
