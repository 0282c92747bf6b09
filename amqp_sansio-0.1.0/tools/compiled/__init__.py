"""The compiled build: the same sources as machine code, by mypyc.  `python -m tools.compiled`, see docs/how-to/compiled.md."""
