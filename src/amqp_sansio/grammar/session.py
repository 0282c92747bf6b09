"""Class session: attachment to a channel, the commands of one half with the feedback to them, and the life of a session.

The specification has no grammar of the class.  `one_session` is what its rules imply for a conversation in which nothing
crosses; `attachment` is what binds one speaker when words cross, and what is legal without a session: "the transport MUST be
attached in order to use any control other than attach, attached, detach or detached".  It covers one session name on one
channel. "other" is every other control and every command.

command-point "must be used at least once prior to sending any command data on newly attached transports"; so the other controls
may come before it.

`endpoint` is the life of a session at one of its ends.  An end sends commands only while the session is attached; a session
that was attached before begins with what the other end expects; nothing follows an execution.exception and a detach; and a
session may outlive its attachment for the granted timeout.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import answered, interleaved, one_of, optional, repeated, sequence, words
from amqp_sansio.grammar.automaton import Automaton

VERBS: Final = ("session.attach", "session.attached", "session.detach", "session.detached", "other")


def one_session(asks: str, grants: str) -> Automaton:
    """Returns one session, from the attach of `asks` to its end.

    attach is answered by attached, or by detached (busy); a repeated attach gets a repeated answer.  Either side may end the
    session: by detach, which the other side confirms with detached, or by an unsolicited detached.
    """
    attach, granted = f"{asks}:session.attach", f"{grants}:session.attached"
    use = repeated(one_of(f"{asks}:other", f"{grants}:other"))
    body = interleaved(repeated(words(attach, granted)), use)
    end = one_of(_left(asks, grants), _left(grants, asks), interleaved(_detach(asks, grants), _detach(grants, asks)))
    return sequence(attach, one_of(f"{grants}:session.detached", sequence(granted, body, end)))


def _detach(leaves: str, other: str) -> Automaton:
    return words(f"{leaves}:session.detach", f"{other}:session.detached")


def _left(leaves: str, other: str) -> Automaton:
    asked = sequence(f"{leaves}:session.detach", repeated(f"{other}:other"), f"{other}:session.detached")
    return one_of(asked, f"{leaves}:session.detached")


def sessions() -> Automaton:
    """Returns any number of consecutive sessions on one channel, opened by either side; nothing crosses but detach."""
    return repeated(one_of(one_session("client", "server"), one_session("server", "client")))


def attachment(speaker: str, other: str) -> Automaton:
    """Returns what binds one speaker, whatever the other side says, which may have been in flight for any time.

    Each phase contains all that is legal during it; a session moves from phase to phase until the channel is free.
    """

    def says(*verbs: str) -> Automaton:
        return one_of(*[f"{speaker}:{_word(verb)}" for verb in verbs])

    def hears(*verbs: str, but: tuple[str, ...] = ()) -> Automaton:
        return one_of(*[f"{other}:{verb}" for verb in (map(_word, verbs) if verbs else VERBS) if verb not in map(_word, but)])

    attach, attached, detach, detached = [says(verb) for verb in ("attach", "attached", "detach", "detached")]
    free = repeated(one_of(detach, detached, hears(but=("attach",))))
    asking = sequence(attach, repeated(one_of(attach, detached, hears(but=("attached", "detached")))))
    invited = sequence(hears("attach"), repeated(one_of(detach, hears())))
    held = repeated(one_of(attach, attached, says("other"), hears(but=("detach", "detached"))))
    silent = sequence(detach, repeated(one_of(detached, hears(but=("detached",)))), hears("detached"))
    leaving = sequence(hears("detach"), repeated(one_of(attach, attached, says("other"), hears())))
    taken = sequence(hears("detached"), repeated(one_of(attached, detach, detached, says("other"), hears(but=("attach",)))))

    requested = one_of(asking, sequence(invited, asking))
    begun = one_of(sequence(requested, hears("attached")), sequence(invited, attached))
    failed = one_of(sequence(requested, one_of(hears("detached"), silent)), sequence(invited, detached))
    ended = sequence(optional(leaving), one_of(detached, silent))
    # A session that was taken away is over for the speaker only at the next attach: until then its words were in flight.
    stretch = sequence(repeated(sequence(begun, held, taken)), one_of(failed, sequence(begun, held, ended)))
    return sequence(repeated(sequence(free, stretch)), free)


def _word(verb: str) -> str:
    return verb if verb == "other" else f"session.{verb}"


CONTROLS: Final = ("session.flush", "session.gap", "session.known-completed")
"""The sender's controls; "session.flush" is one that does not ask for the expected set."""


