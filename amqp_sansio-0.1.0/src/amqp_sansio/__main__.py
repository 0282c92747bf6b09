"""`python -m amqp_sansio` is the command `amqp-sansio`."""

from __future__ import annotations

from amqp_sansio.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
