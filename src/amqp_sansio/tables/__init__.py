"""State tables: which words may follow which, as rows in the third person."""
