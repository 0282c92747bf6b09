"""Compares the two witnesses: what runs (`amqp_sansio.tables`) and what the specification says (`amqp_sansio.grammar`)."""
