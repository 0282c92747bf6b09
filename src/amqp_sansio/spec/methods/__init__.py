"""The vocabulary of 0-8, 0-9 and 0-9-1: one class for each verb, with the fields of all versions.  Otherwise generated."""
