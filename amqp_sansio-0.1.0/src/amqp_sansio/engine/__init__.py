"""What keeps memory: connections, sessions, credit, the observer."""
