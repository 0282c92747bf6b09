"""The front of sessions (0-10), which executes commands and sends results and completions."""
