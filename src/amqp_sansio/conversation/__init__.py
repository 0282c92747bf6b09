"""The parts of a client between its connection and the program: addresses, reconnecting, inboxes, confirms.  No I/O: the
adapters add that."""
