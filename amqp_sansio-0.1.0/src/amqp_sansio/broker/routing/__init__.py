"""How exchanges find queues: one class for each type, each of which looks only at bindings that may match."""
