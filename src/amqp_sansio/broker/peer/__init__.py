"""A connection of the broker: commands in; effect, result and completion out."""
