"""Modules that the compiled build has instead of those of the same place under src/amqp_sansio."""
