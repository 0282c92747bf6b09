"""A broker without I/O, in memory: the model (queues, exchanges, bindings), and a server-role connection joined to it."""