def stream(sender: str) -> Automaton:
    """Returns the sender's words on one attachment, except flushes that ask for the expected set."""
    controls = [f"{sender}:{verb}" for verb in CONTROLS]
    point = f"{sender}:session.command-point"
    free = repeated(one_of(*controls, point, f"{sender}:command"))
    return sequence(repeated(one_of(*controls)), optional(sequence(point, free)))


def commands(sender: str, receiver: str, most: int | None = None) -> Automaton:
    """Returns the stream with the feedback to it; `most` as for `expected`."""
    return interleaved(stream(sender), sets(receiver), expected(receiver, sender, most))


def sets(receiver: str) -> Automaton:
    """Returns completed and confirmed, at any time."""
    return repeated(one_of(f"{receiver}:session.completed", f"{receiver}:session.confirmed"))


def expected(receiver: str, sender: str, most: int | None = None) -> Automaton:
    """Returns expected, which is "never sent spontaneously": once for each flush that asked for it.

    Counting is not regular.  With `most` (1 or more), at most that many flushes are unanswered at a time; with None, expected
    only has to follow some flush that asked for it.
    """
    asks, answers = f"{sender}:session.flush expected", f"{receiver}:session.expected"
    if most is not None:
        return answered(asks, answers, most=most)
    return optional(sequence(asks, repeated(one_of(asks, answers))))


def life(sender: str, receiver: str, result: bool = False) -> Automaton:
    """Returns the words about one command id, in the order in which its receiver hears and sends them.

    A set may repeat an id until known-completed has named it ("MUST be excluded").  The sender may confirm every completed.
    The result comes before the completion of a command that has one.  An exception ends everything.
    """
    completed, confirmed = f"{receiver}:session.completed", f"{receiver}:session.confirmed"
    known = f"{sender}:session.known-completed"
    done = sequence(completed, repeated(one_of(completed, confirmed)), optional(sequence(known, repeated(known))))
    before = repeated(confirmed)
    outcome = interleaved(before, f"{receiver}:execution.result") if result else before
    failed = sequence(before, f"{receiver}:execution.exception")
    return sequence(f"{sender}:command", one_of(sequence(outcome, done), failed))


def endpoint(own: str, other: str) -> Automaton:
    """Returns the session as `own` sees it: any number of attachments that it survives, then perhaps one that it does not."""
    lives, ends = "transport:kept", "transport:over"
    return sequence(repeated(_attachment(own, other, lives)), optional(one_of(ends, _attachment(own, other, ends))))


def _attachment(own: str, other: str, over: str) -> Automaton:
    """Returns one attachment, requested by either end; `over` is the transport's word at its end."""
    asking = sequence(f"{own}:session.attach", repeated(f"{own}:session.attach"))
    heard = repeated(f"{other}:any command")
    use = repeated(one_of(f"{own}:any command", f"{other}:any command"))
    refused = sequence(f"{other}:execution.exception", heard)
    left = f"{own}:session.detach"
    used = sequence(use, optional(one_of(left, f"{own}:execution.exception", refused)))

    def begun(word: str) -> Automaton:
        return one_of(f"{own}:{word}", sequence(asking, f"{other}:{word}"))

    resumed = sequence(heard, one_of(optional(one_of(left, refused)), sequence(f"{other}:session.expected", used)))
    unanswered = sequence(asking, optional(left))
    whole = one_of(unanswered, sequence(begun("session.attached"), used), sequence(begun("session.attached again"), resumed))
    return sequence(whole, over)
