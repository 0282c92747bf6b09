"""One page made of the tables: what a person would rather look at than read.  Needs the extra `[report]`."""
