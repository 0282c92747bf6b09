"""Words of the grammars as things that are said: real controls and commands, with arguments that fit together."""
