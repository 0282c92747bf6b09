"""The data pipeline on Spark: captures of any size to tables.  The only package that imports pyspark (extra `[spark]`)."""
