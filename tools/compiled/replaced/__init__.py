"""Modules that replace those of the same path under src/amqp_sansio in the compiled build."""
