"""The engine: the stateful parts, that is connections, sessions, credit and the observer."""
