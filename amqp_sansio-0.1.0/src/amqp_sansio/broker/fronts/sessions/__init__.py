"""The family of sessions at the broker: commands in; effect, result and completion out."""
