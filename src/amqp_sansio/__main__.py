"""Runs the command `amqp-sansio` for `python -m amqp_sansio`."""

from __future__ import annotations

from amqp_sansio.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
