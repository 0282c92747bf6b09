"""Building blocks without AMQP: machines, values, serial numbers, buffers, deadlines."""
