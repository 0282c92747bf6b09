"""`make bench-spark`: the pipeline on generated captures of three sizes, against a plain process and tshark."""
