"""Clients on real loopback sockets: what a message costs its client, ours and theirs, in one run."""
