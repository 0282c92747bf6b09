"""A whole probe: plans conversations, runs each on a connection of its own, and cleans up after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Final

from amqp_sansio.spec import dtx, exchange
from amqp_sansio.spec.exchange import ExchangeQueryResult
from amqp_sansio.spec.execution import Result
from amqp_sansio.testing.probe.dialogue import Dialogue, ProbeError, Transport
from amqp_sansio.testing.probe.plans import ProbePlan, plans
from amqp_sansio.testing.probe.report import Report
from amqp_sansio.testing.probe.rounds import ProbeVerdict, Round
from amqp_sansio.testing.speech.blame import Trespass, trespasses
from amqp_sansio.testing.speech.parts import parts_of
from amqp_sansio.testing.speech.word_encoder import Setting, Voice

ALIVE: Final = "server: it goes on"
"""The rule that a server survives whatever it receives."""
CHANCES: Final = 3
"""How often the probe tries to reach a server that is gone."""


class Prober:
    """A probe of the server to which `connect` makes connections.  Raises ValueError for an unknown section."""

    def __init__(
        self,
        connect: Callable[[], Transport],
        *,
        section: str | None = None,
        conversations: int = 1000,
        seed: int = 0,
        user: str = "",
        password: str = "",
        virtual_host: str = "",
        only: int | None = None,
    ) -> None:
        self.report: Final = Report([part.name for part in parts_of(section)])
        self._connect: Final = connect
        self._last: Round | None = None
        self._gone = False
        self._plans: Final = plans(section, conversations, seed)
        self._only: Final = only
        self._seed: Final = seed
        self._login: Final = user, password, virtual_host

    def run(self) -> Report:
        """Runs all conversations.  Raises ProbeError when the server cannot be reached, or does not open a connection."""
        for _ in self.rounds():
            pass
        return self.report

    def greet(self) -> None:
        """Opens a connection and closes it.  Raises ProbeError when the server cannot be reached, or does not open it."""
        with closing(self._connect()) as transport:
            talk = Dialogue(transport.exchange, self._setting(0))
            talk.open()
            talk.leave()

    def rounds(self) -> Iterator[Round]:
        """Runs the conversations one by one, and yields each."""
        for plan in self._plans:
            if self._only in (None, plan.number):
                yield self._round(plan)

    def _setting(self, number: int) -> Setting:
        prefix = f"probe-{self._seed}-{number}-"
        return Setting(f"{prefix}s".encode(), 1, prefix, *self._login)

    def _round(self, plan: ProbePlan) -> Round:
        setting = self._setting(plan.number)
        found = [each for each in trespasses(setting) if each.condition.name == plan.trespass]
        done = self._led(plan, setting, found[0] if found else None)
        self.report.add(done)
        self._last = done
        if done.hung_up:  # does it still serve others?
            try:
                self.greet()
            except ProbeError:
                self._is_gone(done)
            else:
                self.report.found(done, ProbeVerdict(ALIVE, True, "it hung up, and serves others"))
        self._tidy(done, setting)
        return done

    def _is_gone(self, done: Round) -> None:
        if not self._gone:
            self._gone = True
            self.report.found(
                done, ProbeVerdict(ALIVE, False, "this conversation ends the server: it does not answer afterwards")
            )

    def _led(self, plan: ProbePlan, setting: Setting, trespass: Trespass | None) -> Round:
        """Runs the conversation.  A server that is gone gets more chances, as it may be restarted."""
        left = CHANCES
        while True:
            try:
                with closing(self._connect()) as transport:
                    done = Round(plan, Dialogue(transport.exchange, setting), trespass)
                    done.run()
                self._gone = False
                return done
            except ProbeError:
                if self._last is None or not left:
                    raise
                self._is_gone(self._last)
                left -= 1

    def _tidy(self, done: Round, setting: Setting) -> None:
        """Removes what outlives the session: declared exchanges and prepared branches."""
        said = [step.said for step in done.talk.steps if step.speaker == "client"]
        declared = {each.exchange or "" for each in said if isinstance(each, exchange.Declare) and not each.passive}
        names = sorted([name for name in declared if name.startswith(setting.prefix)])
        xids = list(dict.fromkeys([each.xid for each in said if isinstance(each, dtx.Prepare) and each.xid is not None]))
        if (not names and not xids) or done.not_offered or self._gone:
            return
        # The server was good enough for the conversation; whether it is gone, the next one will show.
        with suppress(ProbeError), closing(self._connect()) as transport:
            talk = Dialogue(transport.exchange, self._setting(done.plan.number))
            talk.open()
            for number, name in enumerate(names):
                self._forget(talk, number, name)
            for number, xid in enumerate(xids, len(names)):
                talk.say(self._session(talk, number).step("client", dtx.Rollback(xid)))
                talk.sync(1)
            talk.leave()

    def _forget(self, talk: Dialogue, number: int, name: str) -> None:
        voice = self._session(talk, number)
        talk.say(voice.step("client", exchange.Query(name)))
        talk.sync(1)
        results = [step.said.value for step in talk.steps if isinstance(step.said, Result)]
        if results and isinstance(results[-1], ExchangeQueryResult) and not results[-1].not_found:
            talk.say(voice.step("client", exchange.Delete(name)))
            talk.sync(3)

    def _session(self, talk: Dialogue, number: int) -> Voice:
        """Opens a session on its own channel, which may end with an exception."""
        setting = Setting(talk.setting.session + b"-tidy-%d" % number, 1)
        talk.heard_all()
        talk.attach(setting.session, setting.channel)
        return Voice(setting)
