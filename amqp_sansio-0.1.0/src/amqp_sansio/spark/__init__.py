"""The data pipeline: what happened in captures of any size, as tables.  Alone imports pyspark (extra `[spark]`)."""
