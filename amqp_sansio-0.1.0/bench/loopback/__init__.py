"""Clients on real sockets of loopback: what a message costs its client, ours and theirs, in one run."""
