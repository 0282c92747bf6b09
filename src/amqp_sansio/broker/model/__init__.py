"""The model of a broker: virtual hosts with their exchanges, queues, bindings and messages.  No sessions, no octets."""
