"""What the docs build generates from the code: diagrams of the tables, and tables of the vocabulary, rules and limits."""
