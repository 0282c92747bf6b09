"""What a client does between its machine and its user: addresses, waiting, inboxes, confirms.  No I/O: adapters add that."""
