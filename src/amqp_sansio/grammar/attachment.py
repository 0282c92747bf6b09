"""Attachment of one session to one channel (class session: attach, attached, detach, detached).

The specification has no grammar of class session.  `session` is what its rules imply for a conversation in which nothing
crosses; `half` is what binds one speaker when words cross, and what is legal without a session: "the transport MUST be attached
in order to use any control other than attach, attached, detach or detached".  It covers one session name.  "other" is every
other control and every command.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.grammar.algebra import interleaved, one_of, optional, repeated, sequence, words
from amqp_sansio.grammar.automaton import Automaton

VERBS: Final = ("session.attach", "session.attached", "session.detach", "session.detached", "other")


def session(asks: str, grants: str) -> Automaton:
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


def conversation() -> Automaton:
    """Returns any number of consecutive sessions on one channel, opened by either side; nothing crosses but detach."""
    return repeated(one_of(session("client", "server"), session("server", "client")))


def half(speaker: str, other: str) -> Automaton:
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
