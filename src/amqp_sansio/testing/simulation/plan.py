"""The plan of a simulation: a plain value made from a seed, which can be replayed, shortened and stored.

A step is a verb and a few numbers, independent of the state that it meets: the numbers choose among what exists then, and a
step without anything to act on does nothing.  So any part of a plan is a plan.
"""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

import attrs

WEIGHTS: Final[dict[str, int]] = {
    "publish": 22, "arrive": 34, "breathe": 8, "subscribe": 7, "grant": 9, "accept": 16, "release": 5, "reject": 2,
    "stop": 2, "flush": 2, "cancel": 1, "acquire": 4, "sync": 3, "decide": 8, "branch": 14, "detach": 2, "come": 10,
    "cut": 4, "half-close": 1, "stall": 3, "tick": 6, "store": 14, "snapshot": 3, "crash": 2, "delete": 1, "declare": 2,
    "manage": 12, "kill": 1, "restart": 1,
}  # fmt: skip
"""The relative frequency of each verb."""

KINDS: Final = ("plain", "lasting", "tx", "lasting tx", "branch", "lasting branch", "looker")
"""The kinds of clients: lasting ones ask that their session outlives the connection; lookers browse."""
MOST_CLIENTS: Final = 64
MOST_BROKERS: Final = 2
_HEARTBEATS: Final = (0, 0, 0, 10, 30)


class Step(NamedTuple):
    """One step: a verb, its actor (`who`, modulo the number of candidates), and three numbers from 0 to 65535."""

    verb: str
    who: int
    a: int = 0
    b: int = 0
    c: int = 0


@attrs.frozen
class Persona:
    """A client: its kind, the number of its broker, its heartbeat interval in seconds, and the rate of its clock."""

    kind: str
    site: int
    heartbeat: int
    rate: float


@attrs.frozen
class Plan:
    """A whole simulation.  `rates` are the rates of the brokers' clocks, one each."""

    seed: int
    personas: tuple[Persona, ...]
    rates: tuple[float, ...]
    steps: tuple[Step, ...]

    def only(self, steps: tuple[Step, ...]) -> Plan:
        """Returns the same plan with other steps."""
        return attrs.evolve(self, steps=steps)

    @property
    def plain(self) -> dict[str, object]:
        """The plan as builtins that JSON can carry.  See `of`."""
        return {
            "seed": self.seed,
            "personas": [list(attrs.astuple(persona)) for persona in self.personas],
            "rates": list(self.rates),
            "steps": [list(step) for step in self.steps],
        }

    @classmethod
    def of(cls, plain: dict[str, object]) -> Plan:
        """Returns the plan of a plain value.  Raises KeyError, TypeError or ValueError for a value that `plain` did not
        produce."""
        seed, personas, rates, steps = plain["seed"], plain["personas"], plain["rates"], plain["steps"]
        if not (isinstance(seed, int) and isinstance(personas, list) and isinstance(rates, list) and isinstance(steps, list)):
            raise TypeError("no plan")
        return cls(seed, tuple([Persona(*each) for each in personas]), tuple(rates), tuple([Step(*each) for each in steps]))


def make(seed: int, steps: int, clients: int | None = None, brokers: int | None = None) -> Plan:
    """Makes the plan of a seed.  The seed chooses what is None: 3 to 6 clients, 1 or 2 brokers.

    Raises ValueError for fewer than 0 steps, 1 client or broker, or more than MOST_CLIENTS or MOST_BROKERS.
    """
    for name, value, low, high in (
        ("steps", steps, 0, None),
        ("clients", clients, 1, MOST_CLIENTS),
        ("brokers", brokers, 1, MOST_BROKERS),
    ):
        if value is not None and (value < low or (high is not None and value > high)):
            raise ValueError(
                f"{name} is {low} to {high}, not {value}" if high is not None else f"{name} is {low} or more, not {value}"
            )
    random = Random(seed)
    drawn = random.randint(3, 6), random.choice((1, 1, 2))
    many, sites = clients or drawn[0], brokers or drawn[1]
    rates = tuple([_rate(random) for _ in range(sites)])
    personas = tuple([
        Persona(random.choice(KINDS), number % sites, random.choice(_HEARTBEATS), _rate(random)) for number in range(many)
    ])  # fmt: skip
    verbs = random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()), k=steps)
    bits = random.getrandbits
    return Plan(seed, personas, rates, tuple([Step(verb, bits(16), bits(16), bits(16), bits(16)) for verb in verbs]))


def _rate(random: Random) -> float:
    """Returns the rate of a clock that is up to five per cent wrong."""
    return 1.0 + (random.randint(-50, 50) / 1000)
