"""One front per family over the model: what a connection of that family says, and what it is told."""
