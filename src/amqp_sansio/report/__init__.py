"""The report: one HTML page made from the tables.  Needs the extra `[report]`."""
