"""A capture of a handshake by SCRAM-SHA-256: the exchange of RFC 7677, section 3, in AMQP 0-10."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.captures import build

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.spec import connection
from amqp_sansio.spec.base import Control
from amqp_sansio.wire.segments import frame_control

FIRST: Final = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
CHALLENGE: Final = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF: Final = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
VERIFIER: Final = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
SECRETS: Final = ("rOprNGfwEbeR", "W22ZaJ0SNY7s", "dHzbZapWIk4j", "6rriTRBi23Wp")
"""What must not be found anywhere: both nonces, the salt, the proof, the verifier of the server."""
PORT: Final = 5672


def told(text: str) -> list[str]:
    """The secrets that a text holds, as they are or as hex digits, which is how octets are shown."""
    return [secret for secret in SECRETS if secret in text or secret.encode().hex() in text.lower()]


def write(path: Path) -> str:
    """The capture: both headers, the exchange in four steps, tuning, open and close."""
    talk = build.Talk()

    def say(by_client: bool, *controls: Control) -> None:
        talk.add(by_client, b"".join(frame_control(0, AMQP_0_10.codec.encode_control(each)) for each in controls))

    talk.open()
    talk.add(True, AMQP_0_10.header)
    talk.add(False, AMQP_0_10.header)
    say(False, connection.Start({}, ["SCRAM-SHA-256"], ["en_US"]))
    say(True, connection.StartOk({}, "SCRAM-SHA-256", FIRST, "en_US"))
    say(False, connection.Secure(CHALLENGE))
    say(True, connection.SecureOk(PROOF))
    say(False, connection.Secure(VERIFIER))
    say(True, connection.SecureOk(b""))
    say(False, connection.Tune(32767, 65535, 0, 120))
    say(True, connection.TuneOk(32767, 65535, 0), connection.Open("/"))
    say(False, connection.OpenOk())
    say(True, connection.Close(200, ""))
    say(False, connection.CloseOk())
    return build.write(path, build.pcap(build.records(talk.segments)))
