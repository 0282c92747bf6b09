"""The front of sessions: commands in; effects, results and completions out."""
