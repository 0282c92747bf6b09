"""What a broker holds: virtual hosts with their exchanges, queues, bindings and messages.  No sessions, no octets."""
