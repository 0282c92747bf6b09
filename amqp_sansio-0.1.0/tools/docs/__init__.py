"""What the docs build makes from the code: diagrams from tables, and tables from the vocabulary, rules and limits."""
