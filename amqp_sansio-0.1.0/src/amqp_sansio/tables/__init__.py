"""What may follow what, as rows in the third person."""
