"""The two witnesses side by side: what runs (`amqp_sansio.tables`) and what the specification says (`amqp_sansio.grammar`)."""
