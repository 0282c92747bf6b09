"""Connects only to a broker whose certificate one authority signed: `python tls.py AMQPS_URL AUTHORITY.pem`."""

import ssl
import sys

from amqp_sansio.adapters.sync import ConnectFailed, connect


def main(url: str, authority: str) -> None:
    """Tries first with the authorities of the system, which do not know this broker."""
    try:
        with connect(url):
            print("somebody known signed it")
    except ConnectFailed as failed:
        print(failed.cause)
    trusted = ssl.create_default_context(cafile=authority)
    trusted.minimum_version = ssl.TLSVersion.TLSv1_3
    with connect(url, tls=trusted) as connection, connection.session() as session:
        session.declare_queue("greetings", auto_delete=True)
        session.publish("", "greetings", b"hello")
        with session.subscribe("greetings") as greetings:
            message = greetings.receive(timeout=10.0)
            message.accept()
            print(message.body.decode())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
