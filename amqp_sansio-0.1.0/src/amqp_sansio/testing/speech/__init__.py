"""Words of the grammars as real methods: controls and commands, with arguments that fit together."""
